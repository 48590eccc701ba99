#include "docs/model.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

namespace weft::docs {
namespace {

/// CLI11 shows a set as "TEXT:{a,b}".
std::vector<std::string> choices_of(const std::string& type) {
  std::vector<std::string> out;
  const auto open = type.find('{');
  const auto close = type.rfind('}');
  if (open == std::string::npos || close == std::string::npos || close < open) return out;
  for (std::string word, rest = type.substr(open + 1, close - open - 1) + ","; !rest.empty();) {
    const auto comma = rest.find(',');
    word = rest.substr(0, comma);
    word = word.substr(0, word.find("->"));
    if (!word.empty()) out.push_back(word);
    rest.erase(0, comma + 1);
  }
  return out;
}

/// CLI11 knows types; the name says more.
std::string placeholder(const Option& o) {
  if (o.value == "UINT" || o.value == "INT" || o.value == "FLOAT") return "N";
  if (o.value != "TEXT" && o.choices.empty()) return o.value;
  std::string out = o.names.back();
  out.erase(0, out.find_first_not_of('-'));
  for (char& c : out) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return out;
}

Option read_option(const CLI::Option& o) {
  Option out;
  const std::string type = o.get_type_name();
  out.choices = choices_of(type);
  if (o.get_items_expected_max() > 0) out.value = type.substr(0, type.find(':'));
  out.meaning = o.get_description();
  out.by_default = o.get_default_str();
  out.required = o.get_required();
  out.many = o.get_items_expected_max() >= CLI::detail::expected_max_vector_size;
  for (const auto& n : o.get_snames()) out.names.push_back("-" + n);
  for (const auto& n : o.get_lnames()) out.names.push_back("--" + n);
  if (out.names.empty()) out.names.push_back(o.get_name(true));
  if (!out.value.empty()) out.value = placeholder(out);
  return out;
}

Command read_below(const CLI::App& app, std::vector<std::string> path) {
  Command c;
  path.push_back(app.get_name());
  c.path = path;
  c.meaning = app.get_description();
  // A command without one shows that of the whole program.
  if (app.get_parent() == nullptr || app.get_footer() != app.get_parent()->get_footer())
    c.footer = app.get_footer();
  for (const CLI::Option* o : app.get_options({})) {
    if (o->get_group().empty() && !o->get_positional()) continue;
    (o->get_positional() ? c.arguments : c.options).push_back(read_option(*o));
  }
  for (const CLI::App* below : app.get_subcommands([](const CLI::App*) { return true; }))
    if (!below->get_group().empty()) c.commands.push_back(read_below(*below, path));
  return c;
}

std::string argument_text(const Option& a) {
  std::string out = a.names.front();
  if (a.many) out += "...";
  return a.required ? out : "[" + out + "]";
}

void collect(const Command& c, std::vector<const Command*>& out) {
  out.push_back(&c);
  for (const auto& below : c.commands) collect(below, out);
}

}  // namespace

std::string Command::name() const { return fmt::format("{}", fmt::join(path, " ")); }

std::string Command::usage() const {
  std::string out = name();
  if (has_own_options()) out += " [OPTIONS]";
  for (const auto& a : arguments) out += " " + argument_text(a);
  if (!commands.empty()) out += " COMMAND";
  return out;
}

bool Command::has_own_options() const { return !std::ranges::all_of(options, &Option::is_help); }

Command read(const CLI::App& app) { return read_below(app, {}); }

std::string sentence(std::string text) {
  if (!text.empty() && text.find_first_of(".!?", text.size() - 1) == std::string::npos) text += '.';
  return text;
}

std::vector<const Command*> all_of(const Command& c) {
  std::vector<const Command*> out;
  collect(c, out);
  return out;
}

}  // namespace weft::docs
