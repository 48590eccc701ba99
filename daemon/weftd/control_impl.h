/// The control thread's insides, shared by the sources that make it up. Asio: for those only.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include "io/cpu_clock.h"
#include "io/file.h"
#include "io/net_monitor.h"
#include "weftd/control_socket.h"
#include "weftd/control_thread.h"
#include "weftd/dns_socket.h"
#include "weftd/dns_tcp.h"
#include "weftd/metrics_socket.h"
#include "weftd/perf_report.h"
#include "weftd/resolver.h"
#include "weftd/send_report.h"
#include "weftd/watchdog.h"

namespace weft::daemon {

struct ControlThread::Impl : control::ShellActions {
  explicit Impl(Parts parts);

  // control_thread.cpp: the loop
  void open();
  int run();
  /// One turn of the node; its effects are carried out and its deadline is awaited afterwards.
  template <class F>
  void step(F f);
  void arm();
  void on_deadline();
  void watch_workers();
  void on_workers();
  void flush_inboxes();
  void on_signal(int number);
  void begin_stop();
  void wait_for_goodbyes(Instant until);

  // control_services.cpp: what else hangs on the loop
  void open_control_socket();
  void open_dns();
  void open_metrics();
  void watch_network();
  void on_tick();
  NodeSample sample() const;
  void check_sleep(Now now);
  void follow_mtu(Now now);
  void network_changed(Now now, Outbox& out);
  void report_perf();
  void reload();
  /// Errors: a sentence; what was read before stays in force.
  Result<void, std::string> read_lists(bool even_unchanged);
  std::string read_hosts();
  std::string read_peer_lists();
  std::array<io::FileStamp, 3> list_stamps() const;  // hosts, peers.allow, peers.deny
  bool lists_at_rest(const std::array<io::FileStamp, 3>& fresh) const;
  void open_firewall();
  void refresh_firewall();
  Result<Changed, std::string> change_firewall(const firewall::Entry& e) override;
  Result<void, std::string> reload_lists() override;
  ControlSocket::Reply handle_request(std::string_view line);
  control::ShellView view();

  Parts p;
  boost::asio::io_context io{1};
  boost::asio::signal_set signals{io};
  boost::asio::steady_timer deadline{io}, tick{io}, flush{io}, stop{io}, network_quiet{io};
  boost::asio::posix::stream_descriptor workers_wake{io}, network_wake{io};
  Resolver resolver;
  ConnectedUdp connected;
  Effects effects;
  SendReport sends;
  Facts facts;
  DropCounters drops;
  io::CpuClock cpu{pthread_self()};  // made on the thread that will run
  io::Notifier notifier = io::Notifier::from_environment();
  Watchdog watchdog{notifier, p.workers.threads()};
  std::optional<io::NetMonitor> network;
  std::optional<ControlSocket> socket;
  std::optional<DnsSocket> dns;
  std::optional<MetricsSocket> metrics;
  std::optional<DnsTcp> dns_tcp;
  std::optional<Instant> armed;
  bool flushing = false;
  bool network_pending = false;
  bool stopping = false;
  int result = 0;

  std::uint64_t ticks = 0;
  Duration awake_clock{};  // CLOCK_BOOTTIME less CLOCK_MONOTONIC: grows while the machine sleeps
  std::optional<Instant> mtu_larger_since;  // the interface's MTU, than any link needs
  std::uint64_t kernel_drops = 0;
  std::uint64_t kernel_drop_events = 0;
  std::array<io::FileStamp, 3> stamps = list_stamps();
  PerfReport perf;
  Instant perf_at;
};

}  // namespace weft::daemon
