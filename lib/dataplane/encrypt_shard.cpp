#include "dataplane/encrypt_shard.h"

#include "dataplane/egress.h"
#include "dataplane/fragment.h"
#include "dataplane/frame.h"
#include "dataplane/icmp6.h"
#include "dataplane/ip6.h"
#include "dataplane/mss.h"
#include "offload/segment.h"

namespace weft {
namespace {

/// Room that one packet may need besides its own frame: coordinates in front, a warm-up of its own, a few
/// fragments.
constexpr std::size_t kCoordsRoom = 2 * wire::coords_size(wire::kMaxCoords);
constexpr std::size_t kSlack = 2 * kCoordsRoom + 32 * 1024;
/// Frames that one packet may become: its fragments and a few warm-ups.
constexpr std::size_t kMaxFragments = 16;
constexpr std::size_t kFramesPerPacket = kMaxFragments + 8;
constexpr std::size_t kMinBuffer = 2 * 65535 + kSlack;
constexpr std::size_t kMinFrames = 4 * kFramesPerPacket;

}  // namespace

struct EncryptShard::Impl {
  explicit Impl(ShardOptions o)
      : opts(std::move(o)),
        self_mesh(mesh_addr_of(opts.self)),
        egress(std::max(opts.burst_frames, kMinFrames)),
        buffer(std::max(opts.burst_bytes, kMinBuffer)),
        max_frames(std::max(opts.burst_frames, kMinFrames)),
        strays(opts.encrypt_workers < 2 ? 0 : opts.encrypt_workers),
        fragment_id(static_cast<std::uint32_t>(opts.fragment_seed)) {
    open.reserve(max_frames);
    jobs.reserve(max_frames);
  }

  /// A frame of the burst that still lacks its session counter.
  struct Open {
    frame::Unsealed message;
    SessionEntry* session = nullptr;
    RouteEntry* route = nullptr;
    std::size_t data_bytes = 0;  // of a DataPacket, ports excluded; 0 for others
  };

  std::uint8_t* slot() { return buffer.data() + used; }
  StageTimer timed(Stage stage, std::size_t items) { return {stats, opts.stage_clock, stage, items}; }

  /// True when another worker must feed the link that this read goes to, and has got it.
  bool stray(const TunRead& read, ShardIo& io);
  void hand_over(ShardIo& io);
  void on_burst(Instant now, std::span<const TunRead> reads, ShardIo& io);
  void on_read(Instant now, const TunRead& read, ShardIo& io);
  void on_packet(Instant now, MutBytes packet, ShardIo& io);
  void to_self(MutBytes packet, ShardIo& io);
  void refuse_foreign(Instant now, Bytes packet, ShardIo& io);
  void too_big(Instant now, Bytes packet, std::size_t mtu, ShardIo& io);
  void in_fragments(Instant now, SessionEntry& s, RouteEntry& r, MutBytes packet, std::size_t mtu);
  void put_data(Instant now, SessionEntry& s, RouteEntry& r, std::size_t packet_size, std::size_t frame_mtu);
  void put_warmup(Instant now, SessionEntry& s, RouteEntry& r, std::size_t packet_size,
                  std::size_t frame_mtu);
  void put(SessionEntry& s, RouteEntry& r, const frame::Unsealed& message, std::size_t data_bytes);
  void write_tun(Bytes packet, Gauge& counter, ShardIo& io);
  void punt(Punt&& p, ShardIo& io);
  void flush(Instant now, ShardIo& io);
  void seal_sessions(Instant now);

