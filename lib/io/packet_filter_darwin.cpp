#include <cerrno>

#include "io/packet_filter.h"

namespace weft::io {

// Never silently open: whoever wants to run without says so.
struct PacketFilter::Impl {};
PacketFilter::PacketFilter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PacketFilter::PacketFilter(PacketFilter&&) noexcept = default;
PacketFilter& PacketFilter::operator=(PacketFilter&&) noexcept = default;
PacketFilter::~PacketFilter() = default;

Result<PacketFilter, Failure> PacketFilter::open() { return bad(filter_failure(EOPNOTSUPP, "batch")); }
Result<void, Failure> PacketFilter::load(const firewall::Ruleset&) {
  return bad(filter_failure(EOPNOTSUPP, "batch"));
}
Result<void, Failure> PacketFilter::remove() { return {}; }
bool PacketFilter::loaded() const { return false; }
PacketFilter::Packets PacketFilter::packets() const { return {}; }

Failure filter_failure(int error, std::string_view) {
  return os_failure(
      error, "the mesh-side firewall",
      "there is none for this system: filter utun with pf, and set weft.firewall.enabled: false");
}

}  // namespace weft::io
