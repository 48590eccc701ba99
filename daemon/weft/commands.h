/// Every command of the program, from words to exit code.
#pragma once

namespace weft::cli {

constexpr int kDone = 0;
constexpr int kFailed = 1;
constexpr int kMisuse = 2;
constexpr int kNotLinked = 3;

int run(int argc, char** argv);

}  // namespace weft::cli
