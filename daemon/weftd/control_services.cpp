#include <fmt/format.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "acl/acl.h"
#include "config/validate.h"
#include "control/metrics_page.h"
#include "control/request.h"
#include "io/clock.h"
#include "names/hosts.h"
#include "weftd/control_impl.h"

namespace weft::daemon {
namespace {

using Failed = boost::system::error_code;
using boost::asio::posix::descriptor_base;

constexpr Duration kShrinkAfter = 60s;  // of the interface's MTU
constexpr auto kTick = std::chrono::seconds(1);
constexpr Duration kPerfEvery = 5s;
constexpr std::int64_t kListRestNs = 500'000'000;
constexpr std::string_view kSkipped = "; skipped";  // what a first reading does with a wrong line
constexpr std::string_view kStays = "; what was read before stays in force";
/// Changes come in bursts, and an address is not usable at its first mention.
constexpr auto kNetworkQuiet = std::chrono::milliseconds(300);
constexpr Duration kSleptAtLeast = 5s;

/// A trouble that keeps a file from being read again, said to the end.
std::string stays(std::string trouble) {
  if (trouble.empty()) return trouble;
  if (trouble.ends_with(kSkipped)) trouble.resize(trouble.size() - kSkipped.size());
  return trouble.append(kStays);
}

Duration sleep_so_far() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return io::mono_now().time_since_epoch() -
         (std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec));
}

}  // namespace

// ---- sockets ----------------------------------------------------------------------------------------------------------

void ControlThread::Impl::open_control_socket() {
  const auto& c = p.settings.config.node.control;
  if (!c.enabled) return;
  auto file = SocketFile::listen(c.socket_path.value_or(control_socket_path(true)));
  if (!file) {
    facts.troubles.push_back(file.error());
    return p.log(Level::warn, "control", "{}; going on without control socket", file.error());
  }
  facts.control_socket = file->path();
  socket.emplace(io, std::move(*file), drops, [this](std::string_view line) { return handle_request(line); });
}

control::ShellView ControlThread::Impl::view() {
  auto v = view_of(facts, p.workers, effects, connected, kernel_drop_events, drops);
  v.workers = [this] {
    auto all = p.workers.views();
    all.insert(all.begin(), control::WorkerView{"control", cpu.used(), 0, 0, 0, 0, false});
    return all;
  };
  v.process = [] {
    const auto use = io::process_use();
    return control::ProcessView{use.cpu, use.resident_bytes};
  };
  return v;
}

ControlSocket::Reply ControlThread::Impl::handle_request(std::string_view line) {
  ControlSocket::Reply reply;
  Outbox out;
  control::Context context{p.node, io::clock_now(), out, view(), this};
  reply.line = control::handle_request(line, context);
  if (const auto id = context.followed) {
    reply.more = [this, id = *id, revision = std::uint64_t{0}]() mutable {
      return control::follow(p.node, io::clock_now(), id, revision);
    };
    reply.abandon = [this, id = *id] { control::unfollow(p.node, io::clock_now(), id); };
  }
  effects.carry_out(out);
  flush_inboxes();
  arm();
  return reply;
}

void ControlThread::Impl::open_metrics() {
  const auto& m = p.settings.config.weft.metrics;
  if (!config::metrics_on(m)) return;
  auto opened = MetricsSocket::open(
      io, m, [this, most = m.peers] { return control::metrics_page(p.node, io::clock_now(), view(), most); });
  if (!opened) {
    facts.troubles.push_back(opened.error());
    return p.log(Level::warn, "metrics", "{}; going on without", opened.error());
  }
  metrics.emplace(std::move(*opened));
  p.log(Level::info, "metrics", "served at {}", metrics->address());
}

