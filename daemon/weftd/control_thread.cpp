#include "weftd/control_thread.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <boost/asio/post.hpp>

#include "io/clock.h"
#include "weftd/control_impl.h"

namespace weft::daemon {
namespace {

using Failed = boost::system::error_code;
using boost::asio::posix::descriptor_base;

/// Punts of one worker's lane that are taken in one turn, so that timers and sockets get theirs.
constexpr std::array<int, kLanes> kPerTurn{16, 256, 128};
constexpr auto kFlushEvery = std::chrono::milliseconds(1);
constexpr auto kGoodbyePoll = std::chrono::milliseconds(10);
constexpr Duration kLongestWait = 3600s;

void let_signals_in() {
  sigset_t set;
  sigemptyset(&set);
  for (const int s : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, s);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

}  // namespace

ControlThread::Impl::Impl(Parts parts)
    : p(parts),
      resolver(
          io,
          [this](std::uint64_t ticket, const std::vector<Endpoint>& endpoints, const std::string& error) {
            step([&](Now now, Outbox& out) { p.node.on_resolved(now, ticket, endpoints, error, out); });
          }),
      connected(
          p.ports,
          {.on = p.settings.config.weft.dataplane.connected_udp,
           .most = p.most_link_sockets,
           .silence = std::chrono::seconds(p.settings.config.node.link_dead_timeout_secs) / 2},
          [this](const Broadcast& command) { p.workers.to_all(command); }, p.log),
      effects(
          p.workers, connected, p.ports, p.mesh != nullptr ? &p.mesh->device.queues()[0] : nullptr,
          p.settings.kept_peers_file,
          [this](std::uint64_t ticket, const std::string& host) { resolver.resolve(ticket, host); }, p.log),
      sends(p.ports, p.log),
      facts{p.settings, p.identity, p.ports, p.mesh, p.firewall, p.started.unix_ms, {}, {}, {}, {}, {}, {}} {}

template <class F>
void ControlThread::Impl::step(F f) {
  Outbox out;
  f(io::clock_now(), out);
  effects.carry_out(out);
  flush_inboxes();
  arm();
}

// ---- the node's deadline ----------------------------------------------------------------------------------------------

void ControlThread::Impl::arm() {
  const auto due = p.node.deadline();
  if (due == armed) return;
  armed = due;
  if (!due) {
    deadline.cancel();
    return;
  }
  // Asio's clock stands still while the machine sleeps, ours does not; the tick looks again once a second.
  deadline.expires_after(std::clamp(*due - io::mono_now(), Duration{0}, kLongestWait));
  deadline.async_wait([this](const Failed& failed) {
    if (!failed) on_deadline();
  });
}

void ControlThread::Impl::on_deadline() {
  armed.reset();
  step([&](Now now, Outbox& out) { p.node.on_deadline(now, out); });
}

// ---- workers ----------------------------------------------------------------------------------------------------------

void ControlThread::Impl::watch_workers() {
  auto& waker = p.workers.control_waker();
  waker.prepare();
  bool waiting = p.workers.broken() && !stopping;
  for (const auto& t : p.workers.all()) waiting = waiting || !t->lanes().empty();
  if (waiting) {
    waker.woke(false);
    boost::asio::post(io, [this] { on_workers(); });
    return;
  }
  workers_wake.async_wait(descriptor_base::wait_read, [this](const Failed& failed) {
    if (failed) return;
    p.workers.control_waker().woke(true);
    on_workers();
  });
}

void ControlThread::Impl::on_workers() {
  if (p.workers.broken() && !stopping) {
    p.log.always(Level::error, p.mesh != nullptr
                                   ? "interface " + p.mesh->device.name() +
                                         " was taken away, or a socket broke; ending, so "
                                         "that the service manager can start afresh"
                                   : "a socket broke; ending, so that the service manager can start afresh");
    result = 1;
    return begin_stop();
  }
  step([&](Now now, Outbox& out) {
    for (const auto& t : p.workers.all())
      for (std::size_t lane = 0; lane < kLanes; ++lane)
        for (int i = 0; i < kPerTurn[lane]; ++i) {
          auto punt = t->lanes().pop(static_cast<Lane>(lane));
          if (!punt) break;
          p.node.on_punt(now, std::move(*punt), out);
        }
  });
  watch_workers();
}

void ControlThread::Impl::flush_inboxes() {
  if (p.workers.flush() || flushing) return;
  flushing = true;
  flush.expires_after(kFlushEvery);
  flush.async_wait([this](const Failed& failed) {
    flushing = false;
    if (!failed) flush_inboxes();
  });
}

// ---- signals and the end ----------------------------------------------------------------------------------------------

void ControlThread::Impl::on_signal(int number) {
  if (number == SIGHUP) reload();
  else begin_stop();
  signals.async_wait([this](const Failed& failed, int next) {
    if (!failed) on_signal(next);
  });
}

void ControlThread::Impl::begin_stop() {
  if (stopping) return io.stop();  // asked twice: now
  stopping = true;
  notifier.stopping();
  p.log.always(Level::info, fmt::format("stopping: goodbye to {} peers", p.node.links().peers().size()));
  step([&](Now now, Outbox& out) { p.node.drain(now, out); });
  wait_for_goodbyes(io::mono_now() + std::chrono::seconds(p.settings.config.node.drain_timeout_secs));
}

void ControlThread::Impl::wait_for_goodbyes(Instant until) {
  if ((p.node.links().peers().empty() && p.workers.flush()) || io::mono_now() >= until) return io.stop();
  stop.expires_after(kGoodbyePoll);
  stop.async_wait([this, until](const Failed& failed) {
    if (!failed) wait_for_goodbyes(until);
  });
}

void ControlThread::Impl::open() {
  // Asio may own a descriptor for as long as it waits, so these two are copies.
  workers_wake.assign(::dup(p.workers.control_waker().fd()));
  for (const int s : {SIGTERM, SIGINT, SIGHUP}) signals.add(s);
  signals.async_wait([this](const Failed& failed, int number) {
    if (!failed) on_signal(number);
  });
  let_signals_in();
  open_firewall();
  open_control_socket();
  open_dns();
  open_metrics();
  watch_network();
}

int ControlThread::Impl::run() {
  watch_workers();
  step([&](Now now, Outbox& out) { p.node.start(now, out); });
  on_tick();
  notifier.ready("running as " + p.node.identity().npub());
  io.run();
  socket.reset();
  dns.reset();
  metrics.reset();
  dns_tcp.reset();
  return result;
}

ControlThread::ControlThread(Parts parts) : impl_(std::make_unique<Impl>(parts)) {}
ControlThread::~ControlThread() = default;
void ControlThread::open() { impl_->open(); }
int ControlThread::run() { return impl_->run(); }
std::string ControlThread::control_socket() const { return impl_->facts.control_socket; }
bool ControlThread::resolver_hangs() const { return impl_->resolver.pending() > 0; }

}  // namespace weft::daemon
