/// Joins the packets of one burst into as few super-packets as a TUN device may be given.
///
/// Joined   neighbours within a flow, when taking the super-packet apart gives back the very same packets.
///          TCP: equal headers but for sequence, PSH and checksum; contiguous; only ACK and PSH set; PSH
///          ends a group. UDP: equal size but the last. Both: valid checksum, no extension header, at most
///          kMaxSegments and kMaxJoined bytes.
/// Order    within a flow as added; a group stands where its first packet stood.
/// Memory   packets are borrowed from add() until the last next(); payload is never copied.
/// Thread   one owner.
/// Cost     O(1) and at most one pass over its bytes per packet; allocates only while growing.
/// Source   RFC 9293; the kernel's own GRO rules (net/ipv4/tcp_offload.c, udp_offload.c), never laxer.
#pragma once

#include "base/bytes.h"
#include "offload/vnet_header.h"

namespace weft::offload {

constexpr std::size_t kMaxSegments = 64;   // UDP_MAX_SEGMENTS of older kernels
constexpr std::size_t kMaxJoined = 65535;  // bytes of a super-packet, headers included

class Coalescer {
 public:
  /// What the device takes: TunDevice::features().
  Coalescer(bool tcp, bool udp) : tcp_(tcp), udp_(udp) { slots_.fill(kNone); }

  struct Write {
    VnetHeader vnet;
    std::span<const Bytes> pieces;  // to be written as one; valid until the next call
    std::size_t packets = 0;        // how many added packets it carries
  };

  void add(Bytes packet);
  /// What to write next; false when everything is out, and then the Coalescer is empty and ready for another
  /// burst.
  bool next(Write& out);
  std::size_t size() const { return packets_.size(); }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  enum class Kind : std::uint8_t { other, tcp, udp };
  struct Parsed {
    Kind kind = Kind::other;
    bool joinable = false;
    std::uint16_t header_size = 0;
    std::uint32_t slot = 0;
  };
  struct Packet {
    Bytes bytes;
    std::uint32_t next = kNone;  // in its group
  };
  struct Group {
    std::uint32_t first = kNone;
    std::uint32_t last = kNone;
    std::uint32_t packets = 1;
    std::uint32_t bytes = 0;  // payload
    std::uint16_t header_size = 0;
    std::uint16_t step = 0;  // payload of the first packet
    Kind kind = Kind::other;
    bool open = false;
    bool checked = false;  // the first packet's checksum is valid
  };

  Parsed parse(Bytes packet) const;
  bool may_join(Group& g, const Parsed& p, Bytes packet) const;
  void close_pair(Bytes packet);
  void build(const Group& g, Write& out);

  bool tcp_;
  bool udp_;
  std::vector<Packet> packets_;
  std::vector<Group> groups_;
  std::array<std::uint32_t, 256> slots_;  // newest group of the flows that share a hash
  std::size_t out_ = 0;
  std::vector<Bytes> pieces_;
  std::array<std::uint8_t, 40 + 60> header_{};
};

}  // namespace weft::offload