  ShardOptions opts;
  MeshAddr self_mesh;
  Tables tables;
  ShardStats stats;
  Egress egress;
  Buffer buffer;
  std::size_t used = 0;
  std::size_t max_frames;
  std::vector<Open> open;
  std::vector<crypto::AeadJob> jobs;
  std::vector<TunBurst> strays;  // by worker; empty where there is one
  IcmpLimiter too_big_limit;
  IcmpLimiter unreachable_limit;
  IcmpError icmp{};
  std::array<std::uint8_t, ip6::kMinMtu> scratch{};
  std::uint32_t fragment_id;
};

void EncryptShard::Impl::punt(Punt&& p, ShardIo& io) {
  if (!io.punts.punt(std::move(p))) stats.drops.add(Drop::miss_lane_full);
}

void EncryptShard::Impl::write_tun(Bytes packet, Gauge& counter, ShardIo& io) {
  if (io.tun.write({}, std::span(&packet, 1))) counter.add(1);
  else stats.drops.add(Drop::tun_write_failed);
}

bool EncryptShard::Impl::stray(const TunRead& read, ShardIo& io) {
  if (strays.empty() || io.tun_strays == nullptr || read.packet.size() < ip6::kHeader) return false;
  SessionEntry* s = tables.session(ip6::dest(read.packet));
  const RouteEntry* r = s != nullptr ? tables.route(*s) : nullptr;
  if (r == nullptr || r->link->send.same_kind) return false;
  const WorkerId feeder = feeder_of(r->link->send, opts.encrypt_workers);
  if (feeder == opts.id) return false;
  TunBurst& out = strays[feeder.value];
  out.items.push_back({read.vnet, static_cast<std::uint32_t>(out.bytes.size()),
                       static_cast<std::uint32_t>(read.packet.size())});
  out.bytes.insert(out.bytes.end(), read.packet.begin(), read.packet.end());
  return true;
}

void EncryptShard::Impl::hand_over(ShardIo& io) {
  for (std::uint32_t w = 0; w < strays.size(); ++w) {
    const std::size_t n = strays[w].items.size();
    if (n == 0) continue;
    if (io.tun_strays->hand_over(WorkerId{w}, std::exchange(strays[w], {}))) stats.strays.add(n);
    else stats.drops.add(Drop::stray_lane_full, n);
  }
}

void EncryptShard::Impl::on_read(Instant now, const TunRead& read, ShardIo& io) {
  auto packets = offload::Segmenter::open(read.vnet, read.packet);
  if (!packets) return stats.drops.add(packets.error());
  const std::size_t room = packets->max_packet() + wire::kShimOverhead + kSlack;
  for (;;) {
    if (buffer.size() - used < room || open.size() + kFramesPerPacket > max_frames) flush(now, io);
    const std::size_t n = packets->write_next(MutBytes(buffer).subspan(used + frame::kPacketAt));
    if (n == 0) return;
    on_packet(now, MutBytes(slot() + frame::kPacketAt, n), io);
  }
}

void EncryptShard::Impl::on_packet(Instant now, MutBytes packet, ShardIo& io) {
  if (packet.size() < ip6::kHeader) return stats.drops.add(Drop::packet_truncated);
  const MeshAddr dest = ip6::dest(packet);
  if (dest == self_mesh) return to_self(packet, io);
  if (dest.bytes[0] != 0xfd) return refuse_foreign(now, packet, io);

  SessionEntry* s = tables.session(dest);
  RouteEntry* r = s != nullptr ? tables.route(*s) : nullptr;
  if (r == nullptr) return punt(PuntTunPacket{Buffer(packet.begin(), packet.end())}, io);
  if (now >= r->refresh_after && !r->told_stale) {
    r->told_stale = io.punts.punt(PuntRouteStale{s->send.remote});
    if (!r->told_stale) stats.drops.add(Drop::miss_lane_full);
  }

  const std::uint16_t path_mtu = s->send.path_mtu;
  const std::uint16_t frame_mtu = std::min(path_mtu, r->link->send.mtu);
  const bool known = path_mtu != wire::kMtuUnknown;
  if (clamp_mss(packet,
                mss_ceiling(tables.local().transport_mtu, known ? std::optional(frame_mtu) : std::nullopt)))
    stats.mss_clamped.add(1);
  if (packet.size() + wire::kShimOverhead <= frame_mtu)
    return put_data(now, *s, *r, packet.size(), frame_mtu);
  const std::size_t mtu = frame_mtu > wire::kShimOverhead ? frame_mtu - wire::kShimOverhead : 0U;
  if (packet.size() <= ip6::kMinMtu) return in_fragments(now, *s, *r, packet, mtu);
  too_big(now, packet, mtu, io);
}

void EncryptShard::Impl::to_self(MutBytes packet, ShardIo& io) {
  complete_checksum(packet);
  write_tun(packet, stats.hairpinned, io);
}

void EncryptShard::Impl::refuse_foreign(Instant now, Bytes packet, ShardIo& io) {
  stats.drops.add(Drop::not_mesh_destination);
  const std::size_t n = make_unreachable(icmp, packet, self_mesh);
  if (n == 0) return;
  if (!unreachable_limit.allow(ip6::source(packet), now)) return stats.drops.add(Drop::icmp_rate);
  write_tun(Bytes(icmp.data(), n), stats.unreachable_sent, io);
}

void EncryptShard::Impl::too_big(Instant now, Bytes packet, std::size_t mtu, ShardIo& io) {
  stats.drops.add(Drop::too_big);
  const std::size_t n = make_packet_too_big(icmp, packet, static_cast<std::uint32_t>(mtu));
  if (n == 0) return;
  if (!too_big_limit.allow(ip6::source(packet), now)) return stats.drops.add(Drop::icmp_rate);
  write_tun(Bytes(icmp.data(), n), stats.too_big_sent, io);
}

void EncryptShard::Impl::in_fragments(Instant now, SessionEntry& s, RouteEntry& r, MutBytes packet,
                                      std::size_t mtu) {
  std::memcpy(scratch.data(), packet.data(), packet.size());
  // The worker's number in the top bits keeps two workers' identifications apart.
  const std::uint32_t id = (opts.id.value << 28) | (fragment_id++ & 0x0fffffffU);
  auto parts = Fragmenter::open(Bytes(scratch.data(), packet.size()), mtu, id);
  if (!parts) return stats.drops.add(parts.error());
  if (parts->count() > kMaxFragments) return stats.drops.add(Drop::too_big);
  stats.fragmented.add(1);
  for (;;) {
    const std::size_t n = parts->next(MutBytes(buffer).subspan(used + frame::kPacketAt));
    if (n == 0) return;
    put_data(now, s, r, n, mtu + wire::kShimOverhead);
  }
}

/// Writes a CoordsWarmup in front of the data packet that lies in the slot, which moves behind it. K stays
/// clear.
void EncryptShard::Impl::put_warmup(Instant now, SessionEntry& s, RouteEntry& r, std::size_t packet_size,
                                    std::size_t frame_mtu) {
  const std::size_t size = frame::size_of(0, frame::coords_size(s.send));
  if (size > frame_mtu || size > kCoordsRoom) return stats.drops.add(Drop::over_link_mtu);
  std::uint8_t* at = slot();
  std::memmove(at + size + frame::kPacketAt, at + frame::kPacketAt, packet_size);
  const frame::Head head{
      s.send, opts.self, r.link->send.mtu, static_cast<std::uint8_t>(wire::SessionMsg::coords_warmup),
      true,   false};
  put(s, r, frame::write_head(MutBytes(at, size), head, now), 0);
}

/// The packet lies at slot() + kPacketAt and fits.
void EncryptShard::Impl::put_data(Instant now, SessionEntry& s, RouteEntry& r, std::size_t packet_size,
                                  std::size_t frame_mtu) {
  std::size_t size = packet_size + wire::kShimOverhead;
  bool coords = false;
  auto& warmup = s.send.stats->warmup;
  for (auto left = warmup.load(std::memory_order_relaxed); left > 0;) {
    if (!warmup.compare_exchange_weak(left, left - 1, std::memory_order_relaxed)) continue;
    const std::size_t c = frame::coords_size(s.send);
    coords = size + c <= frame_mtu && c <= kCoordsRoom;
    if (!coords) put_warmup(now, s, r, packet_size, frame_mtu);
    break;
  }
  std::uint8_t* at = slot();
  std::uint8_t* packet = at + frame::kPacketAt;
  if (coords) {
    const std::size_t c = frame::coords_size(s.send);
    std::memmove(packet + c, packet, packet_size);
    packet += c;
    size += c;
  }
  const auto shim = wire::shim_of(Bytes(packet, packet_size));
  if (!shim) return stats.drops.add(shim.error());
  std::uint8_t* body = packet + wire::kIp6Header - wire::kShimHeader;
  std::memcpy(body, shim->data(), shim->size());
  wire::write_ports(MutBytes(body - wire::kPortHeader, wire::kPortHeader),
                    {wire::kPortShim, wire::kPortShim, {}});
  const frame::Head head{s.send,           opts.self,
                         r.link->send.mtu, static_cast<std::uint8_t>(wire::SessionMsg::data),
                         coords,           s.send.k};
  put(s, r, frame::write_head(MutBytes(at, size), head, now),
      packet_size - wire::kIp6Header + wire::kShimHeader);
}

void EncryptShard::Impl::put(SessionEntry& s, RouteEntry& r, const frame::Unsealed& message,
                             std::size_t data_bytes) {
  open.push_back({message, &s, &r, data_bytes});
  used += message.bytes.size();
}

/// Counters per run of one session, then one batch. What gets no counter loses its place in the burst.
void EncryptShard::Impl::seal_sessions(Instant now) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < open.size();) {
    SessionEntry& s = *open[i].session;
    std::size_t end = i;
    while (end < open.size() && open[end].session == &s) ++end;
    const auto first = s.send.key->reserve(end - i);
    if (!first) {
      stats.drops.add(Drop::counter_exhausted, end - i);
      i = end;
      continue;
    }
    std::uint64_t sealed = 0, packets = 0, data = 0;
    for (std::size_t n = 0; i < end; ++i, ++n) {
      jobs.push_back(frame::seal_job(open[i].message, *s.send.key, *first + n));
      sealed += jobs.back().size + wire::kTag;
      packets += open[i].data_bytes > 0 ? 1 : 0;
      data += open[i].data_bytes;
      stats.forwarding.originated.add(open[i].message.bytes.size() - wire::kFrameCost);
      if (kept != i) open[kept] = open[i];
      ++kept;
    }
    s.send.key->bytes.fetch_add(sealed, std::memory_order_relaxed);
    if (packets == 0) continue;
    s.send.stats->packets_sent.add(packets);
    s.send.stats->bytes_sent.add(data);
    s.send.stats->last_data_sent.set(now);
  }
  open.resize(kept);
  opts.aead->seal(jobs);
}

