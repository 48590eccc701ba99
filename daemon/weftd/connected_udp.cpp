#include "weftd/connected_udp.h"

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace weft::daemon {
namespace {

constexpr Duration kSettle = 1s;  // after a move; a peer on the move changes its address more than once
constexpr Duration kLongestBackoff = 60s;
constexpr Duration kProved = 60s;  // a socket that lived so long owes nothing to its forerunners
constexpr Duration kLimitWait = 30s;
constexpr rlim_t kMostDescriptors = 65536;

bool is_out_of_descriptors(int error) { return error == EMFILE || error == ENFILE; }

}  // namespace

std::size_t descriptors_for_links(std::size_t fixed) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  const rlim_t want = std::min(limit.rlim_max, kMostDescriptors);
  if (limit.rlim_cur < want) {
    const rlimit more{want, limit.rlim_max};
    if (setrlimit(RLIMIT_NOFILE, &more) == 0) limit = more;
  }
  return limit.rlim_cur > fixed ? static_cast<std::size_t>(limit.rlim_cur) - fixed : 0;
}

void ConnectedUdp::pass(Instant now, Broadcast& command) {
  if (const auto* drop = std::get_if<DropLink>(&command)) {
    const auto it = links_.find(drop->link);
    if (it == links_.end()) return;
    give_up(it->second, "the link is gone");
    links_.erase(it);
    return;
  }
  auto* set = std::get_if<SetLink>(&command);
  if (set == nullptr) return;
  auto [it, fresh] = links_.try_emplace(set->send.link);
  Link& link = it->second;
  const bool moved = !fresh && (link.send.to != set->send.to || link.send.transport != set->send.transport);
  if (moved) {
    if (link.lease != nullptr) ++count_.moved;
    give_up(link, "the peer has just moved");
    link.try_at = now + kSettle;
  }
  link.send = set->send;
  if (link.lease == nullptr) open(now, link);
  set->send.socket = link.lease;
}

void ConnectedUdp::open(Instant now, Link& link) {
  const std::size_t at = link.send.transport.value;
  if (!settings_.on || at >= ports_.size() || ports_[at].sockets.empty() || !ports_[at].steered) {
    link.why = settings_.on ? "this transport cannot" : "switched off (weft.dataplane.connected_udp)";
    return;
  }
  if (now < link.try_at || now < limit_until_) return;
  if (link.silent && link.send.stats->last_recv.get() <= link.opened_at) return;
  const auto fail = [&](const std::string& why, int error) {
    const bool limit = error == 0 || is_out_of_descriptors(error);
    ++(limit ? count_.refused : count_.failed);
    link.why = why;
    wait_longer(now, link);
    if (!limit) return log_(Level::debug, "connected", "{}", why);
    limit_until_ = now + kLimitWait;
    if (!std::exchange(limit_told_, true))
      log_(Level::warn, "connected",
           "{} links have a socket of their own and there are no descriptors for more; the others share the "
           "listening "
           "socket. Raise the limit of open files (LimitNOFILE= of the service) if that costs speed",
           open_);
  };
  if (open_ >= settings_.most) return fail("the limit of open files is reached", 0);
  // The kernel would give one of two sockets for the same address everything: that of the link which is alive.
  if (const auto other = by_peer_.find({link.send.transport, link.send.to}); other != by_peer_.end()) {
    const auto it = links_.find(other->second);
    if (it != links_.end() && &it->second != &link) {
      const bool had_one = link.opened_at != Instant{};
      if (had_one && link.send.stats->last_recv.get() <= it->second.send.stats->last_recv.get()) {
        link.try_at = now + kLongestBackoff;
        return;
      }
      give_up(it->second, "a newer link has the same address");
      it->second.try_at = now + kLongestBackoff;
      tell(it->second);
    }
  }
  auto socket = io::UdpSocket::open(ports_[at].options);
  if (!socket) return fail(socket.error().text, socket.error().code);
  if (const auto ok = socket->connect(link.send.to); !ok) return fail(ok.error().text, ok.error().code);

  by_peer_[{link.send.transport, link.send.to}] = link.send.link;
  link.lease = std::make_shared<SendLease>(
      std::make_shared<LinkSocket>(std::move(*socket), link.send.link, link.send.transport, link.send.to));
  link.opened_at = now;
  link.silent = false;
  link.why.clear();
  ++open_;
  ++count_.opened;
}

