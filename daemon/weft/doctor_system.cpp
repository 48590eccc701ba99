#include "weft/doctor_system.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pwd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timex.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <future>
#include <set>
#include <thread>

#include "base/endpoint.h"
#include "config/validate.h"
#include "io/fd.h"
#include "io/rng_os.h"
#include "io/route_query.h"
#include "io/sockaddr.h"
#include "weft/client.h"
#include "weft/reply.h"
#include "weftd/startup.h"
#include "weftd/udp_ports.h"

namespace weft::cli {
namespace {

using reply::at, reply::integer, reply::list, reply::word;

constexpr std::uint64_t kCapNetAdmin = 12;
constexpr auto kResolverPatience = std::chrono::seconds(4);
constexpr std::time_t kBeforeThisProgram = 1735689600;  // 2025-01-01
constexpr std::size_t kMostUnderlay = 64;

// ---- the daemon -----------------------------------------------------------------------------------------------------

void ask_daemon(const std::string& path, DoctorFacts& f) {
  if (const auto fd = connected(path); !fd) {
    f.connect_error = fd.error();
    f.ask_trouble = connect_failure(fd.error(), path);
    return;
  }
  const auto take = [&](const char* command, Json& to) {
    auto d = ask(path, command);
    if (d) to = std::move(*d);
    else f.ask_trouble = d.error();
    return d.has_value();
  };
  if (!take("show_status", f.status)) return;
  take("show_peers", f.peers);
  take("show_wanted_peers", f.wanted);
  take("show_transports", f.transports);
  take("show_tree", f.tree);
  take("show_acl", f.acl);
  take("show_refusals", f.refusals);
  take("show_listening_sockets", f.listening);
  take("show_firewall", f.firewall);
  f.own_name = word(f.status, "npub") + ".fips";
  f.own_address = word(f.status, "ipv6_addr");
}

void look_at_user(DoctorFacts& f) {
  f.is_root = geteuid() == 0;
  const passwd* me = getpwuid(geteuid());
  f.user = me != nullptr ? me->pw_name : std::to_string(geteuid());
  const auto m = membership();
  f.group_exists = m != Membership::no_group;
  f.member_in_this_login = m == Membership::in_force;
  f.member = f.member_in_this_login || m == Membership::since_login;
}

// ---- files ----------------------------------------------------------------------------------------------------------

void look_at_key(const std::string& path, std::optional<uid_t> daemon_user, DoctorFacts& f) {
  f.key_file = path;
  struct stat s {};
  if (stat(path.c_str(), &s) != 0) return;
  f.key_exists = true;
  f.key_open = (s.st_mode & (S_IRWXG | S_IRWXO)) != 0;
  f.key_foreign = daemon_user && s.st_uid != *daemon_user && s.st_uid != 0;
}

std::optional<uid_t> owner_of_process(std::int64_t pid) {
  struct stat s {};
  if (pid <= 0 || stat(fmt::format("/proc/{}", pid).c_str(), &s) != 0) return std::nullopt;
  return s.st_uid;
}

void look_at_config(const DoctorOptions& o, DoctorFacts& f) {
  std::optional<std::string> file;
  if (!o.config_file.empty()) file = o.config_file;
  const bool runs = f.status.is_object();
  const Json& theirs = list(at(f.status, "weft"), "config_files");
  if (runs && !file && theirs.size() == 1 && theirs[0].is_string()) file = theirs[0].get<std::string>();
  if (file && access(file->c_str(), R_OK) != 0 && errno == EACCES && !f.is_root) {
    f.config_files = {*file};
    return;  // not ours to read: the daemon read it, and says what it thinks in its log
  }
  auto s = daemon::load_settings(file);
  if (!s) {
    f.config_trouble = s.error();
    return;
  }
  f.config_files = s->files;
  f.config_warnings = s->warnings;
  f.tun_wanted = s->config.tun.enabled;
  f.tun_name = s->config.tun.name;
  f.tun_mtu = s->config.tun.mtu;
  f.udp_mtu = 0;
  for (const auto& u : s->config.transports.udp) {
    f.udp_mtu = std::max<int>(f.udp_mtu, u.config.mtu);
    f.receive_buffer = std::max(f.receive_buffer, u.config.recv_buf_size);
    f.send_buffer = std::max(f.send_buffer, u.config.send_buf_size);
  }
  f.dns_wanted = s->config.dns.enabled;
  f.dns_at = Endpoint::parse(fmt::format("[{}]:{}", s->config.dns.bind_addr, s->config.dns.port))
                 .value_or(Endpoint::parse(fmt::format("{}:{}", s->config.dns.bind_addr, s->config.dns.port))
                               .value_or(Endpoint{}))
                 .text();
  if (runs) return;
  if (nobody_listens(f)) {  // else they may be held by the very weftd that cannot be asked
    std::vector<std::string> ignored;
    for (const auto& p : daemon::open_udp_ports(s->config, 1, ignored))
      if (!p.trouble.empty()) f.port_troubles.push_back(p.trouble);
  }
  io::OsRng rng;
  auto chosen = daemon::choose_identity(*s, rng);
  if (!chosen && f.is_root) f.key_trouble = chosen.error();
  else if (chosen && !chosen->fresh && !chosen->key_file.empty())
    look_at_key(chosen->key_file, std::nullopt, f);
}

// ---- kernel ---------------------------------------------------------------------------------------------------------

std::uint64_t number_in(const char* path) {
  std::ifstream in(path);
  std::uint64_t v = 0;
  in >> v;
  return v;
}

std::optional<bool> has_net_admin(const std::string& status_file) {
  std::ifstream in(status_file);
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("CapEff:"))
      return (std::stoull(line.substr(7), nullptr, 16) >> kCapNetAdmin & 1U) != 0;
  return std::nullopt;
}

void look_at_device(DoctorFacts& f) {
  struct stat s {};
  f.tun_device = stat("/dev/net/tun", &s) == 0 && S_ISCHR(s.st_mode);
  if (f.tun_device && f.is_root) {
    const io::Fd fd(open("/dev/net/tun", O_RDWR | O_CLOEXEC));
    f.tun_open_error = fd ? 0 : errno;
  }
  f.ipv6_off = number_in("/proc/sys/net/ipv6/conf/all/disable_ipv6") != 0;
  f.rmem_max = number_in("/proc/sys/net/core/rmem_max");
  f.wmem_max = number_in("/proc/sys/net/core/wmem_max");
  const auto pid = integer(at(f.status, "pid"));
  f.net_admin = has_net_admin(pid > 0 ? fmt::format("/proc/{}/status", pid) : "/proc/self/status");
}

Endpoint endpoint_of(const sockaddr& any) {
  io::SockAddr a{};
  if (any.sa_family != AF_INET && any.sa_family != AF_INET6) return {};
  std::memcpy(&a, &any, any.sa_family == AF_INET ? sizeof a.v4 : sizeof a.v6);
  return io::from_sockaddr(a);
}

/// The interfaces of this machine with their addresses.
class Addresses {
 public:
  Addresses() { getifaddrs(&list_); }
  ~Addresses() {
    if (list_ != nullptr) freeifaddrs(list_);
  }
  Addresses(const Addresses&) = delete;
  Addresses& operator=(const Addresses&) = delete;
  template <class F>
  void each(F f) const {
    for (const ifaddrs* a = list_; a != nullptr; a = a->ifa_next)
      if (a->ifa_addr != nullptr)
        if (const Endpoint e = endpoint_of(*a->ifa_addr); e.is_set()) f(std::string(a->ifa_name), e);
  }

