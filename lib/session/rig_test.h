/// Two or more nodes' sessions, each with a stand-in for its workers, over a wire that a test may spoil.
///
/// The stand-in seals and opens with the keys that Sessions handed out, so "no packet was lost" is about real
/// keys.
#pragma once

#include <gtest/gtest.h>

#include <queue>

#include "session/sessions.h"
#include "wire/route_error.h"
#include "wire/session_frame.h"

namespace weft::session::rig {

struct Datagram {
  Instant at;
  std::uint64_t seq = 0;
  NodeAddr src, dst, via;
  Buffer payload;

  wire::SessionKind kind() const {
    const auto k = wire::classify_session_payload(payload);
    return k ? *k : wire::SessionKind::sealed;
  }
};

class Net;

class Side final : public Surroundings {
 public:
  Side(Net& net, std::uint64_t seed, const Settings& s);

  // what the node would do
  void app(Buffer packet, const Side& to);
  void send_number(std::uint32_t n, const Side& to);
  void receive(const Datagram& d);
  void apply(Outbox& out);
  void restart();  // the process: all is forgotten, the identity stays
  void wake(Instant now);

  const wire::Path& own_path() override { return path; }
  const wire::Path* coords_of(const NodeAddr& remote) override {
    const auto it = coords.find(remote);
    return it == coords.end() ? nullptr : &it->second;
  }
  std::optional<Hop> hop_to(Instant, const NodeAddr&, Outbox&) override {
    if (!routed) return std::nullopt;
    return Hop{LinkId{7}, WorkerId{1}, 1280};
  }
  bool send_datagram(Instant, const NodeAddr& dest, Buffer payload, Outbox& out) override {
    if (!routed) return false;
    Buffer m(dest.bytes.begin(), dest.bytes.end());
    m.insert(m.end(), payload.begin(), payload.end());
    out.home(WorkerId{1}, SendLink{LinkId{7}, std::move(m)});
    return true;
  }

  template <class E>
  std::size_t count() const {
    std::size_t n = 0;
    for (const auto& e : events) n += std::holds_alternative<E>(e) ? 1U : 0U;
    return n;
  }
  template <class E>
  const E* last() const {
    for (auto it = events.rbegin(); it != events.rend(); ++it)
      if (const auto* e = std::get_if<E>(&*it)) return e;
    return nullptr;
  }
  std::size_t drops(Drop d) const {
    const auto it = refused.find(d);
    return it == refused.end() ? 0U : it->second;
  }
  void note(const Result<void, Drop>& r) {
    if (!r) ++refused[r.error()];
  }
  const NodeAddr& addr() const { return id.addr(); }

  Net& net;
  SeededRng rng;
  crypto::Identity id;
  Settings settings;
  wire::Path path;
  std::map<NodeAddr, wire::Path> coords;
  bool routed = true;
  std::unique_ptr<Sessions> sessions;

  // the workers
  struct Half {
    SessionRecv recv;
    bool proven = false;
  };
  std::map<NodeAddr, SessionSend> sending;
  std::map<NodeAddr, std::vector<Half>> halves;
  std::map<NodeAddr, EpochId> current;

  // what came of it
  std::vector<Event> events;
  std::vector<std::uint32_t> got;  // numbers, in order of arrival
  std::map<Drop, std::size_t> refused;
  std::size_t undecryptable = 0;
  std::size_t set_sessions = 0;
  std::size_t warmups_sent = 0;

 private:
  void seal(const NodeAddr& to, wire::SessionMsg type, Bytes body);
  void open(const Datagram& d);
};

class Net {
 public:
  Side& add(std::uint64_t seed, const Settings& s = {}) {
    sides.push_back(std::make_unique<Side>(*this, seed, s));
    return *sides.back();
  }
  Side* find(const NodeAddr& a) {
    for (auto& s : sides)
      if (s->addr() == a) return s.get();
    return nullptr;
  }
  void post(Datagram d) {
    d.seq = ++seq_;
    d.at = now + delay(d);
    for (int copies = tamper(d); copies > 0; --copies) heap_.push(d);
  }
  /// Everything due until `end`, and `every` calls of `tick` on the way.
  void run(Duration span, Duration every = Duration::max(), const std::function<void()>& tick = {}) {
    const Instant end = now + span;
    Instant next_tick = tick ? now + every : kNever;
    for (;;) {
      Instant next = std::min(end, next_tick);
      if (!heap_.empty()) next = std::min(next, heap_.top().at);
      for (auto& s : sides)
        if (const auto d = s->sessions->deadline()) next = std::min(next, *d);
      now = std::max(now, next);
      if (!heap_.empty() && heap_.top().at <= now) {
        const Datagram d = heap_.top();
        heap_.pop();
        if (Side* to = find(d.dst)) to->receive(d);
        continue;
      }
      bool woke = false;
      for (auto& s : sides)
        if (const auto d = s->sessions->deadline(); d && *d <= now) {
          s->wake(now);
          const auto after = s->sessions->deadline();
          ASSERT_TRUE(!after || *after > now) << "a deadline that never passes";
          woke = true;
        }
      if (woke) continue;
      if (next_tick <= now) {
        next_tick += every;
        tick();
        continue;
      }
      if (now >= end) return;
    }
  }

