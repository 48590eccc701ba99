/// A command line as values, read from the tree that parses it, so that manual, reference and completions cannot say
/// anything else.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace weft::docs {

struct Option {
  std::vector<std::string> names;  // "-c", "--count"; of an argument one, its name in capitals
  std::string value;               // "FILE"; empty: a switch
  std::string meaning;
  std::string by_default;            // empty: none worth telling
  std::vector<std::string> choices;  // all that is allowed, where that is a list
  bool required = false;
  bool many = false;

  bool is_help() const { return names.back() == "--help"; }
};

struct Command {
  std::vector<std::string> path;  // "weft", "peer", "add"
  std::string meaning;
  std::string footer;
  std::vector<Option> options;
  std::vector<Option> arguments;  // in order
  std::vector<Command> commands;

  std::string name() const;      // "weft peer add"
  bool has_own_options() const;  // besides --help
  std::string usage() const;     // "weft peer add [OPTIONS] NPUB [ADDRESS...]"
};

/// Hidden options and commands (those in the group "") are left out.
Command read(const CLI::App& app);
/// With the full stop that descriptions of commands leave out.
std::string sentence(std::string text);
/// The command and all below it that can be run, in order.
std::vector<const Command*> all_of(const Command& c);

}  // namespace weft::docs
