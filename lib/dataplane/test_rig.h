/// For this room's tests: sinks that remember, nodes wired back to back in memory, packets to send through
/// them.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <map>

#include "dataplane/decrypt_shard.h"
#include "dataplane/encrypt_shard.h"
#include "dataplane/ip6.h"
#include "dataplane/mss.h"
#include "offload/segment.h"
#include "wire/envelope.h"
#include "wire/link_frame.h"
#include "wire/session_frame.h"

namespace weft::rig {

struct Sent {
  LinkId link;
  TransportId transport;
  Endpoint to;
  std::vector<Buffer> frames;
};
struct Written {
  offload::VnetHeader vnet;
  Buffer packet;
};

class FakeIo final : public WireSink,
                     public TunSink,
                     public PuntSink,
                     public StraySink,
                     public TunStraySink {
 public:
  SendOutcome send(const LinkSend& path, std::span<const Bytes> frames) override {
    Sent s{path.link, path.transport, path.to, {}};
    for (const Bytes f : frames) s.frames.emplace_back(f.begin(), f.end());
    EXPECT_LE(frames.size(), kMaxRunFrames);
    for (std::size_t i = 0; i + 1 < frames.size(); ++i) EXPECT_EQ(frames[i].size(), frames[0].size());
    EXPECT_LE(frames.back().size(), frames[0].size());
    sent.push_back(std::move(s));
    return outcome;
  }
  void send_whole(const LinkSend& path, Bytes frame) override {
    ++whole;
    (void)send(path, std::span(&frame, 1));
  }
  bool write(const offload::VnetHeader& vnet, std::span<const Bytes> pieces) override {
    if (!tun_takes) return false;
    Written w{vnet, {}};
    for (const Bytes p : pieces) w.packet.insert(w.packet.end(), p.begin(), p.end());
    written.push_back(std::move(w));
    return true;
  }
  bool punt(Punt&& p) override {
    if (!lanes_take) return false;
    punts.push_back(std::move(p));
    return true;
  }
  bool hand_over(WorkerId home, StrayBurst&& b) override {
    if (!lanes_take) return false;
    strays.emplace_back(home, std::move(b));
    return true;
  }
  bool hand_over(WorkerId worker, TunBurst&& b) override {
    if (!lanes_take) return false;
    tun_strays.emplace_back(worker, std::move(b));
    return true;
  }
  ShardIo io() { return {*this, *this, *this, this, this}; }

  template <class P>
  std::size_t count() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(punts, [](const Punt& p) { return std::holds_alternative<P>(p); }));
  }
  /// The first punt of a kind; fails the test when there is none.
  template <class P>
  const P& first() const {
    for (const Punt& p : punts)
      if (const P* x = std::get_if<P>(&p)) return *x;
    ADD_FAILURE() << "no such punt";
    static const P kNone{};
    return kNone;
  }
  std::vector<Buffer> frames() const {
    std::vector<Buffer> out;
    for (const Sent& s : sent) out.insert(out.end(), s.frames.begin(), s.frames.end());
    return out;
  }
  /// Every packet that was written, super-packets taken apart again.
  std::vector<Buffer> packets() const {
    std::vector<Buffer> out;
    for (const Written& w : written) {
      auto s = offload::Segmenter::open(w.vnet, w.packet);
      if (!s) {
        ADD_FAILURE() << name_of(s.error());
        continue;
      }
      Buffer one(s->max_packet());
      while (const std::size_t n = s->write_next(one))
        out.emplace_back(one.begin(), one.begin() + static_cast<long>(n));
    }
    return out;
  }
  void clear() { *this = FakeIo{}; }

  std::vector<Sent> sent;
  std::vector<Written> written;
  std::vector<Punt> punts;
  std::vector<std::pair<WorkerId, StrayBurst>> strays;
  std::vector<std::pair<WorkerId, TunBurst>> tun_strays;
  std::size_t whole = 0;  // of the sent ones, not to be fragmented
  SendOutcome outcome;
  bool tun_takes = true;
  bool lanes_take = true;
};

