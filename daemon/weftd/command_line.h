/// What weftd can be told on its command line; one place for parsing and for the manual.
#pragma once

#include "weftd/app.h"

namespace CLI {
class App;
}

namespace weft::daemon {

/// `into` must outlive the app.
void add_options(CLI::App& app, CommandLine& into);

}  // namespace weft::daemon