void ConnectedUdp::wait_longer(Instant now, Link& link) {
  link.backoff = std::clamp(link.backoff * 2, Duration{1s}, kLongestBackoff);
  link.try_at = now + link.backoff;
}

void ConnectedUdp::give_up(Link& link, std::string why) {
  if (link.lease == nullptr) return;
  const auto& s = link.lease->socket();
  log_(Level::debug, "connected", "link {} to {} goes back to the listening socket: {}", link.send.link.value,
       s.peer.text(), why);
  const auto it = by_peer_.find({s.transport, s.peer});
  if (it != by_peer_.end() && it->second == link.send.link) by_peer_.erase(it);
  link.lease.reset();
  link.why = std::move(why);
  --open_;
}

void ConnectedUdp::tell(const Link& link) {
  SetLink set{link.send};
  set.send.socket = link.lease;
  to_all_(set);
}

void ConnectedUdp::on_tick(Instant now) {
  if (!settings_.on) return;
  for (auto& [id, link] : links_) {
    if (link.lease == nullptr) {
      open(now, link);
      if (link.lease != nullptr) tell(link);
      continue;
    }
    const auto& s = link.lease->socket();
    if (const int error = s.trouble.load(std::memory_order_relaxed); error != 0) {
      ++count_.spoiled;
      if (now - link.opened_at > kProved) link.backoff = {};
      wait_longer(now, link);
      give_up(link, std::string("sending failed: ") + std::strerror(error));
      tell(link);
    } else if (now - std::max(link.send.stats->last_recv.get(), link.opened_at) > settings_.silence) {
      ++count_.silent;
      link.silent = true;
      link.opened_at = now;  // heard since then
      give_up(link, "nothing was heard for a while");
      tell(link);
    }
  }
}

/// Bound to every address, it kept the one that was right when it was connected.
bool ConnectedUdp::stale_source(const Link& link) const {
  if (!ports_[link.send.transport.value].options.bind.is_any()) return false;
  auto now = io::source_towards(link.send.to);
  const auto then = link.lease->socket().udp.local();
  now.port = then.port;
  return now.is_set() && now != then;
}

void ConnectedUdp::on_network_change(Instant now) {
  if (!settings_.on) return;
  for (auto& [id, link] : links_) {
    if (link.lease == nullptr) {
      link.try_at = std::min(link.try_at, now + kSettle);
      link.backoff = {};
      continue;
    }
    link.lease->socket().udp.hope_for_offload();
    if (!stale_source(link)) continue;
    ++count_.readdressed;
    give_up(link, "this machine's address has changed");
    link.try_at = now;
    open(now, link);
    tell(link);
  }
}

std::size_t ConnectedUdp::without_offload() const {
  return static_cast<std::size_t>(std::ranges::count_if(links_, [](const auto& l) {
    return l.second.lease && l.second.lease->socket().udp.offload_refused();
  }));
}

control::LinkSocketView ConnectedUdp::view(LinkId id) const {
  const auto it = links_.find(id);
  if (it == links_.end()) return {};
  control::LinkSocketView v;
  const auto& lease = it->second.lease;
  v.connected = lease != nullptr && lease->socket().trouble.load(std::memory_order_relaxed) == 0;
  if (v.connected) v.local_addr = lease->socket().udp.local().text();
  v.why = it->second.why;
  return v;
}

control::ConnectedUdpView ConnectedUdp::totals() const {
  auto v = count_;
  v.on = settings_.on;
  v.open = open_;
  return v;
}

}  // namespace weft::daemon