void EncryptShard::Impl::flush(Instant now, ShardIo& io) {
  if (!open.empty()) {
    {
      const auto t = timed(Stage::session_seal, open.size());
      seal_sessions(now);
    }
    for (std::size_t i = 0; i < open.size(); ++i) {
      if (!jobs[i].ok) {
        stats.drops.add(Drop::send_failed);
        continue;
      }
      egress.add(*open[i].route->link, open[i].message.bytes, Egress::Kind::own, open[i].route->how, false);
    }
    egress.flush(now, *opts.aead, io.wire, stats, opts.stage_clock);
    open.clear();
    jobs.clear();
  }
  used = 0;
}

EncryptShard::EncryptShard(ShardOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
EncryptShard::~EncryptShard() = default;
EncryptShard::EncryptShard(EncryptShard&&) noexcept = default;
EncryptShard& EncryptShard::operator=(EncryptShard&&) noexcept = default;

void EncryptShard::apply(Instant now, Command&& command, ShardIo& io) {
  if (auto* inject = std::get_if<InjectTun>(&command)) {
    const TunRead read{{}, inject->packet};
    return impl_->on_burst(now, std::span(&read, 1), io);
  }
  impl_->tables.apply(command);
}

void EncryptShard::on_tun(Instant now, std::span<const TunRead> reads, ShardIo& io) {
  // Not so for what the core injects: a pure router's own probes go out.
  if (!impl_->tables.local().tun) return impl_->stats.drops.add(Drop::no_tun, reads.size());
  impl_->on_burst(now, reads, io);
}

void EncryptShard::Impl::on_burst(Instant now, std::span<const TunRead> reads, ShardIo& io) {
  {
    const auto t = timed(Stage::inner, reads.size());
    for (const TunRead& read : reads)
      if (!stray(read, io)) on_read(now, read, io);
  }
  stats.burst_in.add(reads.size());
  flush(now, io);
  hand_over(io);
}

void EncryptShard::on_stray(Instant now, TunBurst&& burst, ShardIo& io) {
  {
    const auto t = impl_->timed(Stage::inner, burst.items.size());
    for (const TunBurst::Item& i : burst.items)
      impl_->on_read(now, {i.vnet, MutBytes(burst.bytes).subspan(i.offset, i.size)}, io);
  }
  impl_->flush(now, io);
}

const ShardStats& EncryptShard::stats() const { return impl_->stats; }
ShardStats& EncryptShard::stats() { return impl_->stats; }
std::string_view EncryptShard::aead_name() const { return impl_->opts.aead->name(); }

}  // namespace weft
