/// Everything that is generated: manual pages, reference pages, completions. Pure: values in, text out.
#pragma once

#include <string>
#include <vector>

#include "config/validate.h"
#include "docs/model.h"

namespace weft::docs {

// roff.cpp
std::string man_weft(const Command& weft);
std::string man_weftd(const Command& weftd);
std::string man_weft_resolver(const Command& resolver);
std::string man_weft_yaml(const std::vector<config::KeyRow>& keys);

// markdown.cpp
std::string commands_page(const Command& weft, const Command& weftd, const Command& resolver);
std::string configuration_page(const std::vector<config::KeyRow>& keys);

// completions.cpp: one per shell, for both programs where the shell takes them in one file
std::string bash_completion(const Command& program);
std::string zsh_completion(const Command& program);
std::string fish_completion(const Command& program);

// prose.cpp: what no table knows
struct Item {
  std::string term;
  std::string text;
};
const std::vector<Item>& files();
const std::vector<Item>& environment();
const std::vector<Item>& examples();
/// Sections of the configuration file in the order of the keys: key path ("node.limits") and what it is about.
std::string section_meaning(const std::string& section);
/// "node.limits" of "node.limits.max_peers".
std::string section_of(const std::string& key);

}  // namespace weft::docs
