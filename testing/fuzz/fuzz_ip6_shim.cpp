#include "testing/fuzz/check.h"
#include "wire/ip6_shim.h"

using namespace weft;
using namespace weft::wire;

namespace {

constexpr MeshAddr kFrom{{0xfd, 1}};
constexpr MeshAddr kTo{{0xfd, 2}};

/// Only addresses and the length field may differ from the packet that went in.
void check_outbound(Bytes packet) {
  const auto shimmed = compress_ip6(packet);
  if (!shimmed) return;
  FUZZ_CHECK(shimmed->size() + kIp6Header - kShimHeader == packet.size());
  const auto back = rebuild_ip6(*shimmed, kFrom, kTo);
  if (packet.size() > kMaxIpPacket) return;
  FUZZ_CHECK(back && back->size() == packet.size());
  FUZZ_CHECK(equal(Bytes(*back).first(4), packet.first(4)) &&
             equal(Bytes(*back).subspan(6, 2), packet.subspan(6, 2)));
  FUZZ_CHECK(equal(Bytes(*back).subspan(kIp6Header), packet.subspan(kIp6Header)));
}

void check_inbound(Bytes shimmed) {
  const auto packet = rebuild_ip6(shimmed, kFrom, kTo);
  if (!packet) return;
  FUZZ_CHECK(packet->size() <= kMaxIpPacket && (*packet)[0] >> 4 == 6);
  FUZZ_CHECK(load_be<std::uint16_t>(packet->data() + 4) + kIp6Header == packet->size());
  FUZZ_CHECK(equal(Bytes(*packet).subspan(8, 16), kFrom.view()) &&
             equal(Bytes(*packet).subspan(24, 16), kTo.view()));
  auto marked = *packet;
  FUZZ_CHECK(mark_congested(marked) == (((*packet)[1] & 0x30) != 0));
  marked[1] = (*packet)[1];
  FUZZ_CHECK(marked == *packet);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  check_outbound(Bytes(data, size));
  check_inbound(Bytes(data, size));
  return 0;
}
