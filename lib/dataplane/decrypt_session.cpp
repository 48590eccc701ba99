#include "dataplane/decrypt_impl.h"
#include "dataplane/icmp6.h"
#include "dataplane/ip6.h"
#include "dataplane/mss.h"

namespace weft {
namespace {
constexpr Duration kPathMtuEvery = 100ms;
}

SessionHome* DecryptShard::Impl::session_home(const NodeAddr& remote) {
  if (last_session != nullptr && last_session->remote == remote) return last_session;
  const auto it = sessions.find(remote);
  return it == sessions.end() ? nullptr : last_session = &it->second;
}

void DecryptShard::Impl::on_sealed_session(bool ce, MutBytes message, const wire::Envelope& e,
                                           SessionHome& session) {
  const auto sealed = wire::decode_sealed_session(e.payload);
  if (!sealed) return stats.drops.add(sealed.error());
  if (sealed->ciphertext.size() < wire::kTag) return stats.drops.add(Drop::too_short);
  const SessionEntry* known = tables.session(session.remote);
  Inner m;
  m.message = *sealed;
  m.text =
      message.subspan(message.size() - sealed->ciphertext.size(), sealed->ciphertext.size() - wire::kTag);
  m.session = &session;
  m.path_mtu = e.path_mtu;
  m.ttl = e.ttl;
  m.ce = ce;
  m.newer_first = known != nullptr && sealed->header.key_epoch != known->send.k;
  inner.push_back(m);
}

/// Chooses the next half whose window takes the counter; false when there is none left.
bool DecryptShard::Impl::next_try(Inner& m) {
  while (SessionHalf* half = m.session->candidate(m.tries, m.newer_first)) {
    const auto no = half->recv.window.check(m.message.header.counter);
    ++m.tries;
    if (!no) {
      m.half = half;
      m.why = Drop::undecryptable;
      return true;
    }
    if (m.half == nullptr) m.why = *no;  // no key was tried: say what kept us from it
  }
  return false;
}

void DecryptShard::Impl::open_sessions(Instant now, ShardIo& io) {
  if (inner.empty()) return;
  {
    const auto t = timed(Stage::session_open, inner.size());
    do {
      jobs.clear();
      tried.clear();
      for (std::uint32_t i = 0; i < inner.size(); ++i) {
        Inner& m = inner[i];
        if (m.open || m.refused) continue;
        if (!next_try(m)) {
          m.refused = true;
          stats.drops.add(m.why);
          continue;
        }
        jobs.push_back({&m.half->recv.key, m.message.header.counter, m.message.aad, m.text.data(),
                        m.text.size(), m.text.data() + m.text.size(), false});
        tried.push_back(i);
      }
      if (jobs.empty()) break;
      opts.aead->open(jobs);
      for (std::size_t i = 0; i < jobs.size(); ++i) inner[tried[i]].open = jobs[i].ok;
    } while (true);
  }
  for (Inner& m : inner)
    if (m.open) on_session_message(now, m, io);
  inner.clear();
}

void DecryptShard::Impl::on_session_message(Instant now, Inner& m, ShardIo& io) {
  SessionHalf& half = *m.half;
  const std::uint64_t counter = m.message.header.counter;
  const bool newest = !half.proven || counter > half.recv.window.highest();
  if (const auto no = half.recv.window.accept(counter)) return stats.drops.add(*no);
  if (!half.proven)
    half.proven = punt(PuntSessionProven{half.recv.remote, half.recv.epoch, m.message.header.key_epoch}, io);
  report_coords(now, m, io);
  const auto in = wire::decode_session_inner(m.text);
  if (!in) return stats.drops.add(in.error());
  account(now, m, *in, newest, io);
  const auto type = wire::session_msg_of(in->type);
  if (!type) return stats.drops.add(type.error());
  if (*type == wire::SessionMsg::coords_warmup) return;  // its coordinates were all it had
  if (*type == wire::SessionMsg::data) return on_data(now, m, m.text.subspan(wire::kSessionInner), io);
  punt(PuntSessionMessage{half.recv.remote, half.recv.epoch, in->type,
                          Buffer(in->body.begin(), in->body.end())},
       io);
}

void DecryptShard::Impl::report_coords(Instant now, const Inner& m, ShardIo& io) {
  const wire::SealedSession& s = m.message;
  if (!s.header.coords) return;
  const bool from = s.from.belongs_to(m.session->remote);
  const bool to = s.to.belongs_to(opts.self);
  if ((!s.from.empty() && !from) || (!s.to.empty() && !to)) stats.drops.add(Drop::warm_mismatch);
  if (!from && !to) return;
  if (!m.session->coords.take(now)) return stats.drops.add(Drop::warm_rate);
  punt(PuntCoords{m.session->remote, opts.self, from ? s.from.path() : wire::Path{},
                  to ? s.to.path() : wire::Path{}},
       io);
}

void DecryptShard::Impl::account(Instant now, const Inner& m, const wire::SessionInner& in, bool newest,
                                 ShardIo& io) {
  SessionHome& home = *m.session;
  SessionStats& st = *home.stats;
  if (m.ce) st.ce_recv.add(1);
  if (home.current == m.half->recv.epoch) {
    const std::uint64_t counter = m.message.header.counter;
    home.meter.on_frame(counter, in.timestamp, m.text.size(), m.ce, now);
    home.spin.on_frame(counter, in.spin);
    st.spin.store(home.spin.bit(), std::memory_order_relaxed);
    st.epoch_frames_recv.add(1);
    st.epoch_highest.set(m.half->recv.window.highest());
  } else if (m.half->recv.epoch < home.current) {
    st.older_epoch_recv.set(now);
  }
  if (!newest) return;
  st.last_path_mtu.set(m.path_mtu);
  st.last_ttl.set(m.ttl);
  if (m.path_mtu == wire::kMtuUnknown || m.path_mtu == 0 || m.path_mtu == home.told_mtu) return;
  if (home.told_mtu != 0 && now - home.told_mtu_at < kPathMtuEvery) return;  // the next message says it again
  if (!punt(PuntPathMtu{home.remote, m.path_mtu}, io)) return;
  home.told_mtu = m.path_mtu;
  home.told_mtu_at = now;
}

void DecryptShard::Impl::on_data(Instant now, const Inner& m, MutBytes body, ShardIo& io) {
  const auto data = wire::decode_data_packet(body);
  if (!data) return stats.drops.add(data.error());
  SessionStats& st = *m.session->stats;
  st.last_data_recv.set(now);
  st.packets_recv.add(1);
  st.bytes_recv.add(body.size());
  if (data->to_port != wire::kPortShim) return stats.drops.add(Drop::unknown_port);
  const auto header = wire::ip6_header_of(data->payload, m.session->mesh, self_mesh);
  if (!header) return stats.drops.add(header.error());
  // The outer headers are longer than what was left out of this one, so it fits in front of its payload.
  const MutBytes rest = body.subspan(wire::kPortHeader + wire::kShimHeader);
  std::uint8_t* packet = rest.data() - wire::kIp6Header;
  std::memcpy(packet, header->data(), wire::kIp6Header);
  const MutBytes whole(packet, wire::kIp6Header + rest.size());
  if (whole[6] == ip6::kIcmp && is_probe_reply(now, m.session->remote, whole, io)) return;
  if (!tables.local().tun) return stats.drops.add(Drop::no_tun);
  if (m.ce) {
    stats.forwarding.ce_received.add(1);
    wire::mark_congested(whole);
  }
  const SessionEntry* known = tables.session(m.session->remote);
  const std::uint16_t mtu = known != nullptr ? known->send.path_mtu : wire::kMtuUnknown;
  if (clamp_mss(whole, mss_ceiling(tables.local().transport_mtu,
                                   mtu != wire::kMtuUnknown ? std::optional(mtu) : std::nullopt)))
    stats.mss_clamped.add(1);
  if (slows_sender(now, st, whole)) return;
  joiner.add(whole);
}

/// True when the packet is not to go on, so that its sender sees that there is a queue here.
bool DecryptShard::Impl::slows_sender(Instant now, const SessionStats& session, MutBytes packet) {
  if (!queue.owes() || !ip6::carries_tcp_data(packet)) return false;
  if (!queue.signal(now, Duration(session.rtt_ns.get()))) return false;
  const bool marked = wire::mark_congested(packet);
  (marked ? stats.queue_marked : stats.queue_dropped).add(1);
  return !marked;
}

/// An echo reply that begins with our mark is the core's, and no program of this machine waits for it.
bool DecryptShard::Impl::is_probe_reply(Instant now, const NodeAddr& remote, Bytes packet, ShardIo& io) {
  const std::uint64_t mark = tables.local().echo_mark;
  if (mark == 0 || packet.size() < wire::kIp6Header + kEchoHeader + sizeof mark) return false;
  const std::uint8_t* icmp = packet.data() + wire::kIp6Header;
  if (icmp[0] != kEchoReply || load_le<std::uint64_t>(icmp + kEchoHeader) != mark) return false;
  punt(PuntEcho{remote, static_cast<std::uint16_t>(icmp[6] << 8U | icmp[7]),
                static_cast<std::uint16_t>(packet.size()), now},
       io);
  return true;
}

void DecryptShard::Impl::write_tun(ShardIo& io) {
  if (joiner.size() == 0) return;
  const auto t = timed(Stage::tun_write, joiner.size());
  offload::Coalescer::Write w;
  while (joiner.next(w))
    if (!io.tun.write(w.vnet, w.pieces)) stats.drops.add(Drop::tun_write_failed, w.packets);
}

}  // namespace weft
