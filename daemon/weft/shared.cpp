#include "weft/shared.h"

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <iostream>

#include "io/file.h"
#include "weft/client.h"

namespace weft::cli {

int fail(const std::string& sentence, int code) {
  std::cerr << "weft: " << sentence << "\n";
  return code;
}

void print_json(const Json& j) { std::cout << j.dump(2, ' ', false, Json::error_handler_t::replace) << "\n"; }

int print(const Shared& shared, const std::string& command, const Json& params,
          const std::function<std::string(const Json&)>& show) {
  const auto d = ask(shared.socket, command, params);
  if (!d) return fail(d.error());
  if (shared.json || !show) print_json(*d);
  else std::cout << show(*d);
  return kDone;
}

bool colour_wanted() {
  const char* no_colour = std::getenv("NO_COLOR");
  return no_colour == nullptr || *no_colour == '\0';
}

Style style() { return {isatty(STDOUT_FILENO) != 0 && colour_wanted()}; }

std::int64_t now_ms() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

Result<std::optional<std::string>, std::string> read_if_there(const std::string& path) {
  constexpr std::size_t kMost = 16 << 20;
  auto text = io::read_text_file(path, kMost);
  if (text) return std::optional(std::move(*text));
  if (text.error().kind == io::FileError::missing) return std::optional<std::string>();
  return bad(text.error().text);
}

}  // namespace weft::cli
