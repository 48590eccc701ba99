/// One thread of the packet path. It sleeps until a descriptor or an inbox of its pumps has something, then gives each of
/// them its turn, as long as there is more.
///
/// Shared     an encrypt and a decrypt shard on one thread answer a packet that came in without waking anybody, and
///            bulk traffic makes no two threads fight for a processor. docs/decisions/0014-shared-threads.md
/// Stopping   stop() lets the inboxes run empty first, so a goodbye that was pushed before it still leaves.
/// Shared     what ShardPump says; the signs of life are atomic. Everything else is the thread's.
#pragma once

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "io/cpu_clock.h"
#include "io/poll_set.h"
#include "weftd/shard_pump.h"
#include "weftd/waker.h"

namespace weft::daemon {

class ShardThread {
 public:
  /// Throws std::system_error when the process is out of descriptors.
  explicit ShardThread(std::string name);
  ShardThread(const ShardThread&) = delete;
  ShardThread& operator=(const ShardThread&) = delete;
  ~ShardThread() { stop(); }

  /// For a pump that is about to be made and added.
  io::PollSet& poll() { return poll_; }
  std::uint64_t next_tag() const { return pumps_.size() << kTagBits; }
  Waker& waker() { return waker_; }
  /// Before start(). Pumps have their turns in the order in which they were added.
  void add(std::unique_ptr<ShardPump> pump) { pumps_.push_back(std::move(pump)); }

  void start();
  /// Returns when the thread has ended. Nothing may be pushed afterwards.
  void stop();

  /// For the watchdog: an awake thread answers with its next turn, a sleeping one is woken.
  void ask_for_sign_of_life() {
    asked_.fetch_add(1, std::memory_order_relaxed);
    waker_.wake();
  }
  bool has_answered() const {
    return answered_.load(std::memory_order_relaxed) == asked_.load(std::memory_order_relaxed);
  }
  const std::string& name() const { return name_; }
  const std::vector<std::unique_ptr<ShardPump>>& pumps() const { return pumps_; }
  Duration cpu_time() const { return cpu_.used(); }

 private:
  static constexpr unsigned kTagBits = 32;
  static constexpr std::uint64_t kWakerTag = ~std::uint64_t{0};

  void run();
  void sleep(bool more);
  /// Looked at once a turn, and between Waker::prepare() and sleep; each look is the sign of life.
  bool stopping() {
    answered_.store(asked_.load(std::memory_order_relaxed), std::memory_order_relaxed);
    return stop_.load(std::memory_order_acquire);
  }

  std::string name_;
  Waker waker_;
  io::PollSet poll_;
  std::vector<std::unique_ptr<ShardPump>> pumps_;
  std::atomic<bool> stop_{false};
  std::atomic<std::uint32_t> asked_{0};     // control thread
  std::atomic<std::uint32_t> answered_{0};  // this thread
  std::thread thread_;
  io::CpuClock cpu_;
};

}  // namespace weft::daemon
