#include "weftd/encrypt_pump.h"

#include <cerrno>
#include <system_error>

#include "io/clock.h"
#include "offload/vnet_header.h"

namespace weft::daemon {
namespace {

// A burst is what others wait for: one super-packet or as many small packets as fill one send call.
constexpr std::size_t kBurstBytes = 64 * 1024;
constexpr std::size_t kBurstPackets = 128;

}  // namespace

EncryptPump::EncryptPump(ShardOptions o, io::TunQueue* queue, std::vector<UdpPort>& ports,
                         TunStrayRings& strays, io::PollSet& poll, std::uint64_t first_tag, Waker& thread,
                         Waker& control)
    : ShardPump(poll, first_tag, thread, control, ports.size()),
      number_(o.id.value),
      strays_(strays),
      queue_(queue),
      wire_(ports, port_stats_, o.id.value),
      tun_(queue),
      shard_(std::move(o)),
      io_{wire_, tun_, lanes_, nullptr, this},
      arena_(queue == nullptr ? 0 : kBurstBytes + offload::kMaxSuperPacket) {
  strays_.wakes(number_, thread);
  reads_.reserve(kBurstPackets);
  if (queue_ != nullptr && !poll_.add(queue_->fd(), first_tag_))
    throw std::system_error(ENOMEM, std::generic_category(), "event descriptor");
}

void EncryptPump::apply_commands() {
  while (auto c = inbox_.pop()) shard_.apply(io::mono_now(), std::move(*c), io_);
}

bool EncryptPump::hand_over(WorkerId worker, TunBurst&& burst) {
  return strays_.push(number_, worker.value, std::move(burst));
}

bool EncryptPump::take_strays() {
  bool any = false;
  for (std::size_t from = 0; from < strays_.senders(); ++from)
    while (auto burst = strays_.pop(from, number_)) {
      any = true;
      shard_.on_stray(io::mono_now(), std::move(*burst), io_);
    }
  return any;
}

/// Packets behind one another in the arena, until the queue or the burst's bound is empty.
void EncryptPump::read_burst() {
  reads_.clear();
  if (queue_ == nullptr) return;
  for (std::size_t used = 0; used < kBurstBytes && reads_.size() < kBurstPackets;) {
    const MutBytes room(arena_.data() + used, offload::kMaxSuperPacket);
    const auto r = queue_->read(room);
    if (r.status == io::TunStatus::ok) {
      reads_.push_back({r.vnet, room.first(r.size)});
      used += (r.size + 63) & ~std::size_t{63};
      continue;
    }
    if (r.status == io::TunStatus::gone) {
      poll_.remove(queue_->fd());
      queue_ = nullptr;
      mark_broken();
    } else if (r.status != io::TunStatus::would_block) {
      shard_.stats().drops.add(Drop::tun_read_failed);
      pause_after_error();
    }
    return;
  }
}

bool EncryptPump::turn() {
  read_burst();
  apply_commands();
  const bool strays = take_strays();
  if (reads_.empty()) return strays;
  shard_.on_tun(io::mono_now(), reads_, io_);
  return true;
}

}  // namespace weft::daemon
