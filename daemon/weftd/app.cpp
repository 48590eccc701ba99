#include "weftd/app.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "config/inert.h"
#include "config/validate.h"
#include "io/clock.h"
#include "io/privileges.h"
#include "io/rng_os.h"
#include "io/thread_priority.h"
#include "weftd/control_thread.h"

namespace weft::daemon {
namespace {

/// Control connections, files being read, event descriptors, queues of the interface.
constexpr std::size_t kOtherDescriptors = 160;

int fail(const std::string& why) {
  std::fprintf(stderr, "weftd: %s\n", why.c_str());
  return 1;
}

int check_only(const CommandLine& c) {
  const auto s = load_settings(c.config_file);
  if (!s) return fail(s.error());
  for (const auto& w : s->warnings) std::fprintf(stderr, "%s\n", w.c_str());
  std::string files;
  for (const auto& f : s->files) files += (files.empty() ? "" : ", ") + f;
  std::printf("configuration ok: %s\n", files.empty() ? "no file, defaults" : files.c_str());
  return 0;
}

/// Why no instance is open, all of them at once; empty when one is.
std::string no_port_trouble(const std::vector<UdpPort>& ports) {
  std::string out = "no transport could be opened";
  for (const auto& p : ports) {
    if (p.info.up) return {};
    out += "\n  " + p.trouble;
  }
  if (ports.empty())
    out += ": the configuration has no udp instance under `transports`, and no other kind is supported yet";
  return out;
}

NodeOptions node_options(const Settings& s, const std::vector<UdpPort>& ports, const WorkerCounts& counts,
                         SpdLog& log) {
  NodeOptions o;
  o.config = s.config;
  o.decrypt_workers = counts.decrypt;
  o.transports = transports_of(ports);
  const auto read = [&](const std::string& path) {
    std::optional<std::string> trouble;
    auto text = read_side_file(path, &trouble);
    if (trouble) log.always(Level::warn, *trouble);
    return text;
  };
  o.hosts_text = read(s.hosts_file);
  o.allow_text = read(s.allow_file);
  o.deny_text = read(s.deny_file);
  auto kept = config::load_peers({s.kept_peers_file, read(s.kept_peers_file)},
                                 [](std::string_view t) { return crypto::parse_npub(t).has_value(); });
  for (const auto& c : kept.complaints) log.always(Level::warn, c.text());
  o.kept_peers = std::move(kept.peers);
  return o;
}

void log_start(const Settings& s, const ChosenIdentity& id, const std::vector<UdpPort>& ports,
               const MeshInterface* mesh, const Workers& workers, SpdLog& log) {
  for (const auto& w : s.warnings) log.always(Level::warn, w);
  std::string files;
  for (const auto& f : s.files) files += (files.empty() ? "" : ", ") + f;
  log.always(Level::info, fmt::format("weftd {}, configuration: {}", WEFT_VERSION,
                                      files.empty() ? "no file, defaults" : files));
  log.always(Level::info, fmt::format("{} {} {}", id.identity.npub(), text_of(id.identity.mesh_addr()),
                                      id.persistent ? id.key_file.empty() ? "(key from the configuration)"
                                                                          : "(key in " + id.key_file + ")"
                                                    : "(key lives as long as this run)"));
  for (const auto& p : ports) {
    const std::string name = p.info.name.empty() ? "udp" : "udp/" + p.info.name;
    if (p.info.up)
      log.always(Level::info, fmt::format("{} on {}, MTU {}{}", name, p.info.local.text(), p.info.mtu,
                                          p.info.accepts ? "" : ", no inbound links"));
    else log.always(Level::warn, fmt::format("{} is not up: {}", name, p.trouble));
  }
  for (const auto& t : unsupported_transports(s.config.transports))
    log.always(Level::warn, fmt::format("transport {}{}{} is not supported yet and stays unused", t.kind,
                                        t.name.empty() ? "" : "/", t.name));
  if (mesh != nullptr)
    log.always(Level::info,
               fmt::format("interface {}, MTU {}, {} queues{}{}", mesh->device.name(), s.config.tun.mtu,
                           const_cast<MeshInterface*>(mesh)->device.queues().size(),
                           mesh->device.features().tcp ? ", TCP offload" : "",
                           mesh->device.features().udp ? ", UDP offload" : ""));
  else log.always(Level::info, "no interface (tun.enabled: false): a router only");
  log.always(Level::info, fmt::format("{} encrypt and {} decrypt workers, {}", workers.counts().encrypt,
                                      workers.counts().decrypt, workers.all().front()->aead_name()));
  for (const auto& line : config::differing_defaults(s.config, s.places))
    log.always(Level::info, "default " + line);
  for (const auto& k : config::inert_keys(s.config, s.places))
    log.always(Level::info, fmt::format("{}: no effect ({})", k.key, k.why));
  if (mesh != nullptr && config::firewall_on(s.config))
    log.always(
        Level::info,
        "firewall on: from the mesh only ping comes in, and what weft.firewall.allow and weft allow open");
  else if (mesh != nullptr)
    log.always(
        Level::warn,
        "firewall off: every node of the mesh reaches every port that listens on :: or the mesh address");
}

/// Before there are other threads: they inherit what is left.
void give_up_privileges(const Settings& s, const std::vector<UdpPort>& ports,
                        const std::string& control_socket, SpdLog& log) {
  constexpr std::uint16_t kFirstForEverybody = 1024;
  io::Needs needs;
  needs.net_raw = !s.config.transports.ethernet.empty();
  needs.low_ports = std::ranges::any_of(
      ports, [](const auto& p) { return p.info.up && p.info.local.port < kFirstForEverybody; });
  needs.folders = {s.config_dir, s.state_dir};
  if (const auto slash = control_socket.rfind('/'); slash != std::string::npos)
    needs.folders.push_back(control_socket.substr(0, slash));
  const auto left = io::limit_privileges(needs);
  if (left) log.always(Level::info, fmt::format("running as user {} with {}", geteuid(), *left));
  else log.always(Level::warn, "privileges are not given up: " + left.error().text);
}

}  // namespace

int run_app(const CommandLine& command_line) {
  if (command_line.check) return check_only(command_line);
  const Now started = io::clock_now();
  io::OsRng rng;
  auto settings = load_settings(command_line.config_file);
  if (!settings) return fail(settings.error());
  auto chosen = choose_identity(*settings, rng);
  if (!chosen) return fail(chosen.error());
  auto& config = settings->config;
  for (const auto& c : config::drop_self(config, chosen->identity.npub(), settings->places))
    settings->warnings.push_back(c.text());

  const auto counts = worker_counts(config);
  auto ports = open_udp_ports(config, counts.decrypt, settings->warnings);
  if (const auto trouble = no_port_trouble(ports); !trouble.empty()) return fail(trouble);
  std::optional<Firewall> firewall;  // goes after the interface, as it came before it
  std::optional<MeshInterface> mesh;
  if (config.tun.enabled) {
    firewall.emplace(config.tun.name, settings->kept_firewall_file);
    firewall->read_kept(settings->warnings);
    const auto wanted = Firewall::wanted_by(config, settings->places);
    if (const auto done = firewall->apply(wanted, {}, started.unix_ms / 1000); !done)
      return fail(done.error());
    auto opened = open_interface(config.tun, chosen->identity.mesh_addr(), counts.encrypt,
                                 config.weft.dataplane.offload, settings->warnings);
    if (!opened) return fail(opened.error());
    mesh.emplace(std::move(*opened));
  }
  MeshInterface* const interface = mesh ? &*mesh : nullptr;
  keep_identity(*chosen, settings->warnings);

  int code = 0;
  bool hangs = false;
  {
    SpdLog log(config::level_of(config.node.log_level).value_or(Level::info));
    Workers workers(counts, chosen->identity.addr(), interface != nullptr ? &interface->device : nullptr,
                    ports, config.weft.dataplane.perf, rng);
    log_start(*settings, *chosen, ports, interface, workers, log);
    Node node(node_options(*settings, ports, counts, log), chosen->identity.clone(), rng, log, started);
    // Not destroyed while the system's resolver holds its thread: nothing but memory hangs on it then.
    auto control = std::make_unique<ControlThread>(ControlThread::Parts{
        node, workers, ports, interface, firewall ? &*firewall : nullptr, *settings, *chosen,
        descriptors_for_links(kOtherDescriptors + ports.size() * counts.decrypt), command_line.config_file,
        started, log});
    control->open();
    io::RaisedPriority raised(config.weft.dataplane.raise_priority);  // needs what is given up now
    give_up_privileges(*settings, ports, control->control_socket(), log);
    workers.start();  // inherit it
    raised.end();
    code = control->run();
    workers.stop();
    hangs = control->resolver_hangs();
    if (hangs) [[maybe_unused]]
      auto* const left = control.release();
    log.always(Level::info, "stopped");
  }
  mesh.reset();
  firewall.reset();
  if (hangs) std::_Exit(code);
  return code;
}

}  // namespace weft::daemon
