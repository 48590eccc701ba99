/// One thread per shard. It sleeps until its descriptors or its inbox have something, takes a burst, steps the shard,
/// and the shard's sinks send.
///
/// Commands   are applied after a burst is read and before it is processed: what a command announced before the packet
///            was sent is there when the packet is looked at.
/// Stopping   stop() lets the inbox run empty first, so a goodbye that was pushed before it still leaves.
/// Shared     inbox, lanes and stats, as their own headers say. Everything else is the thread's.
#pragma once

#include <pthread.h>

#include <thread>

#include "dataplane/decrypt_shard.h"
#include "dataplane/encrypt_shard.h"
#include "weftd/lanes.h"
#include "weftd/link_sockets.h"
#include "weftd/sinks.h"

namespace weft::daemon {

class ShardThread {
 public:
  ShardThread(std::string name, Waker& control, std::size_t ports);
  virtual ~ShardThread() = default;
  ShardThread(const ShardThread&) = delete;
  ShardThread& operator=(const ShardThread&) = delete;

  void start();
  /// Returns when the thread has ended. Nothing may be pushed afterwards.
  void stop();

  Inbox& inbox() { return inbox_; }
  PuntLanes& lanes() { return lanes_; }
  Waker& waker() { return waker_; }
  virtual const ShardStats& stats() const = 0;
  virtual std::string_view aead_name() const = 0;
  const std::vector<PortStats>& port_stats() const { return port_stats_; }
  /// The interface was deleted, or a descriptor is of no use any more: this worker reads nothing there.
  bool broken() const { return broken_.load(std::memory_order_relaxed); }

  /// For the watchdog: an awake thread answers with its next turn, a sleeping one is woken.
  void ask_for_sign_of_life() {
    asked_.fetch_add(1, std::memory_order_relaxed);
    waker_.wake();
  }
  bool has_answered() const {
    return answered_.load(std::memory_order_relaxed) == asked_.load(std::memory_order_relaxed);
  }
  const std::string& name() const { return name_; }

 protected:
  virtual void run() = 0;
  /// Looked at once a turn, and between Waker::prepare() and sleep; each look is the sign of life.
  bool stopping() {
    answered_.store(asked_.load(std::memory_order_relaxed), std::memory_order_relaxed);
    return stop_.load(std::memory_order_acquire);
  }
  void mark_broken() {
    broken_.store(true, std::memory_order_relaxed);
    control_.wake();
  }

  std::vector<PortStats> port_stats_;
  Waker waker_;
  Waker& control_;
  Inbox inbox_;
  PuntLanes lanes_;

 private:
  std::string name_;
  std::atomic<bool> stop_{false};
  std::atomic<bool> broken_{false};
  std::atomic<std::uint32_t> asked_{0};     // control thread
  std::atomic<std::uint32_t> answered_{0};  // this thread
  std::thread thread_;
};

class EncryptThread final : public ShardThread {
 public:
  /// `queue` may be null. Sends on socket `o.id mod decrypt workers` of each port.
  EncryptThread(ShardOptions o, io::TunQueue* queue, std::vector<UdpPort>& ports, Waker& control);

  const ShardStats& stats() const override { return shard_.stats(); }
  std::string_view aead_name() const override { return shard_.aead_name(); }

 private:
  void run() override;
  void apply_commands();
  void read_burst();

  io::TunQueue* queue_;
  PortSink wire_;
  QueueSink tun_;
  EncryptShard shard_;
  ShardIo io_;
  Buffer arena_;
  std::vector<TunRead> reads_;
};

class DecryptThread final : public ShardThread, private StraySink {
 public:
  /// `tun` is the queue it writes to, or null. `everyone`: all decrypt threads by number, complete before start().
  DecryptThread(ShardOptions o, io::TunQueue* tun, std::vector<UdpPort>& ports, StrayRings& strays,
                std::vector<DecryptThread*>& everyone, Waker& control);

  const ShardStats& stats() const override { return shard_.stats(); }
  std::string_view aead_name() const override { return shard_.aead_name(); }

 private:
  void run() override;
  void apply_commands();
  void take_strays();
  /// One batch. False: nothing more is there for now.
  bool receive(io::UdpSocket& socket, std::size_t port, bool& dead);
  void receive_port(std::size_t port);
  bool receive_link(LinkSocket& socket);
  bool hand_over(WorkerId home, StrayBurst&& burst) override;

  std::size_t number_;
  std::vector<UdpPort>& ports_;
  StrayRings& strays_;
  std::vector<DecryptThread*>& everyone_;
  PortSink wire_;
  QueueSink tun_;
  DecryptShard shard_;
  ShardIo io_;
  io::RecvBatch batch_;
  std::vector<WireRead> reads_;
  std::vector<bool> ready_;  // by port: may have more to read
  io::PollSet poll_;         // tag 0: the waker; 1 + port: a listening socket; then the links'
  LinkSockets links_;
};

}  // namespace weft::daemon