void ControlThread::Impl::open_dns() {
  const auto& c = p.settings.config.dns;
  if (!c.enabled) return;
  const unsigned mesh = p.mesh != nullptr ? p.mesh->device.index() : 0;
  const auto answer = [this](Bytes query) {
    auto reply = p.node.on_dns(io::clock_now(), query);
    return reply ? std::move(reply->bytes) : Buffer{};
  };
  auto opened = DnsSocket::open(io, c, mesh, drops, answer);
  if (!opened) {
    facts.dns_trouble = opened.error();
    facts.troubles.push_back(opened.error());
    return p.log(Level::warn, "dns", "{}; names under .fips are not answered", opened.error());
  }
  dns.emplace(std::move(*opened));
  facts.dns_addr = dns->address();
  auto tcp = DnsTcp::open(io, c, p.node.identity().mesh_addr(), drops, answer);
  if (tcp) dns_tcp.emplace(std::move(*tcp));
  else p.log(Level::warn, "dns", "{}; names are answered over UDP only", tcp.error());
}

void ControlThread::Impl::watch_network() {
  auto monitor = io::NetMonitor::open(p.mesh != nullptr ? p.mesh->device.index() : 0);
  if (!monitor)
    return p.log(Level::warn, "network", "changes of addresses and routes go unnoticed: {}",
                 monitor.error().text);
  network.emplace(std::move(*monitor));
  network_wake.assign(::dup(network->fd()));
  const auto wait = [this](const auto& again) -> void {
    network_wake.async_wait(descriptor_base::wait_read, [this, again](const Failed& failed) {
      if (failed) return;
      if (network->drain().any() && !network_pending) {
        network_pending = true;
        network_quiet.expires_after(kNetworkQuiet);
        network_quiet.async_wait([this](const Failed& stopped) {
          network_pending = false;
          if (stopped || stopping) return;
          p.log(Level::info, "network", "addresses or routes changed; asking every link for a sign of life");
          Outbox out;
          network_changed(io::clock_now(), out);
          effects.carry_out(out);
          flush_inboxes();
          arm();
        });
      }
      again(again);
    });
  };
  wait(wait);
}

// ---- once a second ----------------------------------------------------------------------------------------------------

void ControlThread::Impl::on_tick() {
  const Now now = io::clock_now();
  Outbox out;
  check_sleep(now);
  const auto taken = sample();
  p.node.on_tick(now, taken);
  if (taken.kernel_drops > kernel_drops) {
    kernel_drops = taken.kernel_drops;
    ++kernel_drop_events;
  }
  p.node.on_kernel_drops(now, kernel_drops, out);
  effects.carry_out(out);
  connected.on_tick(now.mono);
  sends.look(now.mono, p.workers, connected.without_offload());
  follow_mtu(now);
  flush_inboxes();
  ++ticks;
  if (const auto read = read_lists(false); !read) p.log.always(Level::warn, read.error());
  refresh_firewall();
  report_perf();
  p.log.tick();
  if (const auto stuck = watchdog.tick(); !stuck.empty())
    p.log.always(Level::error,
                 "worker " + stuck + " does not move; the service manager's watchdog hears no more of us");
  armed.reset();  // look again: our clock may have run while Asio's stood still
  arm();
  tick.expires_after(kTick);
  tick.async_wait([this](const Failed& failed) {
    if (!failed) on_tick();
  });
}

NodeSample ControlThread::Impl::sample() const {
  const auto t = p.workers.totals();
  NodeSample s;
  s.packets_in = t.received.packets;
  s.packets_out = t.forwarded.packets + t.originated.packets;
  s.bytes_in = t.received.bytes;
  s.bytes_out = t.forwarded.bytes + t.originated.bytes;
  s.forwarded_packets = t.forwarded.packets;
  s.forwarded_bytes = t.forwarded.bytes;
  s.kernel_drops = p.workers.kernel_drops();
  s.cpu_control = cpu.used();
  s.cpu_workers = p.workers.cpu_time();
  for (std::size_t i = 0; i < kDropCount; ++i) s.drops[i] = t.drops[i] + drops.get(static_cast<Drop>(i));
  return s;
}

/// Before the node sees a deadline after a sleep, it must hear of the sleep: else it takes silence for death.
void ControlThread::Impl::check_sleep(Now now) {
  const Duration so_far = sleep_so_far();
  const bool slept = ticks > 0 && so_far - awake_clock >= kSleptAtLeast;
  if (slept) p.log(Level::info, "network", "this machine slept for {} s", to_ms(so_far - awake_clock) / 1000);
  awake_clock = so_far;
  if (!slept) return;
  Outbox out;
  network_changed(now, out);
  effects.carry_out(out);
}

