#include "weft/doctor.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace weft::cli {
namespace {

/// A machine on which all is well, and a daemon with one link.
DoctorFacts healthy() {
  DoctorFacts f;
  f.version = "0.1.0";
  f.user = "ann";
  f.socket = "/run/weft/control.sock";
  f.group_exists = f.member = f.member_in_this_login = true;
  f.own_name = "npub1x.fips";
  f.own_address = "fd00::1";
  f.status = {{"version", "0.1.0"},
              {"pid", 7},
              {"uptime_secs", 30},
              {"persistent", true},
              {"tun_name", "weft0"},
              {"weft",
               {{"linked", true},
                {"headline", "linked: 1 peer"},
                {"why", Json::array()},
                {"next_steps", Json::array()}}}};
  f.peers = {{"peers", {{{"direction", "inbound"}, {"display_name", "bee"}}}}};
  f.transports = {
      {"transports", {{{"state", "up"}, {"local_addr", "0.0.0.0:2121"}, {"stats", {{"packets_recv", 9}}}}}}};
  f.tree = {{"peers", {{{"weft", {{"clock_lead_secs", -1}, {"announces", 2}}}}}}};
  f.acl = {{"enforcement_active", false}, {"allow_file", "/etc/weft/peers.allow"}};
  f.refusals = {{"refusals", Json::array()}};
  f.listening = {{"firewall_active", true}, {"sockets", Json::array()}};
  f.probe = {{"target", {{"display_name", "bee"}}},
             {"weft",
              {{"largest_passed", 1203},
               {"rtt_us", 420},
               {"stages", {{{"stage", "full_size"}, {"verdict", "ok"}}}}}}};
  f.config_files = {"/etc/weft/weft.yaml"};
  f.key_file = "/var/lib/weft/weft.key";
  f.key_exists = true;
  f.net_admin = true;
  f.rmem_max = f.wmem_max = 4 << 20;
  f.receive_buffer = f.send_buffer = 2 << 20;
  f.interface_exists = f.interface_up = f.interface_has_address = true;
  f.interface_mtu = 1280;
  f.mesh_route = "weft0";
  f.underlay = {{"bee", "192.0.2.1:2121", false, false, 1500, ""}};
  f.direct_answer = f.system_answer = f.own_address;
  return f;
}

/// The one check of that name that is not ok.
const Check* trouble(const std::vector<Check>& checks, const std::string& id) {
  for (const auto& c : checks)
    if (c.id == id && c.grade != Grade::ok) return &c;
  return nullptr;
}

void expect(const DoctorFacts& f, const char* id, Grade grade, const char* text, const char* fix) {
  const auto checks = diagnose(f);
  const Check* c = trouble(checks, id);
  ASSERT_NE(c, nullptr) << id << " is ok:\n" << doctor_text(checks, {});
  EXPECT_EQ(c->grade, grade) << c->text;
  EXPECT_NE(c->text.find(text), std::string::npos) << c->text;
  std::string fixes;
  for (const auto& x : c->fixes) fixes += x + "\n";
  EXPECT_NE(fixes.find(fix), std::string::npos) << fixes;
}

TEST(Doctor, FindsNothingWhereAllIsWell) {
  const auto checks = diagnose(healthy());
  EXPECT_EQ(worst(checks), Grade::ok) << doctor_text(checks, {});
  EXPECT_GE(checks.size(), 14U);
  EXPECT_EQ(doctor_json(checks)["grade"], "ok");
}

TEST(Doctor, TheDaemonIsDown) {
  DoctorFacts f = healthy();
  f.status = nullptr;
  for (const int error : {ENOENT, ECONNREFUSED}) {
    f.connect_error = error;
    expect(f, "daemon", Grade::fail, "does not run", "systemctl start weft");
  }
}

TEST(Doctor, OnlyWhereNobodyListensIsTheDaemonDown) {
  DoctorFacts f = healthy();
  f.status = nullptr;
  for (const int error : {ENOENT, ENOTDIR, ECONNREFUSED}) {
    f.connect_error = error;
    EXPECT_TRUE(nobody_listens(f)) << error;
  }
  for (const int error : {0, EACCES, EPERM, EAGAIN}) {
    f.connect_error = error;
    EXPECT_FALSE(nobody_listens(f)) << error;
  }
}

TEST(Doctor, AnotherVersionRuns) {
  DoctorFacts f = healthy();
  f.status["version"] = "0.0.9";
  expect(f, "daemon", Grade::warn, "0.0.9", "systemctl restart weft");
}

TEST(Doctor, TheGroupIsTheCauseAndALoginMayBeToo) {
  DoctorFacts f = healthy();
  f.status = nullptr;
  f.connect_error = EACCES;
  f.member_in_this_login = false;
  expect(f, "group", Grade::fail, "not yet in this login", "newgrp weft");
  f.member = false;
  expect(f, "group", Grade::fail, "only root and members", "usermod -aG weft ann");
  EXPECT_EQ(trouble(diagnose(f), "daemon"), nullptr) << "one cause, one line";
}

TEST(Doctor, Configuration) {
  DoctorFacts f = healthy();
  f.config_trouble = "weft.yaml:3: error: tun.mtu: too small";
  expect(f, "config", Grade::fail, "weft.yaml:3", "weftd --check");
  f.config_trouble.clear();
  f.config_warnings = {"weft.yaml:9: warning: node.tick: unknown key"};
  expect(f, "config", Grade::warn, "node.tick", "weftd --check");
}

TEST(Doctor, TheKey) {
  DoctorFacts f = healthy();
  f.key_open = true;
  expect(f, "key", Grade::warn, "read by others", "chmod 600 /var/lib/weft/weft.key");
  f.key_foreign = true;
  expect(f, "key", Grade::fail, "another user", "chown");
  f = healthy();
  f.status["persistent"] = false;
  expect(f, "key", Grade::warn, "thrown away", "persistent");
}

TEST(Doctor, DeviceAndCapability) {
  DoctorFacts f = healthy();
  f.tun_device = false;
  expect(f, "interface", Grade::fail, "/dev/net/tun", "modprobe tun");
  f = healthy();
  f.net_admin = false;
  expect(f, "interface", Grade::fail, "CAP_NET_ADMIN", "--cap-add NET_ADMIN");
  f = healthy();
  f.ipv6_off = true;
  expect(f, "interface", Grade::fail, "IPv6 is switched off", "disable_ipv6=0");
  f = healthy();
  f.interface_exists = false;
  expect(f, "interface", Grade::fail, "is gone", "systemctl restart weft");
  f = healthy();
  f.interface_up = false;
  expect(f, "interface", Grade::fail, "is down", "ip link set weft0 up");
  f = healthy();
  f.interface_has_address = false;
  expect(f, "interface", Grade::fail, "lost its address", "ip -6 addr add fd00::1/128 dev weft0");
}

TEST(Doctor, Routes) {
  DoctorFacts f = healthy();
  f.mesh_route = "wg0";
  expect(f, "route", Grade::fail, "goes to wg0", "ip -6 route replace fd00::/8 dev weft0");
  f.mesh_route.clear();
  expect(f, "route", Grade::fail, "no route", "ip -6 route replace");
}

TEST(Doctor, Sizes) {
  DoctorFacts f = healthy();
  f.interface_mtu = 1400;
  expect(f, "mtu", Grade::warn, "MTU 1400", "ip link set weft0 mtu 1280");
  f = healthy();
  f.underlay[0].mtu = 1300;
  expect(f, "mtu", Grade::warn, "in fragments", "transports.udp.mtu: 1272");
  f = healthy();
  f.rmem_max = 212992;
  EXPECT_EQ(trouble(diagnose(f), "buffers"), nullptr) << "weftd may pass the limit";
  f.net_admin = false;
  expect(f, "buffers", Grade::warn, "212992", "net.core.rmem_max=2097152");
}

TEST(Doctor, PortsAndLinks) {
  DoctorFacts f = healthy();
  f.peers = {{"peers", Json::array()}};
  f.status["weft"] = {{"linked", false},
                      {"headline", "not linked: nobody is configured"},
                      {"why", {"bee: silent"}},
                      {"next_steps", {"weft peer add"}}};
  f.only_private_addresses = true;
  expect(f, "links", Grade::fail, "nobody is configured", "weft peer add");
  expect(f, "port", Grade::warn, "private addresses only", "nft list ruleset");
  f.transports["transports"][0]["state"] = "failed";
  f.transports["transports"][0]["weft"] = {{"note", "cannot bind 0.0.0.0:2121"}};
  expect(f, "port", Grade::fail, "cannot bind", "ss -ulpn");
  f.status = nullptr;
  f.port_troubles = {"0.0.0.0:2121: fips holds this port"};
  expect(f, "port", Grade::fail, "holds this port", "ss -ulpn");
}

TEST(Doctor, TheUnderlayMustNotLoop) {
  DoctorFacts f = healthy();
  f.underlay = {{"bee", "[fd12::1]:2121", true, false, 0, ""}};
  expect(f, "underlay", Grade::fail, "inside the mesh", "weft peer add");
  f.underlay = {{"bee", "10.9.0.1:2121", false, true, 1280, ""}};
  expect(f, "underlay", Grade::fail, "round in circles", "ip route get");
  f.underlay = {{"bee", "10.9.0.1:2121", false, false, 0, "Network is unreachable"}};
  expect(f, "underlay", Grade::warn, "unreachable", "ip route");
}

TEST(Doctor, AccessListsAndClock) {
  DoctorFacts f = healthy();
  f.refusals = {
      {"refusals", {{{"reason", "acl_denied"}, {"display_name", "cat"}, {"rule", "peers.deny line 2"}}}}};
  expect(f, "acl", Grade::warn, "cat was refused: peers.deny line 2", "peers.allow");
  f = healthy();
  f.tree["peers"][0]["weft"]["clock_lead_secs"] = 3600;
  expect(f, "clock", Grade::warn, "behind", "set-ntp true");
  f.tree["peers"][0]["weft"] = {{"clock_lead_secs", -7200}, {"announces", 5}};
  expect(f, "clock", Grade::warn, "may be ahead", "set-ntp true");
  f.tree["peers"][0]["weft"] = {{"clock_lead_secs", -7200}, {"announces", 1}};
  EXPECT_EQ(trouble(diagnose(f), "clock"), nullptr) << "one announce may simply be old";
  f.clock_sane = false;
  expect(f, "clock", Grade::fail, "in the past", "set-ntp true");
}

TEST(Doctor, NamesDirectlyAndThroughTheSystem) {
  DoctorFacts f = healthy();
  f.system_answer.clear();
  f.system_trouble = "Name or service not known";
  expect(f, "names", Grade::warn, "does not ask it", "dnsmasq");
  f.resolved_runs = true;
  expect(f, "names", Grade::warn, "does not ask it", "resolved.conf.d");
  f.direct_answer.clear();
  f.direct_trouble = "no answer";
  expect(f, "names", Grade::fail, "no answer", "ss -ulpn");
}

TEST(Doctor, AFullSizePacketAndExposure) {
  DoctorFacts f = healthy();
  f.probe["weft"]["stages"] = {{{"stage", "full_size"},
                                {"verdict", "failed"},
                                {"text", "1203 do not come back"},
                                {"remedies", {"set transports.udp.mtu: 1100"}}}};
  expect(f, "packet", Grade::warn, "bee: 1203 do not come back", "1100");
  f.probe["weft"]["stages"][0]["stage"] = "round_trip";
  expect(f, "packet", Grade::fail, "bee", "1100");
  f = healthy();
  f.listening = {{"firewall_active", false},
                 {"sockets", {{{"proto", "tcp"}, {"port", 22}, {"filter", "no_firewall"}}}}};
  expect(f, "firewall", Grade::warn, "tcp/22", "firewall");
  f.firewall = {{"trouble", "the rules did not load"}};
  expect(f, "firewall", Grade::fail, "did not load", "nft list table");
}

TEST(Doctor, AnswersOfAnyShapeAreSurvived) {
  DoctorFacts f = healthy();
  const Json odd[] = {Json(),
                      Json(3),
                      Json::array(),
                      Json::object(),
                      Json{{"peers", 3}, {"sockets", "x"}, {"weft", 1}, {"transports", {1, "a"}}},
                      Json{{"peers", {nullptr, 1}}, {"refusals", {Json::array()}}, {"stages", 9}}};
  for (const Json& j : odd) {
    f.peers = f.tree = f.transports = f.acl = f.refusals = f.listening = f.probe = f.wanted = j;
    if (j.is_object()) f.status = j;
    EXPECT_FALSE(diagnose(f).empty());
  }
  Check c{"daemon", Grade::warn, "", {}};
  EXPECT_EQ(doctor_text({c}, {}), "warn  daemon    \n");
}

}  // namespace
}  // namespace weft::cli