inline crypto::AeadKey key(std::uint8_t n) {
  std::array<std::uint8_t, 32> b{};
  b.fill(n);
  b[0] = 0x77;
  return crypto::AeadKey(b);
}
inline NodeAddr node(std::uint8_t n) {
  NodeAddr a;
  for (std::size_t i = 0; i < a.bytes.size(); ++i) a.bytes[i] = static_cast<std::uint8_t>(n * 16 + i);
  return a;
}

constexpr TransportId kUdp{1};
inline Instant at(std::int64_t ms) {
  return Instant{} + std::chrono::hours(1) + std::chrono::milliseconds(ms);
}

struct Node {
  explicit Node(std::uint8_t n, std::uint32_t workers = 1, bool joins = true)
      : number(n),
        addr(node(n)),
        mesh(mesh_addr_of(addr)),
        endpoint(Endpoint::v4({192, 0, 2, n}, 2121)),
        enc(options(workers, joins)),
        dec(options(workers, joins)) {}

  ShardOptions options(std::uint32_t workers, bool joins) const {
    ShardOptions o;
    o.self = addr;
    o.decrypt_workers = o.encrypt_workers = workers;
    o.aead = crypto::make_aead("sodium");
    o.tun_tcp = o.tun_udp = joins;
    return o;
  }
  template <class C>
  void all(const C& c) {
    auto e = enc_io.io();
    auto d = dec_io.io();
    enc.apply(now, Command{c}, e);
    dec.apply(now, Command{c}, d);
  }
  void home(Command&& c) {
    auto d = dec_io.io();
    dec.apply(now, std::move(c), d);
  }
  void tun(Bytes packet, const offload::VnetHeader& vnet = {}) {
    tun(std::vector<Buffer>{Buffer(packet.begin(), packet.end())}, vnet);
  }
  void tun(std::vector<Buffer> packets, const offload::VnetHeader& vnet = {}) {
    std::vector<TunRead> reads;
    for (Buffer& p : packets) reads.push_back({vnet, p});
    auto io = enc_io.io();
    enc.on_tun(now, reads, io);
  }
  /// Each datagram in a read of its own.
  void wire(std::vector<Buffer> datagrams, const Endpoint& from, TransportId transport = kUdp) {
    std::vector<WireRead> reads;
    for (Buffer& d : datagrams) reads.push_back({from, d});
    auto io = dec_io.io();
    dec.on_wire(now, transport, reads, io);
  }
  /// All in one read, as the kernel joins them: equal sizes but for the last.
  void wire_joined(const std::vector<Buffer>& datagrams, const Endpoint& from) {
    Buffer all_bytes;
    for (const Buffer& d : datagrams) all_bytes.insert(all_bytes.end(), d.begin(), d.end());
    const WireRead read{from, all_bytes, datagrams[0].size(), false};
    auto io = dec_io.io();
    dec.on_wire(now, kUdp, std::span(&read, 1), io);
  }
  std::uint64_t drops(Drop d) const { return enc.stats().drops.get(d) + dec.stats().drops.get(d); }
  std::uint64_t all_drops() const {
    std::uint64_t n = 0;
    for (std::size_t i = 0; i < kDropCount; ++i) n += drops(static_cast<Drop>(i));
    return n;
  }

  std::uint8_t number;
  NodeAddr addr;
  MeshAddr mesh;
  Endpoint endpoint;
  Instant now = at(0);
  FakeIo enc_io, dec_io;
  EncryptShard enc;
  DecryptShard dec;
  std::map<std::uint8_t, LinkSend> links;  // by the far node's number
  std::map<std::uint8_t, SessionSend> sessions;
};

