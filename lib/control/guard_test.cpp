// Firewall, access lists and names over the control protocol.
#include "control/rig_test.h"

namespace weft::control::rig {
namespace {

class Shell final : public ShellActions {
 public:
  Result<Changed, std::string> change_firewall(const firewall::Entry& e) override {
    wishes.push_back(e);
    if (!refuses.empty()) return bad(refuses);
    return Changed{1, !e.allow, ""};
  }
  Result<void, std::string> reload_lists() override {
    ++reloads;
    if (!refuses.empty()) return bad(refuses);
    return {};
  }
  std::vector<firewall::Entry> wishes;
  std::string refuses;
  int reloads = 0;
};

class Guard : public testing::Test {
 protected:
  explicit Guard(std::string deny = {}) {
    config::Config c;
    c.peers.push_back({bee, "bee", {{"udp", "192.0.2.2:2121", 100}}});
    side = std::make_unique<Side>(1, std::move(c), wire, now, std::move(deny));
  }
  Json ask(const std::string& command, const Json& params, ShellActions* actions) {
    Outbox out;
    ShellView v = side->view();
    v.firewall_on = true;
    v.deny_file = "/etc/weft/peers.deny";
    v.firewall = [this] {
      FirewallView f;
      f.on = true;
      f.interface = "weft0";
      f.rows = {{.ports = {config::ForwardProto::tcp, 22, 22}, .source = "weft.yaml:3"},
                {.ports = {config::ForwardProto::tcp, 80, 80},
                 .from = "nobody",
                 .source = "weft.yaml:4",
                 .trouble = "unknown"}};
      f.rows.insert(f.rows.end(), more_rows.begin(), more_rows.end());
      return f;
    };
    Context c{side->node, Side::at(now), out, std::move(v), actions};
    return Json::parse(handle_request(Json{{"command", command}, {"params", params}}.dump(), c));
  }
  std::string message(const std::string& command, const Json& params, ShellActions* actions) {
    const Json j = ask(command, params, actions);
    return j["status"] == "error" ? j["message"].get<std::string>() : "ok: " + j.dump();
  }
  static std::string npub(std::uint64_t seed) {
    SeededRng rng(seed);
    return crypto::Identity::generate(rng).npub();
  }

