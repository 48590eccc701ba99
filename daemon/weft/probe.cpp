#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <iostream>
#include <memory>

#include "weft/client.h"
#include "weft/commands.h"
#include "weft/probe_page.h"
#include "weft/shared.h"

namespace weft::cli {
namespace {

constexpr int kSilence = 60;  // no stage takes longer

Style style() {
  const char* no_colour = std::getenv("NO_COLOR");
  return {isatty(STDOUT_FILENO) != 0 && (no_colour == nullptr || *no_colour == '\0')};
}

/// Wipes what is waited for and says something else instead; on a terminal only.
class WaitingLine {
 public:
  void say(const std::string& text) {
    if (!tty_) return;
    std::cout << (shown_ ? "\r\x1b[2K" : "") << text << std::flush;
    shown_ = !text.empty();
  }

 private:
  bool tty_ = isatty(STDOUT_FILENO) != 0;
  bool shown_ = false;
};

/// Shows stages as they end. The last report; errors: a sentence.
Result<Json, std::string> run(const Shared& shared, const std::string& target) {
  Json last;
  ProbePage page(style());
  WaitingLine waiting;
  const auto done = ask_following(shared.socket, "probe", {{"target", target}}, kSilence, [&](const Json& d) {
    last = d.value("report", Json::object());
    if (!shared.json) {
      const std::string news = page.update(last);
      waiting.say("");
      std::cout << news << std::flush;
      waiting.say(page.waiting(last));
    }
    return d.value("state", "") != "done";
  });
  waiting.say("");
  if (!done) return bad(done.error());
  if (last.value("overall", "running") == "running")
    return bad(std::string("weftd ended the probe (shutting down?)"));
  if (shared.json) std::cout << last.dump(2, ' ', false, Json::error_handler_t::replace) << "\n";
  return last;
}

int probe(const Shared& shared, const std::string& target, bool trace) {
  const auto report = run(shared, target);
  if (!report) return fail(report.error());
  if (!shared.json) {
    if (trace) std::cout << "\n" << trace_text(*report, style()) << "\n";
    std::cout << ProbePage(style()).conclusion(*report);
  }
  return report->value("overall", "") == "ok" ? kDone : kFailed;
}

}  // namespace

void add_probe(CLI::App& app, const Shared& shared) {
  const auto target = std::make_shared<std::string>();
  const auto add = [&](const char* name, const char* help, bool trace) {
    CLI::App* c = app.add_subcommand(name, help);
    c->add_option("TARGET", *target, "Name, npub, or address in fd00::/8")->required();
    c->callback([shared, target, trace] { shared.code = probe(shared, *target, trace); });
  };
  add("probe", "Why a node does not answer, stage by stage (exit 0: all is well)", false);
  add("trace", "The way to a node: what is known of it, and what is inferred", true);
}

}  // namespace weft::cli
