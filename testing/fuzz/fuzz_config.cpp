#include "config/load.h"
#include "config/validate.h"
#include "testing/fuzz/check.h"

using namespace weft;
using namespace weft::config;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // Two files, so that merging sees junk too; a NUL, which no file may hold, parts them.
  const std::string_view text = as_text(Bytes(data, size));
  const auto cut = text.find('\0');
  std::vector<Source> files{{"a", std::string(text.substr(0, cut))}};
  if (cut != std::string_view::npos) files.push_back({"b", std::string(text.substr(cut + 1))});
  Loaded l = load(files);
  for (const auto& c : l.complaints) FUZZ_CHECK(!c.text().empty());
  if (!l.ok()) return 0;
  // What was accepted is acceptable, names no peer twice, and its peers survive being written down.
  FUZZ_CHECK(!has_errors(validate(l.config, l.places)));
  for (std::size_t i = 1; i < l.config.peers.size(); ++i)
    FUZZ_CHECK(l.config.peers[i].npub != l.config.peers[0].npub);
  const auto back = load_peers({"peers", peers_text(l.config.peers)});
  FUZZ_CHECK(!has_errors(back.complaints));
  FUZZ_CHECK(back.peers.size() == l.config.peers.size());
  FUZZ_CHECK(peers_text(back.peers) == peers_text(l.config.peers));
  return 0;
}
