#include <signal.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "weftd/app.h"
#include "weftd/command_line.h"

namespace {

constexpr int kMisuse = 2;

/// Signals wait until the loop can handle them, so that one during start-up ends in an orderly stop. Threads inherit this.
void hold_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int s : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, s);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"", "weftd"};
  weft::daemon::CommandLine command_line;
  weft::daemon::add_options(app, command_line);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : kMisuse;
  }
  hold_signals();
  try {
    return weft::daemon::run_app(command_line);
  } catch (const std::exception& e) {  // out of memory, threads or descriptors while starting
    std::fprintf(stderr, "weftd: %s\n", e.what());
    return 1;
  }
}
