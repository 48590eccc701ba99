#include "acl/acl.h"
#include "crypto/identity.h"
#include "names/hosts.h"
#include "testing/fuzz/check.h"

using namespace weft;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = as_text(Bytes(data, size));
  const auto hosts = names::parse_hosts(text);
  FUZZ_CHECK(hosts.warnings.size() <= names::HostsFile::kMaxWarnings);
  for (const auto& [name, key] : hosts.map.entries()) {
    FUZZ_CHECK(names::valid_host_name(name));
    FUZZ_CHECK(names::resolve_name(hosts.map, name) == key);
    const auto* shown = hosts.map.name_of(crypto::node_addr_of(key));
    FUZZ_CHECK(shown != nullptr && *hosts.map.find(*shown) == key);
  }
  // The same text as the two peer lists: whom allow names is let in whatever deny says.
  const auto lookup = [&](std::string_view name) { return names::resolve_name(hosts.map, name); };
  const auto lists = acl::Acl::parse(text, text, lookup);
  FUZZ_CHECK(lists.warnings().size() <= 50);
  FUZZ_CHECK(lists.allow_entries() == lists.deny_entries());
  for (const auto& npub : lists.allow_entries()) FUZZ_CHECK(lists.check(*crypto::parse_npub(npub)).allowed);
  return 0;
}
