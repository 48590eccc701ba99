#include "weftd/status_view.h"

#include <unistd.h>

#include <filesystem>

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
  if (config::firewall_on(config)) v.firewall_trouble = "this build has no firewall";
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
  if (f.mesh != nullptr) v.interface_queue_dropped = io::queue_drops(f.mesh->device.name());
  v.aead = workers.all().front()->aead_name();
  v.shell_drops = &shell_drops;
  v.troubles = f.troubles;
  return v;
}

}  // namespace weft::daemon
