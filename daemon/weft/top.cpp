#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <cstdlib>

#include "io/fd.h"
#include "weft/asker.h"
#include "weft/client.h"
#include "weft/shared.h"
#include "weft/terminal.h"
#include "weft/top_view.h"

namespace weft::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  double interval = 1;
  std::string page = "peers";
  bool ascii = false;
};

/// Signals that end a program become readable instead, so that the terminal is put right first.
io::Fd take_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int s : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) sigaddset(&set, s);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  return io::Fd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

class Top {
 public:
  Top(Terminal& terminal, Asker& asker, TopModel& model, bool ascii)
      : terminal_(terminal), asker_(asker), model_(model), ascii_(ascii) {}

  void run(int signals) {
    next_ask_ = Clock::now();
    for (bool on = true; on;) {
      if (Clock::now() >= next_ask_ && !model_.paused()) ask();
      draw();
      pollfd wait[] = {{STDIN_FILENO, POLLIN, 0}, {asker_.fd(), POLLIN, 0}, {signals, POLLIN, 0}};
      const int n = ::poll(wait, 3, patience_ms());
      if (wait[2].revents != 0 || (wait[0].revents & (POLLHUP | POLLERR)) != 0) return;
      if (n > 0 && wait[1].revents != 0)
        if (auto answer = asker_.take()) model_.on_answer(std::move(*answer), now_ms());
      on = read_keys();  // also after a signal: a change of size comes as a key
    }
  }

 private:
  void make_room() {
    const auto room = top_room(model_.page(), terminal_.columns(), terminal_.rows());
    model_.set_room(room.rows, room.points);
  }
  void ask() {
    make_room();
    next_ask_ = Clock::now() + std::chrono::milliseconds(model_.interval_ms());
    asker_.ask("show_top", model_.question());
  }
  void draw() { terminal_.show(draw_top(model_, terminal_.columns(), terminal_.rows(), now_ms(), ascii_)); }
  int patience_ms() const {
    if (model_.paused()) return -1;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(next_ask_ - Clock::now()).count();
    return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
  }
  bool read_keys() {
    while (const auto press = terminal_.read()) {
      if (press->resized) {
        ask();
        continue;
      }
      switch (model_.on_key(press->key, press->c)) {
        case TopModel::Act::quit:
          return false;
        case TopModel::Act::ask:
          ask();
          break;
        case TopModel::Act::nothing:
        case TopModel::Act::redraw:
          break;
      }
    }
    return true;
  }

  Terminal& terminal_;
  Asker& asker_;
  TopModel& model_;
  bool ascii_;
  Clock::time_point next_ask_;
};

int top(const Shared& shared, const Options& o) {
  if (isatty(STDIN_FILENO) == 0 || isatty(STDOUT_FILENO) == 0)
    return fail(
        "top needs a terminal; for programs there are weft show top, weft stats --csv and weft.metrics");
  TopModel model;
  if (!model.start(o.page, o.interval)) return fail("unknown page " + o.page);
  // A daemon that is not there is said plainly, before the screen is taken.
  auto first = ask(shared.socket, "show_top", model.question());
  if (!first) return fail(first.error());
  model.on_answer(std::move(first), now_ms());
  const io::Fd signals = take_signals();
  Asker asker(shared.socket);
  auto terminal = Terminal::open(colour_wanted());
  if (!terminal) return fail(terminal.error());
  Top(*terminal, asker, model, o.ascii).run(signals.get());
  terminal->close();
  // A thread that still waits for an answer must not see the program taken apart.
  if (asker.busy()) std::_Exit(kDone);
  return kDone;
}

}  // namespace

void add_top(CLI::App& app, const Shared& shared) {
  const auto o = std::make_shared<Options>();
  CLI::App* c =
      app.add_subcommand("top", "This node live: peers, tree, sessions, traffic, workers, refusals");
  c->add_option("PAGE", o->page, "Where to begin")
      ->check(CLI::IsMember({"peers", "tree", "sessions", "traffic", "workers", "refusals"}))
      ->capture_default_str();
  c->add_option("-i,--interval", o->interval, "Seconds between looks")
      ->check(CLI::Range(0.25, 60.0))
      ->capture_default_str();
  c->add_flag("--ascii", o->ascii, "Curves without block characters");
  c->footer("Keys: ? shows them, q quits.");
  c->callback([shared, o] { shared.code = top(shared, *o); });
}

}  // namespace weft::cli