/// The interface takes what the largest link carries. Smaller again only after a while: a link that flaps would make the
/// system forget, and TCP learn anew, and what is too large meanwhile is answered packet by packet.
void ControlThread::Impl::follow_mtu(Now now) {
  if (p.mesh == nullptr || !p.settings.config.weft.dataplane.mtu_discovery) return;
  const std::uint16_t wanted = p.node.interface_mtu();
  if (wanted >= p.mesh->mtu) mtu_larger_since.reset();
  else if (!mtu_larger_since) mtu_larger_since = now.mono;
  const bool shrink = mtu_larger_since && now.mono - *mtu_larger_since >= kShrinkAfter;
  if (wanted <= p.mesh->mtu && !shrink) return;
  mtu_larger_since.reset();
  const auto ok = io::set_interface_mtu(p.mesh->device.name(), wanted);
  if (ok) p.log(Level::info, "mtu", "MTU of {}: {}, was {}", p.mesh->device.name(), wanted, p.mesh->mtu);
  else p.log(Level::warn, "mtu", "{}", ok.error().text);
  p.mesh->mtu = wanted;  // also after a refusal, which would be the same a second later
}

/// The sockets first: what the node says to its neighbours now must leave by the right one.
void ControlThread::Impl::network_changed(Now now, Outbox& out) {
  connected.on_network_change(now.mono);
  for (const auto& port : p.ports)
    for (const auto& s : port.sockets) s.hope_for_offload();
  p.node.on_network_change(now, out);
}

void ControlThread::Impl::report_perf() {
  if (!p.settings.config.weft.dataplane.perf) return;
  const Instant now = io::mono_now();
  if (perf_at == Instant{}) perf_at = now;
  if (now - perf_at < kPerfEvery) return;
  const auto text = perf.lines(p.workers.totals(), std::chrono::duration<double>(now - perf_at).count());
  perf_at = now;
  if (!text.empty()) std::fprintf(stderr, "%s\n", text.c_str());
}

// ---- reloads ----------------------------------------------------------------------------------------------------------

std::array<io::FileStamp, 3> ControlThread::Impl::list_stamps() const {
  return {io::file_stamp(p.settings.hosts_file), io::file_stamp(p.settings.allow_file),
          io::file_stamp(p.settings.deny_file)};
}

/// A file that is being written looks changed twice: it is read when it has come to rest.
bool ControlThread::Impl::lists_at_rest(const std::array<io::FileStamp, 3>& fresh) const {
  const std::int64_t now_ns = io::clock_now().unix_ms * 1'000'000;
  return std::ranges::none_of(fresh, [&](const io::FileStamp& f) {
    return f.exists && f.mtime_ns <= now_ns && now_ns - f.mtime_ns < kListRestNs;
  });
}

/// What is wrong with the file, which then counts for nothing; empty: it is in force.
std::string ControlThread::Impl::read_hosts() {
  const std::string& file = p.settings.hosts_file;
  std::optional<std::string> trouble;
  const auto text = read_side_file(file, &trouble);
  if (trouble) return *trouble;
  const auto parsed = names::parse_hosts(text);
  if (!parsed.warnings.empty())
    return fmt::format("{}:{}: {}", file, parsed.warnings.front().line, parsed.warnings.front().text);
  p.node.set_hosts(io::clock_now(), text);
  return {};
}

std::string ControlThread::Impl::read_peer_lists() {
  std::optional<std::string> trouble;
  const auto allow = read_side_file(p.settings.allow_file, &trouble);
  const auto deny = trouble ? std::string() : read_side_file(p.settings.deny_file, &trouble);
  if (trouble) return *trouble;
  if (const auto line = acl::first_malformed(allow, deny))
    return fmt::format("{}:{}: {}",
                       line->file == "peers.allow" ? p.settings.allow_file : p.settings.deny_file, line->line,
                       line->text);
  p.node.set_acl(io::clock_now(), allow, deny);
  return {};
}

