/// What a command in a file of its own shares with the program, and how it joins it.
#pragma once

#include <functional>
#include <string>

namespace CLI {
class App;
}

namespace weft::cli {

struct Shared {
  const std::string& socket;  // as chosen on the command line; good once a command runs
  const bool& json;
  int& code;  // exit code of the program
};

/// weft probe, weft trace
void add_probe(CLI::App& app, const Shared& shared);
/// weft doctor
void add_doctor(CLI::App& app, const Shared& shared);
/// weft import
void add_import(CLI::App& app, const Shared& shared);

/// Prints "weft: SENTENCE" on standard error; kFailed.
int fail(const std::string& sentence);

}  // namespace weft::cli
