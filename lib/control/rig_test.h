/// Two whole nodes with their workers, wired back to back in memory, for this room's tests.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <nlohmann/json.hpp>

#include "control/request.h"
#include "dataplane/decrypt_shard.h"
#include "dataplane/encrypt_shard.h"
#include "node/node.h"

namespace weft::control::rig {

using Json = nlohmann::json;

struct Flight {
  Endpoint from, to;
  Buffer datagram;
};

class Side final : WireSink, TunSink, PuntSink {
 public:
  Side(std::uint8_t n, config::Config config, std::deque<Flight>& wire, Instant start, std::string deny = {})
      : here(Endpoint::v4({192, 0, 2, n}, 2121)),
        rng(n),
        node(options(std::move(config), std::move(deny)), crypto::Identity::generate(rng), rng, log,
             at(start)),
        enc(shard()),
        dec(shard()),
        wire_(wire) {}

  static Now at(Instant t) { return {t, 1'700'000'000'000 + to_ms(t.time_since_epoch())}; }

  void carry_out(Instant now, Outbox& out) {
    while (!out.empty()) {
      for (auto& e : out.take()) {
        ShardIo io{*this, *this, *this};
        if (auto* raw = std::get_if<RawSend>(&e)) wire_.push_back({here, raw->to, std::move(raw->frame)});
        else if (auto* all = std::get_if<ToAll>(&e))
          std::visit([&](const auto& c) { enc.apply(now, Command{c}, io), dec.apply(now, Command{c}, io); },
                     all->command);
        else if (auto* home = std::get_if<ToHome>(&e)) dec.apply(now, std::move(home->command), io);
        else if (auto* to_enc = std::get_if<ToEncrypt>(&e)) enc.apply(now, std::move(to_enc->command), io);
        else if (auto* keep = std::get_if<KeepPeers>(&e)) kept = keep->text;
      }
      for (auto punts = std::exchange(punts_, {}); auto& p : punts) node.on_punt(at(now), std::move(p), out);
    }
  }
  void receive(Instant now, Flight& f) {
    ShardIo io{*this, *this, *this};
    const WireRead read{f.from, f.datagram};
    dec.on_wire(now, TransportId{1}, std::span(&read, 1), io);
    Outbox out;
    for (auto punts = std::exchange(punts_, {}); auto& p : punts) node.on_punt(at(now), std::move(p), out);
    carry_out(now, out);
  }
  void from_tun(Instant now, Buffer packet) {
    ShardIo io{*this, *this, *this};
    const TunRead read{{}, packet};
    enc.on_tun(now, std::span(&read, 1), io);
    Outbox out;
    for (auto punts = std::exchange(punts_, {}); auto& p : punts) node.on_punt(at(now), std::move(p), out);
    carry_out(now, out);
  }
  ShellView view() const {
    ShellView v;
    v.version = "0.1.0";
    v.pid = 77;
    v.exe_path = "/usr/sbin/weftd";
    v.control_socket = "/run/weft/control.sock";
    v.allow_file = "/etc/weft/peers.allow";
    v.deny_file = "/etc/weft/peers.deny";
    v.key_persistent = true;
    v.tun = TunState::active;
    v.tun_name = "weft0";
    v.aead = "sodium";
    TransportView t;
    t.id = TransportId{1};
    t.name = "main";
    t.local_addr = here.text();
    t.packets_recv = 5;
    v.transports = {t};
    v.shards.add(enc.stats());
    v.shards.add(dec.stats());
    v.listening_sockets = [](bool) {
      return std::vector<ListeningSocket>{{"tcp", "::", 22, 5, "sshd", "accept", true},
                                          {"udp", "::", 53, 0, "", "drop", true}};
    };
    return v;
  }
  /// The parsed reply; fails the test when it is no JSON line.
  Json ask(Instant now, std::string_view line) {
    Outbox out;
    Context c{node, at(now), out, view()};
    const std::string reply = handle_request(line, c);
    EXPECT_EQ(reply.find('\n'), std::string::npos);
    Json j = Json::parse(reply, nullptr, false);
    EXPECT_TRUE(j.is_object()) << reply;
    carry_out(now, out);
    return j;
  }
  Json data(Instant now, const std::string& command, const Json& params = nullptr) {
    Json request = {{"command", command}};
    if (!params.is_null()) request["params"] = params;
    Json j = ask(now, request.dump());
    EXPECT_EQ(j["status"], "ok") << command << ": " << j.dump();
    return j["data"];
  }