  const std::string bee = npub(77);
  const Instant now{1000s};
  std::deque<Flight> wire;
  std::unique_ptr<Side> side;
  Shell shell;
  std::vector<FirewallView::Row> more_rows;
};
class Strict : public Guard {
 protected:
  Strict() : Guard("# nobody\nALL\n") {}
};

TEST_F(Guard, AWishReachesTheShellWithEverythingThatWasSaid) {
  const Json d =
      ask("firewall_allow", {{"port", "udp/5000-5010"}, {"from", "bee"}, {"for", "1h"}}, &shell)["data"];
  ASSERT_EQ(shell.wishes.size(), 1U);
  EXPECT_TRUE(shell.wishes[0].allow);
  EXPECT_EQ(config::text_of(shell.wishes[0].ports), "udp/5000-5010");
  EXPECT_EQ(crypto::npub_of(*shell.wishes[0].from), bee);
  EXPECT_EQ(*shell.wishes[0].until, Side::at(now).unix_ms / 1000 + 3600);
  EXPECT_EQ(d["from"], "bee");
  EXPECT_EQ(ask("firewall_deny", {{"port", "tcp/22"}}, &shell)["data"]["refusal_kept"], true);
  EXPECT_FALSE(shell.wishes[1].allow);
  EXPECT_FALSE(shell.wishes[1].from);
}

TEST_F(Guard, AWrongWishIsRefusedInWordsAndReachesNobody) {
  EXPECT_EQ(message("firewall_allow", nullptr, &shell), "missing params for firewall_allow");
  EXPECT_EQ(message("firewall_allow", {{"from", "bee"}}, &shell), "missing 'port' parameter");
  EXPECT_TRUE(message("firewall_allow", {{"port", "ssh"}}, &shell).starts_with("\"ssh\" is not a port"));
  EXPECT_TRUE(
      message("firewall_deny", {{"port", "tcp/1"}, {"from", "x"}}, &shell).starts_with("\"x\" is neither"));
  EXPECT_TRUE(message("firewall_allow", {{"port", "tcp/1"}, {"for", "ever"}}, &shell)
                  .starts_with("\"ever\" is not a time"));
  EXPECT_TRUE(shell.wishes.empty());
  shell.refuses = "the disk is full";
  EXPECT_EQ(message("firewall_allow", {{"port", "tcp/1"}}, &shell), "the disk is full");
  EXPECT_TRUE(
      message("firewall_allow", {{"port", "tcp/1"}}, nullptr).starts_with("this daemon cannot do that"));
}

TEST_F(Guard, ShowsWhatIsOpenAndWhetherAnybodyListens) {
  const Json d = ask("show_firewall", nullptr, &shell)["data"];
  ASSERT_EQ(d["rules"].size(), 2U);
  EXPECT_EQ(d["rules"][0]["listening"], true) << "the rig has a listener on tcp/22";
  EXPECT_EQ(d["rules"][1]["listening"], false);
  EXPECT_EQ(d["rules"][1]["active"], false);
  EXPECT_EQ(d["packets"]["refused"], 0);
  const Json open = ask("show_status", nullptr, &shell)["data"]["weft"]["reachable"];
  ASSERT_EQ(open.size(), 1U) << "what is not in force opens nothing";
  EXPECT_EQ(open[0]["port"], "tcp/22");
}

TEST_F(Guard, ARuleForOneNodeCallsItByItsName) {
  const auto row = [](const std::string& from) {
    FirewallView::Row r{.ports = {config::ForwardProto::tcp, 443, 443}, .from = from, .source = "allow"};
    r.from_addr = mesh_addr_of(crypto::node_addr_of(*crypto::parse_npub(from)));
    return r;
  };
  more_rows = {row(bee), row(npub(9))};
  const Json rules = ask("show_firewall", nullptr, &shell)["data"]["rules"];
  ASSERT_EQ(rules.size(), 4U);
  EXPECT_EQ(rules[2]["from"], bee);
  EXPECT_EQ(rules[2]["from_addr"], text_of(*more_rows[0].from_addr));
  EXPECT_EQ(rules[2]["from_name"], "bee");
  EXPECT_EQ(rules[3]["from_name"],
            side->node.display_name(crypto::node_addr_of(*crypto::parse_npub(npub(9)))))
      << "has no name";
}

TEST_F(Guard, AclCheckSaysThatNobodySaidAnything) {
  const Json d = ask("acl_check", {{"key", "bee"}}, nullptr)["data"];
  EXPECT_EQ(d["admitted"], true);
  EXPECT_TRUE(d["line"].is_null());
  EXPECT_EQ(d["npub"], bee);
  EXPECT_TRUE(d["notes"].empty());
  const Json self = ask("acl_check", {{"key", side->node.identity().npub()}}, nullptr)["data"];
  EXPECT_EQ(self["notes"].size(), 1U);
  EXPECT_TRUE(message("acl_check", {{"key", "nobody"}}, nullptr).starts_with("\"nobody\" is neither"));
  EXPECT_EQ(message("acl_check", Json::object(), nullptr), "missing 'key' parameter");
}

TEST_F(Strict, AclCheckNamesFileLineAndEntry) {
  const Json d = ask("acl_check", {{"key", npub(5)}}, nullptr)["data"];
  EXPECT_EQ(d["admitted"], false);
  EXPECT_EQ(d["file"], "/etc/weft/peers.deny");
  EXPECT_EQ(d["line"], 2);
  EXPECT_EQ(d["token"], "ALL");
}

TEST_F(Guard, NamesSayWhereTheyComeFrom) {
  side->node.set_hosts(Side::at(now), "printer " + npub(9) + "\nBEE " + bee + "\n");
  const Json names = ask("show_names", nullptr, nullptr)["data"]["names"];
  ASSERT_EQ(names.size(), 2U);
  EXPECT_EQ(names[0]["name"], "bee");
  EXPECT_EQ(names[0]["source"], "hosts") << "the file goes over the alias";
  EXPECT_EQ(names[1]["npub"], npub(9));
}

TEST_F(Guard, ReloadingListsIsTheShellsAndItsTroubleIsTold) {
  EXPECT_EQ(ask("reload_lists", nullptr, &shell)["status"], "ok");
  shell.refuses = "hosts:2: not an npub";
  EXPECT_EQ(message("reload_lists", nullptr, &shell), "hosts:2: not an npub");
  EXPECT_EQ(shell.reloads, 2);
}

}  // namespace
}  // namespace weft::control::rig