inline LinkId link_id(const Node& a, const Node& b) { return {std::uint64_t{a.number} * 100 + b.number}; }
inline SessionIndex index_for(const Node& at_node, const Node& from, std::uint8_t epoch = 0) {
  return {0x1000U * at_node.number + 0x10U * from.number + (std::uint32_t{epoch} << 24)};
}

/// One direction of a link: `a` sends, `b` receives.
inline void link_half(Node& a, Node& b, std::uint16_t mtu, std::uint8_t epoch = 0, bool install_send = true) {
  const auto k = static_cast<std::uint8_t>(a.number * 16 + b.number + epoch * 64);
  auto& stats_b = b.links[a.number].stats;
  if (!stats_b) stats_b = std::make_shared<LinkStats>();
  b.home(AddLinkRecv{{index_for(b, a, epoch),
                      link_id(b, a),
                      EpochId{epoch},
                      kUdp,
                      a.addr,
                      b.number < a.number,
                      key(k),
                      {},
                      stats_b}});
  LinkSend& s = a.links[b.number];
  if (!s.stats) s.stats = std::make_shared<LinkStats>();
  s.link = link_id(a, b);
  s.peer = b.addr;
  s.key = std::make_shared<SendKey>(key(k));
  s.their_index = index_for(b, a, epoch);
  s.k = (epoch & 1) != 0;
  s.epoch_start = at(-1000);
  s.transport = kUdp;
  s.to = b.endpoint;
  s.mtu = mtu;
  if (install_send) a.all(SetLink{s});
}
inline void connect(Node& a, Node& b, std::uint16_t mtu = 1280) {
  link_half(a, b, mtu);
  link_half(b, a, mtu);
}
inline void route(Node& a, const Node& dest, const Node& via, HopClass how = HopClass::direct_peer,
                  Instant refresh = kNever) {
  a.all(SetRoute{dest.addr, link_id(a, via), how, refresh});
}

inline void session_half(Node& a, Node& b, std::uint8_t epoch = 0, bool install_send = true) {
  const auto k = static_cast<std::uint8_t>(0x80 + a.number * 8 + b.number + epoch * 32);
  auto& stats_b = b.sessions[a.number].stats;
  if (!stats_b) stats_b = std::make_shared<SessionStats>();
  b.home(AddSessionRecv{{a.addr, EpochId{epoch}, b.number < a.number, key(k), {}, stats_b}});
  SessionSend& s = a.sessions[b.number];
  if (!s.stats) s.stats = std::make_shared<SessionStats>();
  s.remote = b.addr;
  s.key = std::make_shared<SendKey>(key(k));
  s.k = (epoch & 1) != 0;
  s.epoch_start = at(-1000);
  if (install_send) a.all(SetSession{s});
}
inline void talk(Node& a, Node& b) {
  session_half(a, b);
  session_half(b, a);
}

/// What `from` sent to `to` arrives there; the runs as the kernel would join them, or one by one.
inline void carry(Node& from, Node& to, bool joined = true) {
  for (FakeIo* io : {&from.enc_io, &from.dec_io}) {
    for (const Sent& s : io->sent) {
      if (s.to != to.endpoint) continue;
      if (joined) to.wire_joined(s.frames, from.endpoint);
      else to.wire(s.frames, from.endpoint);
    }
    std::erase_if(io->sent, [&](const Sent& s) { return s.to == to.endpoint; });
  }
}

/// Two neighbours with a session; what most tests start from.
struct Pair {
  explicit Pair(std::uint16_t mtu = 1280, bool joins = true) : a(1, 1, joins), b(2, 1, joins) {
    connect(a, b, mtu);
    talk(a, b);
    route(a, b, b);
    route(b, a, a);
  }
  void pass(bool joined = true) { carry(a, b, joined); }
  Node a, b;
};

// ---- packets
// --------------------------------------------------------------------------------------------------------