  Endpoint here;
  SeededRng rng;
  NullLog log;
  Node node;
  EncryptShard enc;
  DecryptShard dec;
  std::string kept;
  bool answers_ping = false;
  std::size_t packets_in = 0;
  std::vector<Buffer> take_replies() { return std::exchange(replies_, {}); }

 private:
  NodeOptions options(config::Config config, std::string deny) const {
    NodeOptions o;
    o.config = std::move(config);
    o.transports = {{TransportId{1}, "udp", "main", here, 1280, true, true}};
    o.deny_text = std::move(deny);
    return o;
  }
  ShardOptions shard() const {
    ShardOptions o;
    o.self = node.identity().addr();
    o.aead = crypto::make_aead("sodium");
    return o;
  }
  SendOutcome send(const LinkSend& path, std::span<const Bytes> frames) override {
    for (const Bytes f : frames) wire_.push_back({here, path.to, Buffer(f.begin(), f.end())});
    return {};
  }
  /// The interface: takes everything, and answers ping when told to.
  bool write(const offload::VnetHeader&, std::span<const Bytes> pieces) override {
    constexpr std::size_t kIcmp = 40;
    Buffer p;
    for (const Bytes piece : pieces) p.insert(p.end(), piece.begin(), piece.end());
    ++packets_in;
    if (!answers_ping || p.size() < kIcmp + 8 || p[6] != 58 || p[kIcmp] != 128) return true;
    std::swap_ranges(p.begin() + 8, p.begin() + 24, p.begin() + 24);
    p[kIcmp] = 129;
    replies_.push_back(std::move(p));
    return true;
  }
  bool punt(Punt&& p) override {
    punts_.push_back(std::move(p));
    return true;
  }

  std::deque<Flight>& wire_;
  std::vector<Punt> punts_;
  std::vector<Buffer> replies_;
};

class Pair {
 public:
  explicit Pair(std::string b_denies = {}) {
    b = std::make_unique<Side>(2, config::Config{}, wire, now, std::move(b_denies));
    config::Config c;
    c.peers.push_back({b->node.identity().npub(), "bee", {{"udp", b->here.text(), 100}}});
    a = std::make_unique<Side>(1, std::move(c), wire, now);
    for (Side* s : {a.get(), b.get()}) {
      Outbox out;
      s->node.start(Side::at(now), out);
      s->carry_out(now, out);
    }
  }
  /// Both run until `span` has passed, with 1 ms on the wire and a tick a second.
  void run(Duration span) {
    for (const Instant end = now + span; now < end; now += 10ms) {
      for (std::size_t n = wire.size(); n > 0; --n) {
        Flight f = std::move(wire.front());
        wire.pop_front();
        for (Side* s : {a.get(), b.get()})
          if (s->here == f.to) s->receive(now, f);
      }
      for (Side* s : {a.get(), b.get()}) {
        Outbox out;
        if (const auto d = s->node.deadline(); d && *d <= now) s->node.on_deadline(Side::at(now), out);
        if (now >= next_tick_) s->node.on_tick(Side::at(now), {});
        s->carry_out(now, out);
        for (auto& reply : s->take_replies()) s->from_tun(now, std::move(reply));
      }
      if (now >= next_tick_) next_tick_ += 1s;
    }
  }
  /// An IPv6 packet of `a` to `b`, which opens a session.
  void send_packet() {
    Buffer p(60);
    p[0] = 0x60;
    p[5] = 20;
    p[6] = 59;  // nothing inside
    p[7] = 64;
    std::ranges::copy(a->node.identity().mesh_addr().bytes, p.begin() + 8);
    std::ranges::copy(b->node.identity().mesh_addr().bytes, p.begin() + 24);
    a->from_tun(now, std::move(p));
  }

  Instant now{1000s};
  std::deque<Flight> wire;
  std::unique_ptr<Side> a, b;

 private:
  Instant next_tick_{1001s};
};

}  // namespace weft::control::rig