Result<void, std::string> ControlThread::Impl::read_lists(bool even_unchanged) {
  const auto fresh = list_stamps();
  if (!even_unchanged && (fresh == stamps || !lists_at_rest(fresh))) return {};
  // Apart from each other, so that a mistake among the names does not hold up a refusal.
  if (even_unchanged || fresh[0] != stamps[0]) facts.hosts_trouble = stays(read_hosts());
  if (even_unchanged || fresh[1] != stamps[1] || fresh[2] != stamps[2])
    facts.acl_trouble = stays(read_peer_lists());
  stamps = fresh;
  refresh_firewall();
  std::string wrong;
  for (const auto* trouble : {&facts.hosts_trouble, &facts.acl_trouble})
    if (!trouble->empty()) wrong += (wrong.empty() ? "" : "\n") + *trouble;
  if (!wrong.empty()) return bad(wrong);
  p.log(Level::info, "reload", "hosts and peer lists read again");
  return {};
}

Result<void, std::string> ControlThread::Impl::reload_lists() { return read_lists(true); }

// ---- the firewall -----------------------------------------------------------------------------------------------------

namespace {

Firewall::KeyOf key_of(const Node& node) {
  return [&node](std::string_view who) -> std::optional<PublicKey> {
    const auto key = node.find_key(who);
    return key ? std::optional(*key) : std::nullopt;
  };
}
std::int64_t unix_now() { return io::clock_now().unix_ms / 1000; }

}  // namespace

/// It is in force since before the interface came up; now the node knows names.
void ControlThread::Impl::open_firewall() {
  if (p.firewall == nullptr) return;
  const auto wanted = Firewall::wanted_by(p.settings.config, p.settings.places);
  if (const auto done = p.firewall->apply(wanted, key_of(p.node), unix_now()); !done)
    p.log.always(Level::error, "openings by name are not open: " + done.error());
}

void ControlThread::Impl::refresh_firewall() {
  if (p.firewall == nullptr) return;
  if (const auto said = p.firewall->refresh(unix_now()); !said.empty())
    p.log(p.firewall->trouble().empty() ? Level::info : Level::warn, "firewall", "{}", said);
}

Result<control::ShellActions::Changed, std::string> ControlThread::Impl::change_firewall(
    const firewall::Entry& e) {
  if (p.firewall == nullptr)
    return bad(std::string(
        "this node has no interface (tun.enabled: false), so nothing here can be reached from the mesh"));
  auto done = p.firewall->change(e, unix_now());
  if (done)
    p.log(Level::info, "firewall", "{} {}{}", e.allow ? "opened" : "closed", config::text_of(e.ports),
          e.from ? " for " + crypto::npub_of(*e.from) : "");
  return done;
}

/// Peers, names, lists, the firewall and the log level; everything else takes a restart. A wrong file changes nothing.
void ControlThread::Impl::reload() {
  auto fresh = load_settings(p.config_file);
  if (!fresh)
    return p.log.always(Level::error, "reload refused, the running configuration stays:\n" + fresh.error());
  if (auto& secret = fresh->config.node.identity.nsec) crypto::wipe(secret->data(), secret->size());
  for (const auto& c : config::drop_self(fresh->config, p.node.identity().npub(), fresh->places))
    fresh->warnings.push_back(c.text());
  for (const auto& w : fresh->warnings) p.log.always(Level::warn, w);
  if (p.firewall != nullptr)
    if (const auto done =
            p.firewall->apply(Firewall::wanted_by(fresh->config, fresh->places), key_of(p.node), unix_now());
        !done)
      return p.log.always(Level::error, "reload refused, the running configuration stays: " + done.error());
  p.settings.config.weft.firewall = fresh->config.weft.firewall;
  p.settings.config.has_weft_section = fresh->config.has_weft_section;
  p.settings.config.peers = fresh->config.peers;
  p.log.set_level(config::level_of(fresh->config.node.log_level).value_or(Level::info));
  Outbox out;
  p.node.set_peers(io::clock_now(), p.settings.config.peers, out);
  effects.carry_out(out);
  flush_inboxes();
  arm();
  if (const auto read = read_lists(true); !read) p.log.always(Level::warn, read.error());
  p.log.always(Level::info, fmt::format("configuration read again: {} peers; other changes take a restart",
                                        p.settings.config.peers.size()));
}

}  // namespace weft::daemon