inline Buffer ip6_packet(const MeshAddr& from, const MeshAddr& to, std::uint8_t next, Bytes payload,
                         std::uint8_t traffic_class = 0) {
  Buffer p(ip6::kHeader);
  p[0] = static_cast<std::uint8_t>(0x60 | (traffic_class >> 4));
  p[1] = static_cast<std::uint8_t>(traffic_class << 4);
  store_be<std::uint16_t>(p.data() + 4, static_cast<std::uint16_t>(payload.size()));
  p[6] = next;
  p[7] = 64;
  std::memcpy(p.data() + 8, from.bytes.data(), 16);
  std::memcpy(p.data() + 24, to.bytes.data(), 16);
  p.insert(p.end(), payload.begin(), payload.end());
  return p;
}
inline Buffer pattern(std::size_t n, std::uint8_t seed = 1) {
  Buffer b(n);
  for (std::size_t i = 0; i < n; ++i) b[i] = static_cast<std::uint8_t>(seed + i * 7);
  return b;
}
/// UDP with `size` bytes in all (48 at least), valid checksum.
inline Buffer udp(const Node& from, const Node& to, std::size_t size, std::uint16_t port = 5000,
                  std::uint8_t seed = 1, std::uint8_t traffic_class = 0) {
  Buffer u = pattern(size - ip6::kHeader, seed);
  store_be<std::uint16_t>(u.data(), port);
  store_be<std::uint16_t>(u.data() + 2, 7000);
  store_be<std::uint16_t>(u.data() + 4, static_cast<std::uint16_t>(u.size()));
  Buffer p = ip6_packet(from.mesh, to.mesh, ip6::kUdp, u, traffic_class);
  complete_checksum(p);
  return p;
}
inline Buffer tcp(const Node& from, const Node& to, std::uint32_t seq, Bytes payload,
                  std::uint8_t flags = 0x10, Bytes options = {}) {
  Buffer t(20);
  store_be<std::uint16_t>(t.data(), 4000);
  store_be<std::uint16_t>(t.data() + 2, 80);
  store_be<std::uint32_t>(t.data() + 4, seq);
  t[12] = static_cast<std::uint8_t>((20 + options.size()) / 4 << 4);
  t[13] = flags;
  store_be<std::uint16_t>(t.data() + 14, 1000);
  t.insert(t.end(), options.begin(), options.end());
  t.insert(t.end(), payload.begin(), payload.end());
  Buffer p = ip6_packet(from.mesh, to.mesh, ip6::kTcp, t);
  complete_checksum(p);
  return p;
}
inline Buffer syn(const Node& from, const Node& to, std::uint16_t mss, std::uint8_t flags = 0x02) {
  const std::array<std::uint8_t, 4> o{2, 4, static_cast<std::uint8_t>(mss >> 8),
                                      static_cast<std::uint8_t>(mss)};
  return tcp(from, to, 1, {}, flags, o);
}
inline std::uint16_t mss_of(Bytes packet) { return load_be<std::uint16_t>(packet.data() + 40 + 22); }
inline bool checksum_holds(Bytes packet) {
  Buffer again(packet.begin(), packet.end());
  complete_checksum(again);
  return equal(again, packet);
}

/// A core's message from a to b: what a sends for the command.
inline std::vector<Buffer> say(Node& a, Command&& c) {
  a.dec_io.sent.clear();
  a.home(std::move(c));
  auto out = a.dec_io.frames();
  a.dec_io.sent.clear();
  return out;
}
inline Buffer heartbeat(Node& a, Node& b) { return say(a, SendLink{link_id(a, b), {0x51}}).at(0); }
inline Buffer data_frame(Node& a, Node& b, std::uint8_t seed = 1) {
  a.enc_io.sent.clear();
  a.tun(udp(a, b, 300, 5000, seed));
  Buffer f = a.enc_io.frames().at(0);
  a.enc_io.sent.clear();
  return f;
}

}  // namespace weft::rig
