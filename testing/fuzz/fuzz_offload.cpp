#include <map>
#include <string>
#include <vector>

#include "offload/checksum.h"
#include "offload/coalesce.h"
#include "offload/segment.h"
#include "testing/fuzz/check.h"

using namespace weft;
using namespace weft::offload;

namespace {

constexpr std::uint8_t kTcp = 6;
constexpr std::uint8_t kUdp = 17;

Sum whole_sum(Bytes packet) {
  const Bytes l4 = packet.subspan(40);
  return checksum_add(l4, pseudo_header_sum(packet.data(), packet[6], static_cast<std::uint32_t>(l4.size())));
}

/// All packets of the input, in the two ways in which they can be had.
std::vector<Buffer> apart(const VnetHeader& vnet, Bytes packet) {
  auto s = Segmenter::open(vnet, packet);
  if (!s) return {};
  auto twin = *s;
  FUZZ_CHECK(s->count() >= 1 && s->header_size() >= 40 && s->header_size() <= kMaxHeaders);
  std::vector<Buffer> out;
  Segmenter::Segment part;
  Buffer one(s->max_packet());
  while (s->next(part)) {
    FUZZ_CHECK(part.header.size() == s->header_size() && part.size() <= s->max_packet());
    FUZZ_CHECK(load_be<std::uint16_t>(part.header.data() + 4) == part.size() - 40);
    Buffer p(part.header.begin(), part.header.end());
    p.insert(p.end(), part.payload.begin(), part.payload.end());
    const auto n = twin.write_next(one);
    FUZZ_CHECK(equal(Bytes(one).first(n), p));
    const bool simple = vnet.gso_type != kGsoNone && (p[6] == kTcp || p[6] == kUdp);
    FUZZ_CHECK(!simple || checksum_fold(whole_sum(p)) == 0xffff);
    out.push_back(std::move(p));
  }
  FUZZ_CHECK(out.size() == s->count());
  FUZZ_CHECK(twin.write_next(one) == 0);
  return out;
}

void check_super(Bytes in) {
  Reader r(in);
  const auto vnet = VnetHeader::decode(r.array<kVnetHeaderBytes>());
  const Bytes packet = r.rest();
  const auto out = apart(vnet, packet);
  if (out.empty()) return;
  std::size_t payload = 0;
  const auto header = Segmenter::open(vnet, packet)->header_size();
  for (const auto& p : out) {
    FUZZ_CHECK(equal(Bytes(p).subspan(header), packet.subspan(header + payload, p.size() - header)));
    payload += p.size() - header;
  }
  FUZZ_CHECK(header + payload == 40U + load_be<std::uint16_t>(packet.data() + 4));
}

/// Makes lengths and checksum right, as the bits of `how` say: what random bytes never are.
void repair(Buffer& p, std::uint8_t how) {
  const std::size_t sum_at = p.size() > 46 && p[6] == kUdp ? 46 : 56;
  if (p.size() < sum_at + 2) return;
  const auto length = static_cast<std::uint16_t>(p.size() - 40);
  if (how & 1) store_be(p.data() + 4, length);
  if ((how & 1) && sum_at == 46) store_be(p.data() + 44, length);
  if (!(how & 2)) return;
  store_be(p.data() + sum_at, std::uint16_t{0});
  const auto v = static_cast<std::uint16_t>(~checksum_fold(whole_sum(p)));
  store_be(p.data() + sum_at, sum_at == 46 && v == 0 ? std::uint16_t{0xffff} : v);
}

using Flows = std::map<std::string, std::vector<Buffer>>;
void add_to(Flows& flows, const Buffer& p) {
  const bool has_ports = p.size() >= 48;
  flows[has_ports ? std::string(p.begin() + 6, p.begin() + 7) + std::string(p.begin() + 8, p.begin() + 44)
                  : ""]
      .push_back(p);
}

void check_burst(Bytes in) {
  std::vector<Buffer> packets;
  for (Reader r(in); r.left() >= 3 && packets.size() < 300;) {
    const auto how = r.u8();
    const auto n = std::min<std::size_t>(r.le<std::uint16_t>(), r.left());
    const Bytes b = r.take(n);
    packets.emplace_back(b.begin(), b.end());
    repair(packets.back(), how);
  }
  Coalescer c(true, true);
  Flows before;
  for (const auto& p : packets) {
    c.add(p);
    add_to(before, p);
  }
  Flows after;
  std::size_t count = 0;
  Coalescer::Write w;
  while (c.next(w)) {
    Buffer joined;
    for (const auto piece : w.pieces) joined.insert(joined.end(), piece.begin(), piece.end());
    count += w.packets;
    if (w.packets == 1) {
      FUZZ_CHECK(w.vnet == VnetHeader{});
      add_to(after, joined);
      continue;
    }
    FUZZ_CHECK(joined.size() <= kMaxJoined && w.packets <= kMaxSegments && w.pieces.size() == w.packets + 1);
    const auto again = apart(w.vnet, joined);
    FUZZ_CHECK(again.size() == w.packets);
    for (const auto& p : again) add_to(after, p);
  }
  FUZZ_CHECK(count == packets.size());
  FUZZ_CHECK(before == after);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Steer in(Bytes(data, size));
  if (in.u8() % 2 == 0) check_super(in.rest());
  else check_burst(in.rest());
  return 0;
}
