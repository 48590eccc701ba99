#include "weftd/shard_thread.h"

#include <poll.h>

#include <cerrno>
#include <system_error>

#include "io/clock.h"
#include "offload/vnet_header.h"

namespace weft::daemon {
namespace {

constexpr std::size_t kTunBurstBytes = 256 * 1024;
constexpr std::size_t kTunBurstPackets = 128;
constexpr std::size_t kSocketSlots = 16;     // trains per receive call
constexpr std::size_t kSocketBytes = 65535;  // one train

/// After an error that nobody knows: so that one which stays does not make a thread spin.
void pause() { ::poll(nullptr, 0, 1); }

}  // namespace

// ---- both -----------------------------------------------------------------------------------------------------------

ShardThread::ShardThread(std::string name, Waker& control, std::size_t ports)
    : port_stats_(ports), control_(control), inbox_(waker_), lanes_(control), name_(std::move(name)) {}

void ShardThread::start() {
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), name_.c_str());
    run();
  });
}

void ShardThread::stop() {
  if (!thread_.joinable()) return;
  while (!inbox_.flush()) std::this_thread::yield();
  stop_.store(true, std::memory_order_release);
  waker_.wake();
  thread_.join();
}

// ---- TUN to wire ----------------------------------------------------------------------------------------------------

EncryptThread::EncryptThread(ShardOptions o, io::TunQueue* queue, std::vector<UdpPort>& ports, Waker& control)
    : ShardThread("weft-enc-" + std::to_string(o.id.value), control, ports.size()),
      queue_(queue),
      wire_(ports, port_stats_, o.id.value),
      tun_(queue),
      shard_(std::move(o)),
      io_{wire_, tun_, lanes_, nullptr},
      arena_(queue == nullptr ? 0 : kTunBurstBytes + offload::kMaxSuperPacket) {
  reads_.reserve(kTunBurstPackets);
}

void EncryptThread::apply_commands() {
  while (auto c = inbox_.pop()) shard_.apply(io::mono_now(), std::move(*c), io_);
}

/// Packets behind one another in the arena, until the queue or the burst's bound is empty.
void EncryptThread::read_burst() {
  reads_.clear();
  if (queue_ == nullptr) return;
  for (std::size_t used = 0; used < kTunBurstBytes && reads_.size() < kTunBurstPackets;) {
    const MutBytes room(arena_.data() + used, offload::kMaxSuperPacket);
    const auto r = queue_->read(room);
    if (r.status == io::TunStatus::ok) {
      reads_.push_back({r.vnet, room.first(r.size)});
      used += (r.size + 63) & ~std::size_t{63};
      continue;
    }
    if (r.status == io::TunStatus::gone) {
      queue_ = nullptr;
      mark_broken();
    } else if (r.status != io::TunStatus::would_block) {
      shard_.stats().drops.add(Drop::tun_read_failed);
      pause();
    }
    return;
  }
}

void EncryptThread::run() {
  for (;;) {
    read_burst();
    const bool last = stopping();
    apply_commands();
    if (!reads_.empty()) shard_.on_tun(io::mono_now(), reads_, io_);
    if (last) return;
    if (!reads_.empty()) continue;
    std::array<pollfd, 2> fds{{{waker_.fd(), POLLIN, 0}, {queue_ != nullptr ? queue_->fd() : -1, POLLIN, 0}}};
    waker_.prepare();
    if (inbox_.empty() && !stopping()) ::poll(fds.data(), fds.size(), -1);
    waker_.woke(fds[0].revents != 0);
  }
}

// ---- wire to TUN ----------------------------------------------------------------------------------------------------

DecryptThread::DecryptThread(ShardOptions o, io::TunQueue* tun, std::vector<UdpPort>& ports,
                             StrayRings& strays, std::vector<DecryptThread*>& everyone, Waker& control)
    : ShardThread("weft-dec-" + std::to_string(o.id.value), control, ports.size()),
      number_(o.id.value),
      ports_(ports),
      strays_(strays),
      everyone_(everyone),
      wire_(ports, port_stats_, o.id.value),
      tun_(tun),
      shard_(std::move(o)),
      io_{wire_, tun_, lanes_, this},
      batch_(kSocketSlots, kSocketBytes),
      ready_(ports.size(), false),
      links_(poll_, 1 + ports.size(), WorkerId{static_cast<std::uint32_t>(number_)}) {
  reads_.reserve(kSocketSlots);
  bool ok = poll_.add(waker_.fd(), 0);
  for (std::size_t i = 0; i < ports_.size(); ++i)
    if (!ports_[i].sockets.empty()) ok = poll_.add(ports_[i].sockets[number_].fd(), 1 + i) && ok;
  if (!ok) throw std::system_error(ENOMEM, std::generic_category(), "event descriptor");
}

void DecryptThread::apply_commands() {
  while (auto c = inbox_.pop()) {
    // What lies in the listening sockets came before what the new one will bring: they are looked at first.
    if (links_.on_command(*c)) ready_.assign(ready_.size(), true);
    shard_.apply(io::mono_now(), std::move(*c), io_);
  }
}

bool DecryptThread::hand_over(WorkerId home, StrayBurst&& burst) {
  if (!strays_.push(number_, home.value, std::move(burst))) return false;
  everyone_[home.value]->waker().wake();
  return true;
}

void DecryptThread::take_strays() {
  for (std::size_t from = 0; from < strays_.senders(); ++from)
    while (auto burst = strays_.pop(from, number_)) {
      apply_commands();
      shard_.on_stray(io::mono_now(), std::move(*burst), io_);
    }
}

bool DecryptThread::receive(io::UdpSocket& socket, std::size_t port, bool& dead) {
  auto& stats = port_stats_[port];
  const auto status = socket.recv_batch(batch_);
  if (status != io::RecvStatus::ok) {
    if (status == io::RecvStatus::would_block) return false;
    stats.recv_errors.add(1);
    if (status == io::RecvStatus::gone) dead = true;
    else pause();
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
  const bool more = reads_.size() == batch_.slots();
  apply_commands();
  shard_.on_wire(io::mono_now(), ports_[port].info.id, reads_, io_);
  return more;
}

void DecryptThread::receive_port(std::size_t port) {
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

bool DecryptThread::receive_link(LinkSocket& socket) {
  bool dead = false;
  const bool more = receive(socket.udp, socket.transport.value, dead);
  if (dead) socket.trouble.store(EBADF, std::memory_order_relaxed);
  return more;
}

void DecryptThread::run() {
  const auto read = [this](LinkSocket& s) { return receive_link(s); };
  for (;;) {
    const bool last = stopping();
    apply_commands();
    take_strays();
    if (links_.retiring()) links_.retire(io::mono_now(), read);
    bool more = false;
    for (std::size_t i = 0; i < ports_.size(); ++i) {
      if (ready_[i]) receive_port(i);
      more = more || ready_[i];
    }
    more = links_.read_ready(read) || more;
    if (last) return;
    waker_.prepare();
    const bool sleep = !more && inbox_.empty() && strays_.empty(number_) && !stopping();
    bool woken = false;
    const int patience = !sleep ? 0 : links_.retiring() ? links_.patience(io::mono_now()) : -1;
    for (const auto tag : poll_.wait(patience)) {
      if (tag == 0) woken = true;
      else if (links_.is_tag(tag)) links_.ready(tag);
      else ready_[tag - 1] = true;
    }
    waker_.woke(woken);
  }
}

}  // namespace weft::daemon
