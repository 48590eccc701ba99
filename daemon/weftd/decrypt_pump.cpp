#include "weftd/decrypt_pump.h"

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "io/clock.h"

namespace weft::daemon {
namespace {

constexpr std::size_t kSocketSlots = 32;     // trains or single datagrams per receive call, at most
constexpr std::size_t kSocketBytes = 65535;  // one train
// What one call should bring: the last packet of a burst waits until the first ones are dealt with.
constexpr std::size_t kBurstBytes = 128 * 1024;
constexpr std::size_t kFewest = 2;

}  // namespace

DecryptPump::DecryptPump(ShardOptions o, io::TunQueue* tun, std::vector<UdpPort>& ports, StrayRings& strays,
                         io::PollSet& poll, std::uint64_t first_tag, Waker& thread, Waker& control)
    : ShardPump(poll, first_tag, thread, control, ports.size()),
      number_(o.id.value),
      ports_(ports),
      strays_(strays),
      wire_(ports, port_stats_, o.id.value),
      tun_(tun),
      shard_(std::move(o)),
      io_{wire_, tun_, lanes_, this},
      batch_(kSocketSlots, kSocketBytes),
      ready_(ports.size(), false),
      links_(poll_, first_tag_ + ports.size(), WorkerId{static_cast<std::uint32_t>(number_)}) {
  strays_.wakes(number_, thread);
  reads_.reserve(kSocketSlots);
  bool ok = true;
  for (std::size_t i = 0; i < ports_.size(); ++i)
    if (!ports_[i].sockets.empty()) ok = poll_.add(ports_[i].sockets[number_].fd(), first_tag_ + i) && ok;
  if (!ok) throw std::system_error(ENOMEM, std::generic_category(), "event descriptor");
}

void DecryptPump::apply_commands() {
  while (auto c = inbox_.pop()) {
    // What lies in the listening sockets came before what the new one will bring: they are looked at first.
    if (links_.on_command(*c)) ready_.assign(ready_.size(), true);
    shard_.apply(io::mono_now(), std::move(*c), io_);
  }
}

bool DecryptPump::hand_over(WorkerId home, StrayBurst&& burst) {
  return strays_.push(number_, home.value, std::move(burst));
}

void DecryptPump::take_strays() {
  for (std::size_t from = 0; from < strays_.senders(); ++from)
    while (auto burst = strays_.pop(from, number_)) {
      apply_commands();
      shard_.on_stray(io::mono_now(), std::move(*burst), io_);
    }
}

bool DecryptPump::receive(io::UdpSocket& socket, std::size_t port, bool& dead) {
  auto& stats = port_stats_[port];
  const auto status = socket.recv_batch(batch_, limit_);
  if (status != io::RecvStatus::ok) {
    if (status == io::RecvStatus::would_block) return false;
    stats.recv_errors.add(1);
    if (status == io::RecvStatus::gone) dead = true;
    else pause_after_error();
    return false;
  }
  reads_.clear();
  std::uint64_t packets = 0, bytes = 0;
  for (const auto& r : batch_.received()) {
    reads_.push_back({r.from, r.data, r.segment, r.truncated});
    packets += r.segment == 0 ? 1 : (r.data.size() + r.segment - 1) / r.segment;
    bytes += r.data.size();
  }
  stats.packets_recv.add(packets);
  stats.bytes_recv.add(bytes);
  stats.kernel_drops.add(socket.new_kernel_drops());
  // Fewer than could have come: the socket was empty. Poll tells if that changes.
  const bool more = reads_.size() == limit_;
  limit_ = std::clamp(kBurstBytes * reads_.size() / std::max<std::size_t>(bytes, 1), kFewest, kSocketSlots);
  apply_commands();
  shard_.on_queue(io::mono_now(), bytes, more ? socket.queued_bytes() : 0);
  shard_.on_wire(io::mono_now(), ports_[port].info.id, reads_, io_);
  return more;
}

void DecryptPump::receive_port(std::size_t port) {
  if (ports_[port].sockets.empty()) {
    ready_[port] = false;
    return;
  }
  auto& socket = ports_[port].sockets[number_];
  bool dead = false;
  ready_[port] = false;  // before the commands of this turn, which may want another look
  const bool more = receive(socket, port, dead);
  if (more) ready_[port] = true;
  links_.listening_read(ports_[port].info.id, !more);
  if (!dead) return;
  poll_.remove(socket.fd());
  mark_broken();
}

bool DecryptPump::receive_link(LinkSocket& socket) {
  bool dead = false;
  const bool more = receive(socket.udp, socket.transport.value, dead);
  if (dead) socket.trouble.store(EBADF, std::memory_order_relaxed);
  return more;
}

bool DecryptPump::turn() {
  const auto read = [this](LinkSocket& s) { return receive_link(s); };
  apply_commands();
  take_strays();
  if (links_.retiring()) links_.retire(io::mono_now(), read);
  bool more = false;
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    if (ready_[i]) receive_port(i);
    more = more || ready_[i];
  }
  return links_.read_ready(read) || more;
}

bool DecryptPump::idle() const { return inbox_.empty() && strays_.empty(number_); }

int DecryptPump::patience() const { return links_.retiring() ? links_.patience(io::mono_now()) : -1; }

void DecryptPump::on_ready(std::uint64_t tag) {
  if (links_.is_tag(tag)) links_.ready(tag);
  else ready_[tag - first_tag_] = true;
}

}  // namespace weft::daemon
