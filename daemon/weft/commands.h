/// Every command of the program, from words to exit code.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace weft::cli {

constexpr int kDone = 0;
constexpr int kFailed = 1;
constexpr int kMisuse = 2;
constexpr int kNotLinked = 3;
constexpr int kWarned = 4;  // doctor: nothing fails, something is to be looked at

int run(int argc, char** argv);
/// Lends the tree of commands to whoever describes it.
void with_commands(const std::function<void(const CLI::App&)>& look);

}  // namespace weft::cli
