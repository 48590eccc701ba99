#include "weft/config_reference.h"

#include <fmt/format.h>

namespace weft::cli {

std::vector<config::KeyRow> matching_keys(const std::vector<config::KeyRow>& all, std::string_view below) {
  std::vector<config::KeyRow> out;
  for (const auto& k : all) {
    const std::string dotted = "." + k.key + ".";
    const bool prefix = k.key.starts_with(below);
    if (below.empty() || prefix || dotted.find("." + std::string(below) + ".") != std::string::npos)
      out.push_back(k);
  }
  return out;
}

std::string config_reference(const std::vector<config::KeyRow>& keys, const Style& style) {
  std::string out;
  for (const auto& k : keys) {
    const std::string value = k.default_ == "required" ? "required" : "default " + k.default_;
    out += fmt::format("{}  ({})\n    {}\n    Allowed: {}.\n", style.paint(Colour::bold, k.key), value,
                       k.meaning, k.allowed);
  }
  return out;
}

}  // namespace weft::cli
