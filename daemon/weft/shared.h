/// What a command in a file of its own shares with the program, and how it joins it.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "base/result.h"
#include "weft/commands.h"
#include "weft/table.h"

namespace weft::cli {

using Json = nlohmann::json;

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
/// weft stats
void add_stats(CLI::App& app, const Shared& shared);
/// weft top
void add_top(CLI::App& app, const Shared& shared);
/// weft allow, weft deny, weft acl, weft name
void add_guard_commands(CLI::App& app, const Shared& shared);

/// Prints "weft: SENTENCE" on standard error; the code.
int fail(const std::string& sentence, int code = kFailed);
void print_json(const Json& j);
/// Asks and prints: JSON as it came, or `show` of it; without `show` always JSON. The exit code.
int print(const Shared& shared, const std::string& command, const Json& params,
          const std::function<std::string(const Json&)>& show);

/// NO_COLOR does not forbid it.
bool colour_wanted();
/// Of standard output: colour where that is a terminal.
Style style();
/// Unix milliseconds.
std::int64_t now_ms();

/// Up to 16 MB; nullopt: no such file. Error: a sentence.
Result<std::optional<std::string>, std::string> read_if_there(const std::string& path);

}  // namespace weft::cli
