/// Two or more Links objects with pretended workers and a wire that tests can break. For *_test.cpp only.
#pragma once

#include <deque>
#include <functional>

#include "link/links.h"
#include "wire/link_frame.h"

namespace weft::link {

/// What the data plane does, without sealing: a "frame" is delivered when somebody holds the receiving half of its index.
struct World {
  struct Side {
    std::string name;
    SeededRng rng;
    NullLog log;
    DropCounters drops;
    crypto::Identity self;
    Endpoint at;
    std::unique_ptr<Links> links;
    std::map<SessionIndex, LinkRecv> halves;      // what the home worker would hold
    std::set<SessionIndex> proven;
    std::map<LinkId, LinkSend> sends;
    std::vector<Event> events;
    std::uint64_t frames_in = 0, unknown = 0;
    bool speaks_weft = true;                      // false: neither sends nor hears hellos, as a reference node
    std::optional<std::string> acl_rule;

    Side(std::string n, std::uint64_t seed, crypto::Identity id, Endpoint e)
        : name(std::move(n)), rng(seed), self(std::move(id)), at(e) {}
    template <class E>
    int count() const {
      return static_cast<int>(std::ranges::count_if(events, [](const auto& x) { return std::holds_alternative<E>(x); }));
    }
    const Peer* peer_of(const Side& other) const { return links->find(other.self.addr()); }
  };
  struct Flight {
    Instant at;
    std::uint64_t order;
    std::string from, to;
    Endpoint source;
    Buffer handshake;                              // or
    std::optional<std::pair<SessionIndex, bool>> frame;  // receiver index and K
    Buffer message;
  };

  Now now{Instant{} + 1000s, 1'700'000'000'000};
  std::map<std::string, std::unique_ptr<Side>> sides;
  std::deque<Flight> air;
  std::uint64_t order = 0;
  Duration delay = 5ms;
  /// True: this handshake frame is lost.
  std::function<bool(const Flight&)> lose = [](const Flight&) { return false; };
  std::vector<Flight> recorded;

  Side& add(const std::string& name, std::uint8_t secret, Settings settings = {}) {
    std::array<std::uint8_t, 32> s{};
    s[31] = secret;
    auto id = crypto::Identity::from_bytes(s);
    auto side = std::make_unique<Side>(name, secret, std::move(*id), Endpoint::v4({10, 0, 0, secret}, 2121));
    Side& x = *side;
    sides[name] = std::move(side);
    boot(x, settings);
    return x;
  }
  /// (Re)starts a side: a new startup epoch, nothing remembered.
  void boot(Side& x, Settings settings = {}) {
    StartupEpoch e;
    x.rng.fill(e.bytes);
    x.halves.clear();
    x.proven.clear();
    x.sends.clear();
    x.links = std::make_unique<Links>(settings, x.self, e, x.rng, x.log, x.drops, [&x](const PublicKey&) { return x.acl_rule; });
    Transport t;
    t.id = TransportId{1};
    t.local = x.at;
    x.links->set_transports({t});
  }
  Side* at(const Endpoint& e) {
    for (auto& [n, s] : sides)
      if (s->at == e) return s.get();
    return nullptr;
  }
  void dial(Side& from, Side& to) {
    Outbox out;
    ASSERT_TRUE_OR_DIE(from.links->dial(now, to.self.key(), TransportId{1}, to.at, out).has_value());
    carry(from, out);
  }
  static void ASSERT_TRUE_OR_DIE(bool ok) {
    if (!ok) std::abort();
  }

