#include "weftd/link_sockets.h"

#include <algorithm>
#include <cerrno>

namespace weft::daemon {

bool LinkSockets::on_command(const Command& command) {
  if (const auto* drop = std::get_if<DropLink>(&command)) {
    give_up(drop->link);
    return false;
  }
  const auto* set = std::get_if<SetLink>(&command);
  if (set == nullptr) return false;
  const LinkSend& send = set->send;
  const auto it = by_link_.find(send.link);
  const LinkSocket* now = it == by_link_.end() ? nullptr : slots_[it->second]->socket.get();
  const LinkSocket* next = own_socket(send);
  if (next == now) return false;
  if (now != nullptr) give_up(send.link);
  return next != nullptr && send.home == home_ && take(static_cast<const SendLease&>(*send.socket));
}

bool LinkSockets::take(const SendLease& lease) {
  const auto free = std::ranges::find_if(slots_, [](const auto& s) { return s == nullptr; });
  const auto at = static_cast<std::size_t>(free - slots_.begin());
  if (free == slots_.end()) slots_.emplace_back();
  slots_[at] = std::make_unique<Slot>();
  slots_[at]->socket = lease.shared();
  by_link_[lease.socket().link] = at;
  ++waiting_;
  return true;
}

void LinkSockets::open(std::size_t at) {
  Slot& s = *slots_[at];
  s.waiting = false;
  --waiting_;
  if (poll_.add(s.socket->udp.fd(), first_tag_ + at)) return;
  // Nobody would ever look at it, so it must go; the listening socket takes over once it is parked.
  s.socket->trouble.store(ENOSPC, std::memory_order_relaxed);
  give_up(s.socket->link);
}

void LinkSockets::listening_read(TransportId transport, bool empty) {
  if (waiting_ == 0) return;
  for (std::size_t at = 0; at < slots_.size(); ++at) {
    Slot* s = slots_[at].get();
    if (s == nullptr || !s->waiting || s->socket->transport != transport) continue;
    if (empty || ++s->held >= kMostHeld) open(at);
  }
}

void LinkSockets::ready(std::uint64_t tag) {
  const auto at = static_cast<std::size_t>(tag - first_tag_);
  if (at >= slots_.size() || !slots_[at] || slots_[at]->queued) return;
  slots_[at]->queued = true;
  ready_.push_back(at);
}

void LinkSockets::give_up(LinkId link) {
  const auto it = by_link_.find(link);
  if (it == by_link_.end()) return;
  slots_[it->second]->retiring = true;
  ++retiring_;
  by_link_.erase(it);
}

bool LinkSockets::step_back(Instant now, Slot& s) {
  if (s.parked) {
    s.done = now >= s.close_at;
    return s.done;
  }
  if (!s.socket->released.load(std::memory_order_acquire)) return false;
  s.parked = true;
  // A socket that cannot be parked has lost its address: nothing can arrive there.
  s.close_at = s.socket->udp.park() ? now + kGrace : now;
  return true;
}

void LinkSockets::close(std::unique_ptr<Slot>& slot) {
  if (slot->waiting) --waiting_;
  else poll_.remove(slot->socket->udp.fd());
  --retiring_;
  slot.reset();
}

int LinkSockets::patience(Instant now) const {
  Duration wait = kGrace;
  for (const auto& s : slots_) {
    if (!s || !s->retiring) continue;
    // The other workers are awake and about to let go: the command that tells them to woke them.
    wait = std::min<Duration>(wait, s->parked ? s->close_at - now : std::chrono::milliseconds(2));
  }
  return static_cast<int>(std::clamp<std::int64_t>(to_ms(wait) + 1, 0, 50));
}

}  // namespace weft::daemon
