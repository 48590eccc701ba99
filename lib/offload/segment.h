/// Takes one packet as a TUN device hands it over, whole or super, apart into finished IPv6 packets.
///
/// Input    IPv6 only: plain, with an open checksum, TCP (TSO) or UDP (USO) super-packet. Borrowed and not
///          changed; must outlive the Segmenter.
/// Output   each packet has its own lengths, sequence number, flags and checksum; the headers are at most
///          kMaxHeaders bytes, the payload is a slice of the input.
/// Errors   not_ipv6, packet_truncated, bad_offload: nothing of such a packet may be used.
/// Cost     each payload byte is read once, about 50 ns per packet with write_next(); no allocation.
#pragma once

#include "base/bytes.h"
#include "base/drop.h"
#include "base/result.h"
#include "offload/checksum.h"
#include "offload/vnet_header.h"

namespace weft::offload {

constexpr std::size_t kMaxHeaders = 40 + 128 + 60;  // IPv6, extension headers, TCP with options

class Segmenter {
 public:
  struct Segment {
    Bytes header;  // the Segmenter's own memory: overwritten by the next call
    Bytes payload;
    std::size_t size() const { return header.size() + payload.size(); }
  };

  static Result<Segmenter, Drop> open(const VnetHeader& vnet, Bytes packet);

  /// Packets in all; at least 1.
  std::size_t count() const { return count_; }
  /// The same for every packet of this input; at least 40.
  std::size_t header_size() const { return header_size_; }
  /// Bytes of the largest packet, header included.
  std::size_t max_packet() const { return header_size_ + std::min(step_, payload_.size()); }

  /// The next packet in its two parts; false when all are out.
  bool next(Segment& out);
  /// The next packet written to `out` in one piece, copied and summed in one pass; its size. 0 when all are
  /// out or `out` is smaller than max_packet().
  std::size_t write_next(MutBytes out);

 private:
  enum class Kind : std::uint8_t { plain, open_sum, tcp, udp };

  Segmenter() = default;
  static Result<Segmenter, Drop> open_single(const VnetHeader& vnet, Bytes packet);
  static Result<Segmenter, Drop> open_super(const VnetHeader& vnet, Bytes packet);
  Bytes advance();
  void patch(Bytes payload);
  void store_sum(Sum payload_sum, std::size_t payload_size);

  Kind kind_ = Kind::plain;
  std::uint8_t flags_ = 0;      // of the super-packet's TCP header
  std::uint32_t sequence_ = 0;  // of the next segment
  std::size_t header_size_ = 0;
  std::size_t l4_ = 0;  // offset of the transport header
  std::size_t sum_at_ = 0;
  std::size_t step_ = 0;  // payload bytes of every packet but the last
  std::size_t count_ = 0;
  std::size_t done_ = 0;
  Bytes payload_;
  std::array<std::uint8_t, kMaxHeaders> header_{};
};

}  // namespace weft::offload
