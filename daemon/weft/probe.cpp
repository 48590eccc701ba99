#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "weft/client.h"
#include "weft/probe_page.h"
#include "weft/reply.h"
#include "weft/shared.h"

namespace weft::cli {
namespace {

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
  ProbePage page(style());
  WaitingLine waiting;
  auto report = follow_probe(shared.socket, target, [&](const Json& so_far) {
    if (shared.json) return;
    const std::string news = page.update(so_far);
    waiting.say("");
    std::cout << news << std::flush;
    waiting.say(page.waiting(so_far));
  });
  waiting.say("");
  if (report && shared.json) print_json(*report);
  return report;
}

int probe(const Shared& shared, const std::string& target, bool trace) {
  const auto report = run(shared, target);
  if (!report) return fail(report.error());
  if (!shared.json) {
    if (trace) std::cout << "\n" << trace_text(*report, style()) << "\n";
    std::cout << ProbePage(style()).conclusion(*report);
  }
  return reply::word(*report, "overall") == "ok" ? kDone : kFailed;
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
