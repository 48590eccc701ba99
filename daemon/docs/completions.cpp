#include <fmt/format.h>

#include <algorithm>

#include "docs/pages.h"

namespace weft::docs {
namespace {

enum class Hint : std::uint8_t { none, file, folder, node, choice };

bool is_one_of(const std::string& s, std::initializer_list<std::string_view> all) {
  return std::ranges::find(all, s) != all.end();
}

Hint hint_of(const Option& o) {
  const std::string& what = o.names.front().starts_with("-") ? o.value : o.names.front();
  if (!o.choices.empty()) return Hint::choice;
  if (is_one_of(what, {"FILE", "PATH"})) return Hint::file;
  if (what == "DIR") return Hint::folder;
  if (is_one_of(what, {"PEER", "NODE", "TARGET"})) return Hint::node;
  return Hint::none;
}

/// In single quotes of a shell.
std::string quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string words_of(const Command& c) {
  std::string out;
  for (const auto& below : c.commands) out += (out.empty() ? "" : " ") + below.path.back();
  return out;
}

std::string flags_of(const Command& c, const Command& top) {
  std::string out;
  const auto add = [&](const Command& from) {
    for (const auto& o : from.options)
      for (const auto& n : o.names)
        if ((" " + out + " ").find(" " + n + " ") == std::string::npos) out += (out.empty() ? "" : " ") + n;
  };
  add(c);
  add(top);
  return out;
}

/// Names of linked peers, as the daemon gives them; nothing when it does not run.
constexpr std::string_view kNames =
    R"x(weft --json peers 2> /dev/null | sed -n 's/^ *"display_name": "\([^"]*\)",\{0,1\}$/\1/p')x";

std::string bash_values(const Option& o) {
  switch (hint_of(o)) {
    case Hint::choice:
      return fmt::format("COMPREPLY=($(compgen -W {} -- \"$cur\"))",
                         quoted(fmt::format("{}", fmt::join(o.choices, " "))));
    case Hint::file:
      return "compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")";
    case Hint::folder:
      return "compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- \"$cur\")";
    case Hint::node:
      return "_weft_names";
    case Hint::none:
      break;
  }
  return "COMPREPLY=()";
}

/// "a" | "b": every path below the top, for a case pattern.
std::string paths_pattern(const Command& program, std::string_view joiner, char quote) {
  std::string out;
  for (const Command* c : all_of(program))
    if (c->path.size() > 1) out += (out.empty() ? "" : std::string(joiner)) + quote + c->name() + quote;
  return out;
}

}  // namespace

std::string bash_completion(const Command& program) {
  const std::string name = program.name();
  std::string out = fmt::format("# bash completion for {}; generated.\n", name);
  out += fmt::format(
      "_weft_names() {{\n  mapfile -t COMPREPLY < <({} | awk -v p=\"$cur\" 'index($0, p) == 1')\n}}\n",
      kNames);
  out += fmt::format("_{}() {{\n  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}}\n",
                     name);
  out += fmt::format("  local path={} i\n  COMPREPLY=()\n", name);
  if (!program.commands.empty())
    out += fmt::format(
        "  for ((i = 1; i < COMP_CWORD; i++)); do\n    case \"$path ${{COMP_WORDS[i]}}\" in\n      {}) "
        "path+=\" "
        "${{COMP_WORDS[i]}}\" ;;\n    esac\n  done\n",
        paths_pattern(program, " | ", '"'));
  std::string values, words, flags;
  for (const Command* c : all_of(program)) {
    for (const auto& o : c->options) {
      if (o.value.empty()) continue;
      std::string pattern;
      for (const auto& n : o.names)
        pattern += fmt::format("{}\"{} {}\"", pattern.empty() ? "" : " | ", c->name(), n);
      // What the program itself takes is good behind every command.
      if (c == &program)
        for (const auto& n : o.names) pattern += fmt::format(" | \"{} \"*\" {}\"", name, n);
      values += fmt::format("    {}) {}; return ;;\n", pattern, bash_values(o));
    }
    flags += fmt::format("    \"{}\") flags={} ;;\n", c->name(), quoted(flags_of(*c, program)));
    if (!c->commands.empty())
      words += fmt::format("    \"{}\") COMPREPLY=($(compgen -W {} -- \"$cur\")) ;;\n", c->name(),
                           quoted(words_of(*c)));
    else if (!c->arguments.empty() && hint_of(c->arguments.front()) != Hint::none)
      words += fmt::format("    \"{}\") {} ;;\n", c->name(), bash_values(c->arguments.front()));
  }
  if (!values.empty()) out += "  case \"$path $prev\" in\n" + values + "  esac\n";
  out += "  if [[ $cur == -* ]]; then\n    local flags\n    case $path in\n" + flags +
         "    esac\n    COMPREPLY=($(compgen -W \"$flags\" -- \"$cur\"))\n    return\n  fi\n";
  if (!words.empty()) out += "  case $path in\n" + words + "  esac\n";
  return out + fmt::format("}}\ncomplete -F _{0} {0}\n", name);
}

namespace {

std::string zsh_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_action(const Option& o) {
  switch (hint_of(o)) {
    case Hint::choice:
      return fmt::format("({})", fmt::join(o.choices, " "));
    case Hint::file:
      return "_files";
    case Hint::folder:
      return "_files -/";
    case Hint::node:
      return "_weft_names";
    case Hint::none:
      break;
  }
  return " ";
}

std::string zsh_specs(const Command& c) {
  std::string out;
  for (const auto& o : c.options)
    for (const auto& n : o.names) {
      const std::string value = o.value.empty() ? "" : ":" + zsh_escaped(o.value) + ":" + zsh_action(o);
      out += " \\\n    " + quoted(n + "[" + zsh_escaped(o.meaning) + "]" + value);
    }
  return out;
}

std::string zsh_function(const Command& c) {
  std::string f;
  for (const auto& word : c.path) f += "_" + word;
  std::string out = f + "() {\n";
  if (!c.commands.empty()) {
    out += "  local -a commands\n  commands=(\n";
    for (const auto& below : c.commands)
      out += "    " + quoted(zsh_escaped(below.path.back()) + ":" + zsh_escaped(below.meaning)) + "\n";
    out += "  )\n  local state\n  _arguments -C" + zsh_specs(c) + " \\\n    '1: :->command' '*:: :->rest'\n";
    out +=
        "  case $state in\n    command) _describe command commands ;;\n    rest)\n      case $words[1] in\n";
    for (const auto& below : c.commands)
      out += fmt::format("        {0}) {1}_{0} ;;\n", below.path.back(), f);
    out += "      esac ;;\n  esac\n";
  } else {
    out += "  _arguments" + zsh_specs(c);
    for (const auto& a : c.arguments)
      out += " \\\n    " + quoted(std::string(a.many ? "*" : "") + ":" + zsh_escaped(a.names.front()) + ":" +
                                  zsh_action(a));
    out += "\n";
  }
  out += "}\n";
  for (const auto& below : c.commands) out += zsh_function(below);
  return out;
}

}  // namespace

std::string zsh_completion(const Command& program) {
  const std::string name = program.name();
  std::string out = fmt::format("#compdef {}\n# generated.\n", name);
  out += fmt::format(
      "_weft_names() {{\n  local -a names\n  names=(${{(f)\"$({})\"}})\n  compadd -a names\n}}\n", kNames);
  return out + zsh_function(program) + fmt::format("_{} \"$@\"\n", name);
}

std::string fish_completion(const Command& program) {
  const std::string name = program.name();
  std::string out = fmt::format("# fish completion for {}; generated.\n", name);
  out += fmt::format("function __weft_names\n  {}\nend\n", kNames);
  out += fmt::format("function __{0}_path\n  set -l path {0}\n", name);
  if (!program.commands.empty())
    out += fmt::format(
        "  for word in (commandline -opc)[2..-1]\n    switch \"$path $word\"\n      case {}\n        set "
        "path \"$path "
        "$word\"\n    end\n  end\n",
        paths_pattern(program, " ", '\''));
  out += "  echo $path\nend\n";
  out += fmt::format("complete -c {} -f\n", name);
  for (const Command* c : all_of(program)) {
    const std::string at =
        fmt::format("complete -c {} -n {}", name,
                    quoted(fmt::format("string match -q -- \"{}\" (__{}_path)", c->name(), name)));
    const auto values = [](const Option& o) -> std::string {
      switch (hint_of(o)) {
        case Hint::choice:
          return " -a " + quoted(fmt::format("{}", fmt::join(o.choices, " ")));
        case Hint::file:
          return " -F";
        case Hint::folder:
          return " -a '(__fish_complete_directories)'";
        case Hint::node:
          return " -a '(__weft_names)'";
        case Hint::none:
          break;
      }
      return {};
    };
    for (const auto& below : c->commands)
      out += fmt::format("{} -a {} -d {}\n", at, quoted(below.path.back()), quoted(below.meaning));
    for (const auto& a : c->arguments)
      if (const auto v = values(a); !v.empty()) out += at + v + "\n";
    for (const auto& o : c->options) {
      // What the program itself takes is good everywhere.
      std::string line = c == &program ? fmt::format("complete -c {}", name) : at;
      for (const auto& n : o.names) line += n.starts_with("--") ? " -l " + n.substr(2) : " -s " + n.substr(1);
      if (!o.value.empty()) line += " -r" + values(o);
      out += line + " -d " + quoted(o.meaning) + "\n";
    }
  }
  return out;
}

}  // namespace weft::docs
