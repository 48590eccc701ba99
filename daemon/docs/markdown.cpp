#include <fmt/format.h>

#include "docs/pages.h"

namespace weft::docs {
namespace {

constexpr std::string_view kMade =
    "<!-- Made by scripts/docs from the programs themselves; change those. -->\n\n";

std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

std::string option_row(const Option& o) {
  std::string names = fmt::format("{}", fmt::join(o.names, ", "));
  if (!o.value.empty() && o.names.front().starts_with("-")) names += " " + o.value;
  std::string text = o.meaning;
  if (!o.choices.empty()) text += fmt::format(": {}", fmt::join(o.choices, ", "));
  if (!o.by_default.empty()) text += fmt::format(" (default: {})", o.by_default);
  return fmt::format("| `{}` | {} |\n", cell(names), cell(text));
}

std::string options_table(const Command& c, bool help) {
  std::string rows;
  for (const auto& a : c.arguments) rows += option_row(a);
  for (const auto& o : c.options)
    if (help || !o.is_help()) rows += option_row(o);
  return rows.empty() ? rows : "\n| | |\n|---|---|\n" + rows;
}

std::string command_part(const Command& c) {
  std::string out = fmt::format("\n### {}\n\n{}\n\n```\n{}\n```\n", c.name(), sentence(c.meaning), c.usage());
  out += options_table(c, false);
  if (!c.footer.empty()) out += "\n" + c.footer + "\n";
  return out;
}

}  // namespace

std::string commands_page(const Command& weft, const Command& weftd, const Command& resolver) {
  std::string out = std::string(kMade) + "# Commands\n\n## weft\n\n" + weft.meaning + "\n\n";
  out += "These options are good before and after every command:\n" + options_table(weft, true);
  out += "\n" + weft.footer + "\n";
  for (const Command* c : all_of(weft))
    if (c != &weft) out += command_part(*c);
  out +=
      "\n## weftd\n\n" + weftd.meaning + "\n\n```\n" + weftd.usage() + "\n```\n" + options_table(weftd, true);
  out += "\n" + weftd.footer + "\n\nEnvironment:\n\n| | |\n|---|---|\n";
  for (const auto& e : environment()) out += fmt::format("| `{}` | {} |\n", e.term, cell(e.text));
  out += "\nFiles:\n\n| | |\n|---|---|\n";
  for (const auto& f : files()) out += fmt::format("| `{}` | {} |\n", f.term, cell(f.text));
  out += "\n## weft-resolver\n\n" + resolver.meaning + "\n\n```\n" + resolver.usage() + "\n```\n" +
         options_table(resolver, true) + "\n" + resolver.footer + "\n";
  return out;
}

std::string configuration_page(const std::vector<config::KeyRow>& keys) {
  std::string out =
      std::string(kMade) +
      "# Configuration\n\nYAML. Every key may be left out; an empty file is a node with an interface, "
      "names and UDP port 2121. Dots stand for nesting, `[]` for each entry of a list; units are in the "
      "names of the keys. `weftd --check` reports every mistake with its line, `weft config reference` "
      "prints this list.\n";
  std::string at;
  for (const auto& k : keys) {
    if (const auto s = section_of(k.key); s != at) {
      at = s;
      out += fmt::format("\n## {}\n\n{}\n\n| key | default | allowed | meaning |\n|---|---|---|---|\n", s,
                         section_meaning(s));
    }
    out += fmt::format("| `{}` | {} | {} | {} |\n", k.key.substr(at.size() + 1),
                       k.default_ == "required" ? "*required*" : "`" + cell(k.default_) + "`",
                       cell(k.allowed), cell(k.meaning));
  }
  return out;
}

}  // namespace weft::docs