  void carry(Side& x, Outbox& out) {
    for (auto& e : out.take()) {
      if (auto* raw = std::get_if<RawSend>(&e)) fly(x, raw->to, raw->frame, std::nullopt, {});
      if (auto* all = std::get_if<ToAll>(&e)) {
        if (auto* set = std::get_if<SetLink>(&all->command)) x.sends[set->send.link] = set->send;
        if (auto* drop = std::get_if<DropLink>(&all->command)) {
          x.sends.erase(drop->link);
          std::erase_if(x.halves, [&](const auto& h) { return h.second.link == drop->link; });
        }
      }
      if (auto* home = std::get_if<ToHome>(&e)) {
        if (auto* add = std::get_if<AddLinkRecv>(&home->command)) {
          const auto index = add->recv.our_index;
          x.halves.emplace(index, std::move(add->recv));
        }
        if (auto* drop = std::get_if<DropLinkRecv>(&home->command)) x.halves.erase(drop->our_index);
        if (auto* say = std::get_if<SendLink>(&home->command)) send(x, say->link, std::move(say->message));
      }
    }
    for (auto& e : x.links->take_events()) x.events.push_back(e);
  }
  void fly(Side& x, const Endpoint& to, Buffer handshake, std::optional<std::pair<SessionIndex, bool>> frame, Buffer message) {
    Side* dest = at(to);
    Flight f{now.mono + delay, order++, x.name, dest ? dest->name : "", x.at, std::move(handshake), frame, std::move(message)};
    recorded.push_back(f);
    if (dest && !lose(f)) air.push_back(std::move(f));
  }
  /// One sealed frame over a link, if it is there.
  void send(Side& x, LinkId link, Buffer message) {
    const auto it = x.sends.find(link);
    if (it == x.sends.end() || (!x.speaks_weft && !message.empty() && message[0] == 0xe0)) return;
    it->second.key->next.fetch_add(1);
    fly(x, it->second.to, {}, std::pair{it->second.their_index, it->second.k}, std::move(message));
  }
  void send_data(Side& from, Side& to) {
    if (const Peer* p = from.peer_of(to)) send(from, p->link, {0x00});
  }
  void deliver(Flight f) {
    Side& x = *sides.at(f.to);
    Outbox out;
    if (!f.frame) {
      x.links->on_handshake(now, {TransportId{1}, f.source, f.handshake}, out);
      return carry(x, out);
    }
    const auto h = x.halves.find(f.frame->first);
    if (h == x.halves.end()) {
      ++x.unknown;
      return;
    }
    ++x.frames_in;
    h->second.stats->last_recv.set(now.mono);
    h->second.stats->k_recv.set(f.frame->second ? 1 : 0);
    const LinkId link = h->second.link;
    const SessionIndex index = h->first;
    if (x.proven.insert(index).second) x.links->on_proven(now, {link, index, f.frame->second}, out);
    const auto* sent = x.links->find(link);
    if (sent && sent->to != f.source) x.links->on_moved(now, {link, TransportId{1}, f.source}, out);
    if (!f.message.empty() && f.message[0] == 0x50)
      if (const auto d = wire::decode_disconnect(f.message)) x.links->on_disconnect(now, link, d->reason, out);
    if (!f.message.empty() && f.message[0] == 0xe0 && x.speaks_weft)
      if (const auto m = wire::decode_hello(f.message)) x.links->on_hello(now, link, *m, out);
    carry(x, out);
  }
  /// Lets time pass; `each` runs every `step`.
  void run(Duration span, Duration step = 1s, const std::function<void()>& each = [] {}) {
    const Instant end = now.mono + span;
    Instant tick = now.mono + step;
    while (true) {
      Instant next = std::min(end, tick);
      for (auto& f : air) next = std::min(next, f.at);
      for (auto& [n, s] : sides)
        if (const auto d = s->links->deadline()) next = std::min(next, std::max(*d, now.mono));
      now.unix_ms += to_ms(next - now.mono);
      now.mono = next;
      while (true) {
        const auto it = std::ranges::min_element(air, {}, [](const Flight& f) { return std::pair{f.at, f.order}; });
        if (it == air.end() || it->at > now.mono) break;
        Flight f = std::move(*it);
        air.erase(it);
        deliver(std::move(f));
      }
      for (auto& [n, s] : sides) {
        Outbox out;
        s->links->on_deadline(now, out);
        carry(*s, out);
      }
      if (now.mono >= tick) {
        tick += step;
        each();
      }
      if (now.mono >= end) return;
    }
  }
};

}  // namespace weft::link
