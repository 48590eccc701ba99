// weft-docs FOLDER: writes manual pages and completions where an installation has them, and the reference pages.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "docs/pages.h"
#include "resolver/command_line.h"
#include "weft/commands.h"
#include "weftd/command_line.h"

namespace {

using weft::docs::Command;

Command read_weft() {
  Command c;
  weft::cli::with_commands([&](const CLI::App& app) { c = weft::docs::read(app); });
  return c;
}

Command read_weftd() {
  CLI::App app{"", "weftd"};
  weft::daemon::CommandLine line;
  weft::daemon::add_options(app, line);
  return weft::docs::read(app);
}

Command read_resolver() {
  CLI::App app{"", "weft-resolver"};
  weft::resolver::CommandLine line;
  weft::resolver::add_options(app, line);
  return weft::docs::read(app);
}

bool write(const std::filesystem::path& file, const std::string& text) {
  std::error_code ignored;
  std::filesystem::create_directories(file.parent_path(), ignored);
  std::ofstream out(file, std::ios::binary);
  out << text;
  out.close();
  if (out) return true;
  std::fprintf(stderr, "weft-docs: cannot write %s\n", file.c_str());
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 || argv[1][0] == '-') {
    std::fputs("usage: weft-docs FOLDER\n", stderr);
    return 2;
  }
  namespace d = weft::docs;
  const std::filesystem::path to = argv[1];
  const Command weft = read_weft(), weftd = read_weftd(), resolver = read_resolver();
  const auto keys = weft::config::describe();
  const std::pair<const char*, std::string> all[] = {
      {"share/man/man1/weft.1", d::man_weft(weft)},
      {"share/man/man8/weftd.8", d::man_weftd(weftd)},
      {"share/man/man8/weft-resolver.8", d::man_weft_resolver(resolver)},
      {"share/man/man5/weft.yaml.5", d::man_weft_yaml(keys)},
      {"share/bash-completion/completions/weft", d::bash_completion(weft)},
      {"share/bash-completion/completions/weftd", d::bash_completion(weftd)},
      {"share/zsh/vendor-completions/_weft", d::zsh_completion(weft)},
      {"share/zsh/vendor-completions/_weftd", d::zsh_completion(weftd)},
      {"share/fish/vendor_completions.d/weft.fish", d::fish_completion(weft)},
      {"share/fish/vendor_completions.d/weftd.fish", d::fish_completion(weftd)},
      {"reference/commands.md", d::commands_page(weft, weftd, resolver)},
      {"reference/configuration.md", d::configuration_page(keys)},
  };
  bool ok = true;
  for (const auto& [file, text] : all) ok = write(to / file, text) && ok;
  return ok ? 0 : 1;
}
