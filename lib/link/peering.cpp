#include "link/peering.h"

namespace weft::link {
namespace {

constexpr std::size_t kParallel = 4;        // addresses of one peer dialled at once
constexpr std::size_t kMaxTickets = 1024;

bool is_supported(std::string_view kind) { return kind == "udp"; }

}  // namespace

std::optional<TransportId> Peering::transport_for(std::string_view kind, std::optional<std::string_view> name,
                                                  const Endpoint& to) const {
  for (const auto& t : links_.transports()) {
    if (!t.up || t.kind != kind || t.local.family != to.family) continue;
    if (name && t.name != *name) continue;
    return t.id;
  }
  return std::nullopt;
}

void Peering::set(Now now, std::vector<Wanted> wanted, Outbox& out) {
  std::map<PublicKey, State> next;
  for (auto& w : wanted) {
    const PublicKey key = w.key;
    State s;
    if (const auto old = wanted_.find(key); old != wanted_.end()) s = old->second;
    s.want = std::move(w);
    next.insert_or_assign(key, std::move(s));
  }
  for (const auto& [key, s] : wanted_)
    if (!next.contains(key)) due_.clear(key);
  std::swap(wanted_, next);
  for (auto& [key, s] : wanted_) {
    const bool fresh = !next.contains(key) || next.at(key).want.addresses.size() != s.want.addresses.size();
    s.up = links_.find(crypto::node_addr_of(key)) != nullptr;
    if (!s.want.auto_connect) due_.clear(key);
    else if (!s.up && fresh) dial_all(now, key, s, out);
  }
}

void Peering::add(Now now, Wanted wanted, Outbox& out) {
  const PublicKey key = wanted.key;
  State& s = wanted_[key];
  s.want = std::move(wanted);
  s.up = links_.find(crypto::node_addr_of(key)) != nullptr;
  s.failures = 0;
  if (s.want.auto_connect && !s.up) dial_all(now, key, s, out);
}

bool Peering::remove(const PublicKey& key) {
  due_.clear(key);
  return wanted_.erase(key) != 0;
}

void Peering::on_deadline(Now now, Outbox& out) {
  while (const auto key = due_.pop_due(now.mono)) {
    const auto it = wanted_.find(*key);
    if (it == wanted_.end() || it->second.up || stopped_) continue;
    dial_all(now, *key, it->second, out);
  }
}

void Peering::dial_all(Now now, const PublicKey& key, State& s, Outbox& out) {
  s.last_try = now.mono;
  s.trouble.clear();
  later(now, key, s);  // a dial that ends, well or badly, sets this anew
  if (s.want.addresses.empty()) {
    s.trouble = "no address is configured for it; it must dial us";
    return;
  }
  auto addresses = s.want.addresses;
  std::ranges::stable_sort(addresses, {}, &config::PeerAddress::priority);
  std::size_t tried = 0;
  for (const auto& a : addresses) {
    if (!is_supported(a.kind())) {
      s.trouble = "transport " + std::string(a.kind()) + " is not supported yet";
      continue;
    }
    if (++tried > kParallel) break;
    if (const auto to = Endpoint::parse(a.addr)) {
      dial_one(now, s, a, *to, out);
    } else if (const auto hp = HostPort::parse(a.addr); hp && tickets_.size() < kMaxTickets) {
      tickets_[next_ticket_] = {key, a, hp->port};
      out.push(Resolve{next_ticket_++, hp->host});
    } else {
      s.trouble = "\"" + a.addr + "\" is not HOST:PORT";
    }
  }
}

void Peering::dial_one(Now now, State& s, const config::PeerAddress& a, const Endpoint& to, Outbox& out) {
  if (std::ranges::find(s.endpoints, to) == s.endpoints.end()) {
    s.endpoints.push_back(to);
    if (s.endpoints.size() > 8) s.endpoints.erase(s.endpoints.begin());
  }
  const auto t = transport_for(a.kind(), a.instance(), to);
  if (!t) {
    s.trouble = "no transport is up for " + a.transport + " to " + to.text() + " (is there one for its address family?)";
    return;
  }
  if (const auto r = links_.dial(now, s.want.key, *t, to, out); !r) s.trouble = r.error();
}

void Peering::on_resolved(Now now, std::uint64_t ticket, const std::vector<Endpoint>& endpoints, const std::string& error,
                          Outbox& out) {
  const auto node = tickets_.extract(ticket);
  if (node.empty()) return;
  const Ticket& t = node.mapped();
  const auto it = wanted_.find(t.key);
  if (it == wanted_.end() || it->second.up || stopped_) return;
  if (endpoints.empty()) {
    it->second.trouble = "cannot resolve " + t.address.addr + ": " + error;
    log_(Level::warn, "resolve", "{}: cannot resolve {}: {}", crypto::short_npub_of(t.key), t.address.addr, error);
    return;
  }
  std::size_t tried = 0;
  for (Endpoint e : endpoints) {
    e.port = t.port;
    if (!transport_for(t.address.kind(), t.address.instance(), e)) continue;
    dial_one(now, it->second, t.address, e, out);
    if (++tried == 2) break;  // one of each family
  }
  if (tried == 0) dial_one(now, it->second, t.address, endpoints.front(), out);  // says what is missing
}

void Peering::on_up(const PublicKey& key) {
  const auto it = wanted_.find(key);
  if (it == wanted_.end()) return;
  it->second.up = true;
  it->second.failures = 0;
  it->second.trouble.clear();
  due_.clear(key);
}

void Peering::on_down(Now now, const PublicKey& key, End why) {
  const auto it = wanted_.find(key);
  if (it == wanted_.end()) return;
  State& s = it->second;
  s.up = false;
  if (stopped_ || why == End::operator_asked || !s.want.auto_connect || !s.want.auto_reconnect) return due_.clear(key);
  s.failures = 0;
  // A goodbye or a restart means that somebody is there: ask again within moments. Silence is retried at once as well,
  // and then ever more slowly.
  const auto soon = std::chrono::milliseconds(rng_.between(200, 800));
  due_.set(key, now.mono + (why == End::disconnected ? Duration{soon} + 1s : Duration{soon}));
}

void Peering::on_dial_ended(Now now, const PublicKey& key, const Endpoint& to, End why) {
  const auto it = wanted_.find(key);
  if (it == wanted_.end() || it->second.up || stopped_) return;
  if (links_.is_dialling(key)) return;  // another address is still being tried
  if (why == End::refused) it->second.trouble = "refused here when " + to.text() + " answered";
  ++it->second.failures;
  later(now, key, it->second);
}

void Peering::later(Now now, const PublicKey& key, State& s) {
  if (!s.want.auto_connect || stopped_) return;
  const auto shift = std::min<std::uint32_t>(s.failures, 16);
  const Duration pause = std::min<Duration>(backoff_.cap, backoff_.base * (std::int64_t{1} << shift));
  // ±25 %, so that nodes that lost each other together do not come back together.
  const auto jitter = Duration{rng_.between(-pause.count() / 4, pause.count() / 4)};
  const Duration floor = links_.is_dialling(key) || s.failures == 0 ? links_.settings().handshake_timeout : 0s;
  due_.set(key, now.mono + std::max(floor, Duration{0}) + pause + jitter);
}

void Peering::on_network_change(Now now) {
  for (auto& [key, s] : wanted_) {
    if (s.up || !s.want.auto_connect) continue;
    s.failures = 0;
    due_.set(key, now.mono);
  }
}

}  // namespace weft::link
