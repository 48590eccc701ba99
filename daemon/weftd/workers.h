/// All worker threads of the packet path, and the core's commands to them.
///
/// Thread   control thread, but for the workers themselves.
#pragma once

#include "config/schema.h"
#include "control/shell_view.h"
#include "crypto/identity.h"
#include "weftd/decrypt_pump.h"
#include "weftd/encrypt_pump.h"
#include "weftd/shard_thread.h"

namespace weft::daemon {

struct WorkerCounts {
  std::uint32_t encrypt = 1;
  std::uint32_t decrypt = 1;
  bool shared_threads = true;  // encrypt worker i and decrypt worker i on one thread
};
/// As configured, else one of each per processor, up to 16: a worker costs some two megabytes. One encrypt worker without
/// an interface. Bounds: what a TUN device has queues for, and a receiver index's low byte can name.
WorkerCounts worker_counts(const config::Config& c);

class Workers {
 public:
  /// `tun` may be null; else it has a queue for each encrypt worker, or fewer (an older kernel).
  Workers(const WorkerCounts& counts, const NodeAddr& self, io::TunDevice* tun, std::vector<UdpPort>& ports,
          bool timed, Rng& rng);
  ~Workers() { stop(); }

  void start();
  /// Inboxes run empty first.
  void stop();

  void to_all(const Broadcast& command);
  void to_home(WorkerId home, Command&& command);
  void to_encrypt(Command&& command);
  /// Moves what did not fit into an inbox; true when nothing waits any more.
  bool flush();

  /// Signalled when a punt waits or a worker broke.
  Waker& control_waker() { return control_; }
  const std::vector<ShardPump*>& all() const { return all_; }
  const std::vector<std::unique_ptr<ShardThread>>& threads() const { return threads_; }
  bool broken() const;
  control::ShardTotals totals() const;
  std::vector<control::WorkerView> views() const;
  Duration cpu_time() const;
  /// Sums of one port over all threads, into `view`.
  void add_port_stats(std::size_t port, control::TransportView& view) const;
  std::uint64_t kernel_drops() const;
  /// Sends of all workers on one port that did not go as they should.
  struct Trouble {
    std::uint64_t count = 0;
    int error = 0;  // errno of one of the newest
    LinkId link;    // towards
  };
  Trouble send_trouble(std::size_t port, SendCause cause) const;
  const WorkerCounts& counts() const { return counts_; }

 private:
  WorkerCounts counts_;
  Waker control_;
  StrayRings strays_;
  TunStrayRings tun_strays_;
  std::vector<DecryptPump*> decrypt_;
  std::vector<EncryptPump*> encrypt_;
  std::vector<ShardPump*> all_;
  std::vector<std::unique_ptr<ShardThread>> threads_;  // own the pumps
};

}  // namespace weft::daemon
