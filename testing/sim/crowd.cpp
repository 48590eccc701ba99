// A node with hundreds of peers, without hundreds of machines: the hub of a simulated star answers the control protocol
// on a Unix socket, in real time, so that whatever asks a daemon can be tried and timed.
//
// Usage: weft-crowd SOCKET|--time [PEERS]
//   --time   no socket: prints what each question costs, and ends
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "control/metrics_page.h"
#include "control/request.h"
#include "sim/scenario.h"

namespace weft::sim {
namespace {

using Clock = std::chrono::steady_clock;

WorldParams crowd_params(std::uint32_t peers) {
  WorldParams p;
  p.node.shards = 1;
  p.link.delay = 5ms;
  p.stagger = 5s;
  p.adjust = [](NodeId id, NodeParams& n) { n.ticks = id == 0; };
  p.configure = [peers](NodeId id, config::Config& c) {
    if (id != 0) return;
    c.node.limits.max_peers = peers + 10;
    c.node.limits.max_links = peers + 10;
    c.node.limits.max_connections = peers + 10;
    c.node.limits.max_pending_inbound = peers + 10;
    c.node.rate_limit.handshake_burst = peers + 10;
  };
  return p;
}

control::ShellView shell_of(SimNode& hub) {
  control::ShellView v;
  v.version = WEFT_VERSION;
  v.pid = getpid();
  v.tun = control::TunState::active;
  v.tun_name = "weft0";
  v.aead = "simulated";
  control::TransportView t;
  t.id = TransportId{1};
  t.local_addr = "0.0.0.0:2121";
  v.transports.push_back(t);
  v.shards.add(hub.encrypt_shard(0).stats());
  v.shards.add(hub.decrypt_shard(0).stats());
  v.encrypt_workers = v.decrypt_workers = 1;
  return v;
}

std::string answer(World& w, std::string_view line) {
  std::string reply;
  w[0].act([&](Node& node, Now now, Outbox& out) {
    control::Context c{node, now, out, shell_of(w[0])};
    reply = control::handle_request(line, c);
  });
  return reply + "\n";
}

/// Median of some runs, in microseconds.
template <class F>
double cost(F f) {
  std::vector<double> us;
  for (int i = 0; i < 21; ++i) {
    const auto begin = Clock::now();
    f();
    us.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
  }
  std::ranges::sort(us);
  return us[us.size() / 2];
}

void time_everything(World& w) {
  const auto line = [&](const char* what, const std::string& request) {
    const auto size = answer(w, request).size();
    std::printf("%-34s %8.0f us  %8zu bytes\n", what, cost([&] { answer(w, request); }), size);
  };
  for (const char* what : {"show_status", "show_peers", "show_links", "show_tree", "show_bloom", "show_mmp"})
    line(what, std::string(R"({"command":")") + what + "\"}");
  for (const char* page : {"peers", "tree", "sessions", "traffic", "workers", "refusals"})
    for (const char* sort : {"rate", "name"})
      line((std::string("show_top ") + page + " by " + sort).c_str(),
           std::string(R"({"command":"show_top","params":{"limit":50,"points":60,"page":")") + page +
               R"(","sort":")" + sort + "\"}}");
  line("show_stats_all_history 1h", R"({"command":"show_stats_all_history","params":{"window":"1h"}})");
  line("show_stats_history_all_peers 10m",
       R"({"command":"show_stats_history_all_peers","params":{"window":"10m","metric":"srtt_ms"}})");
  w[0].act([&](Node& node, Now now, Outbox&) {
    const auto shell = shell_of(w[0]);
    const auto page = [&] { return control::metrics_page(node, now, shell, 1000); };
    std::printf("%-34s %8.0f us  %8zu bytes\n", "metrics page", cost(page), page().size());
    Now later = now;
    std::printf("%-34s %8.0f us\n", "tick of the history", cost([&] {
                  later.mono += 1s;
                  node.on_tick(later, {});
                }));
    std::printf("history: %zu bytes, %zu peers\n", node.history().memory_bytes(),
                node.history().peers().size());
  });
}

int listen_on(const char* path) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::strncpy(name.sun_path, path, sizeof name.sun_path - 1);
  ::unlink(path);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0 || ::bind(fd, reinterpret_cast<const sockaddr*>(&name), sizeof name) != 0 ||
      ::listen(fd, 16) != 0)
    return -1;
  return fd;
}

void serve(World& w, int listener) {
  const auto begin = Clock::now();
  const auto virtual_begin = w.net().now();
  for (;;) {
    pollfd wait{listener, POLLIN, 0};
    const int n = ::poll(&wait, 1, 20);
    w.net().run_until(virtual_begin + std::chrono::duration_cast<Duration>(Clock::now() - begin));
    if (n <= 0) continue;
    const int client = ::accept(listener, nullptr, nullptr);
    const timeval patience{1, 0};
    setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    std::string request;
    char buffer[4096];
    ssize_t got = 0;
    while (request.find('\n') == std::string::npos && (got = ::read(client, buffer, sizeof buffer)) > 0)
      request.append(buffer, static_cast<std::size_t>(got));
    const auto reply = answer(w, request.substr(0, request.find('\n')));
    for (std::size_t at = 0; at < reply.size();) {
      const auto sent = ::send(client, reply.data() + at, reply.size() - at, MSG_NOSIGNAL);
      if (sent <= 0) break;
      at += static_cast<std::size_t>(sent);
    }
    ::close(client);
  }
}

int run(const char* path, std::uint32_t peers, bool timing) {
  World w(star(peers + 1), crowd_params(peers));
  w.start();
  if (!w.run_until([&] { return w[0].running() && w[0].node().links().peers().size() == peers; }, 120s)) {
    std::fprintf(stderr, "only %zu of %u peers are linked\n", w[0].node().links().peers().size(), peers);
    return 1;
  }
  for (NodeId i = 1; i <= std::min<std::uint32_t>(peers, 20); ++i)
    w.flow(0, i, std::chrono::milliseconds(20 * i), 3600s);
  w.run_for(70s);
  if (timing) {
    time_everything(w);
    return 0;
  }
  const int listener = listen_on(path);
  if (listener < 0) {
    std::perror(path);
    return 1;
  }
  std::printf("ready: %u peers\n", peers);
  std::fflush(stdout);
  serve(w, listener);
  return 0;
}

}  // namespace
}  // namespace weft::sim

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: weft-crowd SOCKET|--time [PEERS]\n");
    return 2;
  }
  const auto peers = static_cast<std::uint32_t>(argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 500);
  return weft::sim::run(argv[1], std::max(1U, peers), std::strcmp(argv[1], "--time") == 0);
}
