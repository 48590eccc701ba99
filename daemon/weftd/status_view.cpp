#include "weftd/status_view.h"

#include <unistd.h>

#include <filesystem>

#include "base/endpoint.h"
#include "io/listening.h"

namespace weft::daemon {
namespace {

template <class T>
void add_unsupported(const std::vector<config::Instance<T>>& instances, const char* kind,
                     std::vector<control::TransportView>& out) {
  for (const auto& i : instances) {
    control::TransportView v;
    v.id = TransportId{UINT32_MAX};
    v.kind = kind;
    v.name = i.name.value_or("");
    v.state = "configured";
    v.supported = false;
    v.trouble = "not supported yet";
    out.push_back(std::move(v));
  }
}

}  // namespace

std::vector<control::TransportView> unsupported_transports(const config::TransportsSection& t) {
  std::vector<control::TransportView> out;
  add_unsupported(t.tcp, "tcp", out);
  add_unsupported(t.tor, "tor", out);
  add_unsupported(t.ethernet, "ethernet", out);
  add_unsupported(t.ble, "ble", out);
  add_unsupported(t.nym, "nym", out);
  return out;
}

namespace {

std::vector<control::ListeningSocket> listening_of(const Facts& f, bool with_programs) {
  std::vector<control::ListeningSocket> out;
  for (const auto& p : io::listening_ports(f.identity.identity.mesh_addr(), with_programs)) {
    control::ListeningSocket s;
    s.proto = p.proto == config::ForwardProto::tcp ? "tcp" : "udp";
    s.wildcard_bind = p.any_address();
    s.local_addr = s.wildcard_bind ? "::" : text_of(p.addr);
    s.port = p.port;
    s.pid = p.pid;
    s.process = p.program;
    if (f.firewall == nullptr || !f.firewall->on()) s.filter = "no_firewall";
    else
      s.filter = firewall::reach_of(f.firewall->policy(), p.proto, p.port) == firewall::Reach::nobody
                     ? "drop"
                     : "accept";
    out.push_back(std::move(s));
  }
  return out;
}

}  // namespace

control::ShellView view_of(const Facts& f, const Workers& workers, const Effects& effects,
                           const ConnectedUdp& connected, std::uint64_t kernel_drop_events,
                           DropCounters& shell_drops) {
  const auto& config = f.settings.config;
  control::ShellView v;
  v.version = WEFT_VERSION;
  v.pid = getpid();
  v.start_unix_ms = f.start_unix_ms;
  std::error_code ignored;
  v.exe_path = std::filesystem::read_symlink("/proc/self/exe", ignored).string();
  v.control_socket = f.control_socket;
  v.config_files = f.settings.files;
  v.allow_file = f.settings.allow_file;
  v.deny_file = f.settings.deny_file;
  v.hosts_file = f.settings.hosts_file;
  v.kept_peers_file = f.settings.kept_peers_file;
  v.key_persistent = f.identity.persistent;
  v.key_file = f.identity.key_file;
  v.tun = f.mesh != nullptr ? control::TunState::active : control::TunState::disabled;
  if (f.mesh != nullptr) v.tun_name = f.mesh->device.name();
  if (f.mesh != nullptr) v.tun_mtu = f.mesh->mtu;
  v.firewall_by_file = config.weft.firewall.enabled.has_value();
  if (f.firewall != nullptr) {
    v.firewall_on = f.firewall->on();
    v.firewall_trouble = f.firewall->trouble();
    v.firewall = [&f] { return f.firewall->view(); };
    v.firewall_packets = [&f] { return f.firewall->packets(); };
    // One reply may say it more than once.
    v.firewall_refused = [&f, n = std::optional<std::uint64_t>()]() mutable {
      if (!n) n = f.firewall->refused();
      return *n;
    };
  }
  v.listening_sockets = [&f](bool with_programs) { return listening_of(f, with_programs); };
  v.dns_addr = f.dns_addr;
  v.dns_trouble = f.dns_trouble;
  for (std::size_t i = 0; i < f.ports.size(); ++i) {
    const auto& p = f.ports[i];
    control::TransportView t;
    t.id = p.info.id;
    t.name = p.info.name;
    t.state = p.info.up ? "up" : "failed";
    if (p.info.up) t.local_addr = p.info.local.text();
    t.mtu = p.info.mtu;
    t.trouble = p.trouble;
    workers.add_port_stats(i, t);
    const auto& raw = effects.port_stats()[i];
    t.packets_sent += raw.packets_sent.get();
    t.bytes_sent += raw.bytes_sent.get();
    t.send_errors += raw.send_errors.get();
    v.transports.push_back(std::move(t));
  }
  for (auto& t : unsupported_transports(config.transports)) v.transports.push_back(std::move(t));
  v.connected_udp = connected.totals();
  v.link_socket = [&connected](LinkId link) { return connected.view(link); };
  v.shards = workers.totals();
  v.kernel_drop_events = kernel_drop_events;
  v.encrypt_workers = workers.counts().encrypt;
  v.decrypt_workers = workers.counts().decrypt;
  v.shared_threads = workers.counts().shared_threads;
  if (f.mesh != nullptr) v.interface_queue_dropped = [&f] { return io::queue_drops(f.mesh->device.name()); };
  v.aead = workers.all().front()->aead_name();
  v.shell_drops = &shell_drops;
  v.troubles = f.troubles;
  for (const auto* trouble : {&f.hosts_trouble, &f.acl_trouble})
    if (!trouble->empty()) v.troubles.push_back(*trouble);
  return v;
}

}  // namespace weft::daemon
