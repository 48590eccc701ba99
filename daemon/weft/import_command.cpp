#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "weft/import.h"
#include "weft/shared.h"

namespace weft::cli {

void add_import(CLI::App& app, const Shared& shared) {
  const auto o = std::make_shared<ImportOptions>();
  CLI::App* c = app.add_subcommand(
      "import",
      "Take over a FIPS node: key, names, access lists, configuration; says what will be different");
  c->add_option("FROM", o->from, "Its folder, or its configuration file")->capture_default_str();
  c->add_option("--to", o->to, "Folder for weft's files")->capture_default_str();
  c->add_option("--user", o->user, "User that weftd runs as; gets the key")->capture_default_str();
  c->add_flag("-n,--dry-run", o->dry_run, "Write nothing, only say what would be");
  c->add_flag("-f,--force", o->force, "Replace files that are there and differ");
  c->callback([shared, o] {
    const auto r = import_node(*o);
    if (!r) {
      shared.code = fail(r.error());
      return;
    }
    std::cout << import_text(*r, *o);
    shared.code = r->refused ? kFailed : kDone;
  });
}

}  // namespace weft::cli