  Instant now{1000s};
  /// How many copies arrive; may change the datagram.
  std::function<int(Datagram&)> tamper = [](Datagram&) { return 1; };
  std::function<Duration(const Datagram&)> delay = [](const Datagram&) { return Duration{5ms}; };
  std::vector<std::unique_ptr<Side>> sides;

 private:
  struct Later {
    bool operator()(const Datagram& a, const Datagram& b) const {
      return std::tie(a.at, a.seq) > std::tie(b.at, b.seq);
    }
  };
  std::priority_queue<Datagram, std::vector<Datagram>, Later> heap_;
  std::uint64_t seq_ = 0;
};

inline Side::Side(Net& n, std::uint64_t seed, const Settings& s)
    : net(n), rng(seed), id(crypto::Identity::generate(rng)), settings(s), path{id.addr(), NodeAddr{}} {
  restart();
}

inline void Side::restart() {
  StartupEpoch epoch;
  rng.fill(epoch.bytes);
  sessions = std::make_unique<Sessions>(id, epoch, settings, *this, rng);
  sending.clear();
  halves.clear();
  current.clear();
}

inline void Side::wake(Instant now) {
  Outbox out;
  sessions->on_deadline(now, out);
  apply(out);
}

inline void Side::app(Buffer packet, const Side& to) {
  if (sending.contains(to.addr())) return seal(to.addr(), wire::SessionMsg::data, packet);
  Outbox out;
  note(sessions->queue_packet(net.now, to.addr(), std::move(packet), out));
  note(sessions->open(net.now, to.addr(), to.id.key(), out));
  apply(out);
}

inline void Side::send_number(std::uint32_t n, const Side& to) {
  Buffer b;
  Writer{b}.le(n);
  // The number of the destination comes along so that injected packets find it again.
  b.insert(b.end(), to.addr().bytes.begin(), to.addr().bytes.end());
  app(std::move(b), to);
}

inline void Side::seal(const NodeAddr& to, wire::SessionMsg type, Bytes body) {
  auto& s = sending.at(to);
  const auto counter = s.key->reserve(1);
  ASSERT_TRUE(counter);
  Buffer f(wire::kSessionHeader);
  const auto size = static_cast<std::uint16_t>(wire::kSessionInner + body.size());
  const bool data = type == wire::SessionMsg::data;
  wire::write_session_header(f, {false, data && s.k, size, *counter});
  Buffer inner(wire::kSessionInner);
  wire::write_session_inner(inner,
                            {wire_ms(s.epoch_start, net.now), static_cast<std::uint8_t>(type), false, {}});
  inner.insert(inner.end(), body.begin(), body.end());
  f.resize(wire::kSessionHeader + inner.size() + wire::kTag);
  crypto::seal_once(crypto::Secret32{s.key->key.view()}, *counter, Bytes{f}.first(wire::kSessionHeader),
                    inner, f.data() + wire::kSessionHeader);
  if (data) {
    s.stats->packets_sent.add(1);
    s.stats->last_data_sent.set(net.now);
  } else {
    ++warmups_sent;
  }
  net.post({{}, 0, addr(), to, addr(), std::move(f)});
}

inline void Side::open(const Datagram& d) {
  const auto f = wire::decode_sealed_session(d.payload);
  if (!f) return;
  for (auto& h : halves[d.src]) {
    auto& r = h.recv;
    if (r.window.check(f->header.counter)) continue;
    Buffer plain(f->ciphertext.size() - wire::kTag);
    if (!crypto::open_once(crypto::Secret32{r.key.view()}, f->header.counter, f->aad, f->ciphertext,
                           plain.data()))
      continue;
    r.window.accept(f->header.counter);
    const auto inner = wire::decode_session_inner(plain);
    ASSERT_TRUE(inner);
    if (r.epoch == current[d.src]) r.stats->epoch_frames_recv.add(1);
    if (r.epoch < current[d.src]) r.stats->older_epoch_recv.set(net.now);
    if (inner->type == static_cast<std::uint8_t>(wire::SessionMsg::data)) {
      r.stats->packets_recv.add(1);
      r.stats->last_data_recv.set(net.now);
      got.push_back(load_le<std::uint32_t>(inner->body.data()));
    }
    if (!std::exchange(h.proven, true)) {
      Outbox out;
      note(sessions->on_proven(net.now, {d.src, r.epoch, f->header.key_epoch}, out));
      apply(out);
    }
    return;
  }
  ++undecryptable;
}

inline void Side::receive(const Datagram& d) {
  const auto kind = wire::classify_session_payload(d.payload);
  if (!kind) return;
  Outbox out;
  switch (*kind) {
    case wire::SessionKind::sealed:
      return open(d);
    case wire::SessionKind::setup:
      note(sessions->on_setup(net.now, d.src, d.via, d.payload, out));
      break;
    case wire::SessionKind::ack:
      note(sessions->on_ack(net.now, d.src, d.payload, out));
      break;
    case wire::SessionKind::msg3:
      note(sessions->on_msg3(net.now, d.src, d.payload, out));
      break;
    case wire::SessionKind::signal:
      note(sessions->on_signal(net.now, d.src, d.payload, out));
      break;
  }
  apply(out);
}

inline void Side::apply(Outbox& out) {
  for (auto& e : sessions->take_events()) events.push_back(std::move(e));
  for (auto& e : out.take()) {
    if (auto* all = std::get_if<ToAll>(&e)) {
      if (auto* s = std::get_if<SetSession>(&all->command)) {
        ++set_sessions;
        sending.insert_or_assign(s->send.remote, s->send);
      } else if (auto* d = std::get_if<DropSession>(&all->command)) {
        sending.erase(d->remote);
      }
    } else if (auto* in = std::get_if<ToEncrypt>(&e)) {
      auto& packet = std::get<InjectTun>(in->command).packet;
      const auto to = NodeAddr::from(Bytes{packet}.subspan(4));
      ASSERT_TRUE(sending.contains(to)) << "injected before the workers had the session";
      seal(to, wire::SessionMsg::data, packet);
    } else if (auto* home = std::get_if<ToHome>(&e)) {
      auto& c = home->command;
      if (auto* r = std::get_if<AddSessionRecv>(&c)) {
        halves[r->recv.remote].push_back({std::move(r->recv)});
      } else if (auto* x = std::get_if<DropSessionRecv>(&c)) {
        const auto n =
            std::erase_if(halves[x->remote], [&](const Half& h) { return h.recv.epoch == x->epoch; });
        EXPECT_EQ(n, 1U) << "dropped a half that was never there";
      } else if (auto* cut = std::get_if<SessionCutover>(&c)) {
        current[cut->remote] = cut->epoch;
        for (auto& h : halves[cut->remote]) h.recv.stats->epoch_frames_recv.set(0);
      } else if (auto* send = std::get_if<SendLink>(&c)) {
        Bytes m{send->message};
        net.post({{}, 0, addr(), NodeAddr::from(m), addr(), Buffer(m.begin() + 16, m.end())});
      } else if (auto* own = std::get_if<SendSession>(&c)) {
        seal(own->remote, static_cast<wire::SessionMsg>(own->type), own->body);
      }
    }
  }
}

/// The smaller address first: the one that stays initiator when both ask.
inline std::pair<Side*, Side*> two(Net& net, const Settings& s = {}) {
  Side* a = &net.add(1, s);
  Side* b = &net.add(2, s);
  if (b->addr() < a->addr()) std::swap(a, b);
  return {a, b};
}

inline std::vector<std::uint32_t> numbers(std::uint32_t n) {
  std::vector<std::uint32_t> out(n);
  for (std::uint32_t i = 0; i < n; ++i) out[i] = i;
  return out;
}

/// Numbers flow both ways all the time; every one must arrive, whatever happens to the handshakes.
struct Traffic {
  Net& net;
  Side& a;
  Side& b;
  std::uint32_t n = 0;

  void run(Duration span, Duration every = 10ms) {
    net.run(span, every, [this] {
      a.send_number(n, b);
      b.send_number(n, a);
      ++n;
    });
  }
  void expect_all() {
    net.run(5s);
    EXPECT_EQ(a.got.size(), n);
    EXPECT_EQ(b.got.size(), n);
  }
};

inline Settings quick() {
  Settings s;
  s.rekey_after = 16s;
  return s;
}

}  // namespace weft::session::rig