 private:
  ifaddrs* list_ = nullptr;
};

bool is_private(const Endpoint& e) {
  if (e.family == Endpoint::Family::v6) return (e.ip[0] & 0xFEU) == 0xFC;
  return e.ip[0] == 10 || (e.ip[0] == 172 && (e.ip[1] & 0xF0U) == 16) || (e.ip[0] == 192 && e.ip[1] == 168) ||
         (e.ip[0] == 100 && (e.ip[1] & 0xC0U) == 64);
}

void look_at_interface(const Addresses& addresses, DoctorFacts& f) {
  if (f.status.is_object()) {
    const std::string name = word(f.status, "tun_name");
    f.tun_wanted = word(f.status, "tun_state") != "disabled";
    if (f.tun_wanted && name != "-") f.tun_name = name;
    const int set = f.status.value(Json::json_pointer("/weft/tun_mtu"), 0);
    if (set > 0) f.tun_mtu = set;  // it follows what links carry
  }
  const io::Fd fd(socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq r{};
  std::strncpy(r.ifr_name, f.tun_name.c_str(), sizeof r.ifr_name - 1);
  if (ioctl(fd.get(), SIOCGIFFLAGS, &r) == 0) {
    f.interface_exists = true;
    f.interface_up = (r.ifr_flags & IFF_UP) != 0;
  }
  if (ioctl(fd.get(), SIOCGIFMTU, &r) == 0) f.interface_mtu = r.ifr_mtu;
  std::size_t global = 0, priv = 0;
  addresses.each([&](const std::string& name, const Endpoint& e) {
    if (name == f.tun_name) f.interface_has_address = f.interface_has_address || e.ip_text() == f.own_address;
    else if (!e.is_loopback() && !e.is_link_local() && !e.is_mesh()) ++(is_private(e) ? priv : global);
  });
  f.only_private_addresses = global == 0 && priv > 0;
  // An address of the mesh that nobody on this machine has.
  if (const auto way = io::route_to(*Endpoint::parse("[fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:9")))
    f.mesh_route = way->interface;
}

void look_at_underlay(DoctorFacts& f) {
  std::set<std::string> seen;
  const auto add = [&](const std::string& peer, const std::string& address) {
    const auto to = Endpoint::parse(address);
    if (!to || f.underlay.size() >= kMostUnderlay || !seen.insert(address).second) return;
    Underlay u{peer, address, to->is_mesh(), false, 0, {}};
    if (const auto way = io::route_to(*to)) {
      u.mtu = way->mtu;
      u.over_mesh = !u.in_mesh && f.interface_exists && way->interface == f.tun_name;
    } else {
      u.trouble = std::strerror(way.error());
    }
    f.underlay.push_back(std::move(u));
  };
  for (const auto& p : list(f.peers, "peers")) add(word(p, "display_name"), word(p, "transport_addr"));
  for (const auto& p : list(f.wanted, "peers"))
    for (const auto& a : list(p, "addresses")) add(word(p, "display_name"), word(a, "addr"));
}

void look_at_clock(DoctorFacts& f) {
  f.clock_sane = std::time(nullptr) > kBeforeThisProgram;
  timex t{};
  if (const int state = adjtimex(&t); state >= 0) f.clock_synced = (t.status & STA_UNSYNC) == 0;
}

// ---- names ----------------------------------------------------------------------------------------------------------

/// One AAAA question to the responder itself.
void ask_responder(DoctorFacts& f) {
  const auto at = Endpoint::parse(f.dns_at);
  if (!at) return;
  std::string query("\x57\x46\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00", 12);
  for (std::size_t begin = 0; begin < f.own_name.size();) {
    const auto end = std::min(f.own_name.find('.', begin), f.own_name.size());
    query += static_cast<char>(end - begin);
    query += f.own_name.substr(begin, end - begin);
    begin = end + 1;
  }
  query += std::string("\x00\x00\x1c\x00\x01", 5);
  io::SockAddr name{};
  const socklen_t size = io::to_sockaddr(*at, name);
  const io::Fd fd(socket(name.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const timeval patience{1, 0};
  setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  char reply[1500];
  ssize_t n = -1;
  if (connect(fd.get(), &name.any, size) == 0 && send(fd.get(), query.data(), query.size(), 0) >= 0)
    n = recv(fd.get(), reply, sizeof reply, 0);
  if (n < 0) {
    f.direct_trouble = errno == EAGAIN ? "no answer" : std::strerror(errno);
    return;
  }
  if (n < 28 || reply[7] == 0) {
    f.direct_trouble = fmt::format("code {}", n >= 4 ? reply[3] & 15 : -1);
    return;
  }
  // Our own responder's answer: one record, its address last, an OPT record only when asked.
  char out[INET6_ADDRSTRLEN];
  inet_ntop(AF_INET6, reply + n - 16, out, sizeof out);
  f.direct_answer = out;
}

/// The same question as any program would ask it. A resolver that hangs is left to itself.
void ask_system(DoctorFacts& f) {
  auto task = std::make_shared<std::packaged_task<std::pair<std::string, std::string>()>>([name =
                                                                                               f.own_name] {
    addrinfo hints{};
    hints.ai_family = AF_INET6;
    hints.ai_socktype = SOCK_DGRAM;
    addrinfo* list = nullptr;
    const int error = getaddrinfo(name.c_str(), nullptr, &hints, &list);
    if (error != 0) return std::pair<std::string, std::string>("", gai_strerror(error));
    char out[INET6_ADDRSTRLEN] = "";
    inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6*>(list->ai_addr)->sin6_addr, out, sizeof out);
    freeaddrinfo(list);
    return std::pair<std::string, std::string>(out, "");
  });
  auto answer = task->get_future();
  std::thread([task] { (*task)(); }).detach();
  if (answer.wait_for(kResolverPatience) != std::future_status::ready) {
    f.system_trouble = "no answer within 4 s";
    return;
  }
  std::tie(f.system_answer, f.system_trouble) = answer.get();
}

void look_at_names(DoctorFacts& f) {
  f.resolved_runs = access("/run/systemd/resolve", F_OK) == 0;
  if (!f.status.is_object() || !f.dns_wanted) return;
  if (const Json& dns = at(f.status, "weft", "dns"); dns.is_string()) f.dns_at = dns.get<std::string>();
  ask_responder(f);
  ask_system(f);
}

/// A thorough probe of one linked peer: the first packet as large as the way says it takes.
void send_packet(const std::string& socket, DoctorFacts& f) {
  const Json& peers = list(f.peers, "peers");
  if (peers.empty()) return;
  if (auto report = follow_probe(socket, word(peers[0], "npub"), [](const Json&) {}))
    f.probe = std::move(*report);
}

}  // namespace

DoctorFacts examine(const DoctorOptions& o) {
  DoctorFacts f;
  f.version = WEFT_VERSION;
  f.socket = o.socket;
  look_at_user(f);
  ask_daemon(o.socket, f);
  look_at_config(o, f);
  if (const Json& key = at(f.status, "weft", "key_file"); key.is_string())
    look_at_key(key.get<std::string>(), owner_of_process(integer(at(f.status, "pid"))), f);
  look_at_device(f);
  const Addresses addresses;
  look_at_interface(addresses, f);
  look_at_underlay(f);
  look_at_clock(f);
  look_at_names(f);
  if (o.probe) send_packet(o.socket, f);
  return f;
}

}  // namespace weft::cli
