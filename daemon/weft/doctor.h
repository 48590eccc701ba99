/// What goes wrong in the first ten minutes: facts about this machine and its daemon in, one line for each thing to check
/// out.
///
/// Pure. What could not be found out is absent, and its check says so or is left out. Fixes are commands to type, or
/// sentences where there is no command.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "weft/table.h"

namespace weft::cli {

using Json = nlohmann::json;

enum class Grade : std::uint8_t { ok, warn, fail };

struct Check {
  std::string id;  // stable, for scripts
  Grade grade = Grade::ok;
  std::string text;
  std::vector<std::string> fixes;
};

/// How the kernel would send to an address below the mesh.
struct Underlay {
  std::string peer, address;
  bool in_mesh = false;    // inside fd00::/8
  bool over_mesh = false;  // would leave by the mesh interface
  int mtu = 0;             // of the way, as the kernel knows it; 0: unknown
  std::string trouble;     // why it cannot be sent to
};

struct DoctorFacts {
  std::string version;  // of this program
  std::string user;
  bool is_root = false;

  // The daemon's answers; null: not running, or not to be asked.
  std::string socket;
  int connect_error = 0;    // errno
  std::string ask_trouble;  // a sentence, when there is no answer
  Json status, peers, wanted, transports, tree, acl, refusals, listening, firewall;
  Json probe;  // of one linked peer

  // Group of the control socket
  bool group_exists = false, member = false, member_in_this_login = false;

  // Configuration as read by this user
  std::vector<std::string> config_files;
  std::string config_trouble;
  std::vector<std::string> config_warnings;
  bool tun_wanted = true;
  std::string tun_name = "weft0";
  int tun_mtu = 1280;                                 // as weftd set it last; as configured while none runs
  int udp_mtu = 1280;                                 // largest of the instances
  std::uint64_t receive_buffer = 0, send_buffer = 0;  // wanted
  bool dns_wanted = true;
  std::string dns_at = "[::1]:5354";
  std::vector<std::string> port_troubles;  // when nobody listens: what would keep the daemon from its ports

  // Key file
  std::string key_file, key_trouble;
  bool key_exists = false, key_open = false;  // readable by group or others
  bool key_foreign = false;                   // of neither the daemon's user nor root

  // Device and kernel
  bool tun_device = true;
  int tun_open_error = 0;
  bool ipv6_off = false;
  std::optional<bool> net_admin;  // of the daemon when it runs, else of this program
  std::uint64_t rmem_max = 0, wmem_max = 0;
  bool interface_exists = false, interface_up = false, interface_has_address = false;
  int interface_mtu = 0;
  std::string mesh_route;  // interface by which fd00::/8 leaves; empty: no route
  std::vector<Underlay> underlay;
  bool only_private_addresses = false;

  // Clock
  bool clock_sane = true;
  std::optional<bool> clock_synced;

  // Names: this node's own, asked directly and through the system
  std::string own_name, own_address;
  std::string direct_answer, direct_trouble;
  std::string system_answer, system_trouble;
  bool resolved_runs = false;
};

/// No weftd has this socket: not one that does not answer, nor one that this user may not ask.
bool nobody_listens(const DoctorFacts& f);
std::vector<Check> diagnose(const DoctorFacts& f);
Grade worst(const std::vector<Check>& checks);
std::string doctor_text(const std::vector<Check>& checks, const Style& style);
Json doctor_json(const std::vector<Check>& checks);

}  // namespace weft::cli
