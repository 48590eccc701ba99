#include "weft/pages.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <cstdlib>

#include "weft/client.h"
#include "weft/commands.h"
#include "weft/guard_pages.h"
#include "weft/keygen.h"
#include "weft/ping.h"

namespace weft::cli {
namespace {

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

Json status(bool linked) {
  return {{"npub", "npub1me"},
          {"ipv6_addr", "fd00::1"},
          {"tun_name", "weft0"},
          {"tun_state", "active"},
          {"effective_ipv6_mtu", 1203},
          {"state", "running"},
          {"pid", 7},
          {"version", "0.1.0"},
          {"uptime_secs", 65},
          {"persistent", true},
          {"forwarding", {{"originated_packets", 5}}},
          {"weft",
           {{"linked", linked},
            {"headline", linked ? "linked: 1 peer" : "not linked: bee does not answer"},
            {"why", Json::array({"bee: no answer"})},
            {"next_steps", Json::array({"look here", "look there"})},
            {"notes", Json::array()},
            {"dns", nullptr}}}};
}

TEST(Pages, TheFirstLineOfStatusIsTheHeadline) {
  const Page page;
  EXPECT_TRUE(page.status(status(true)).starts_with("linked: 1 peer\n"));
  const std::string text = page.status(status(false));
  EXPECT_TRUE(text.starts_with("not linked: bee does not answer\n"));
  EXPECT_TRUE(has(text, "Why:\n  - bee: no answer\n"));
  EXPECT_TRUE(has(text, "1. look here\n  2. look there\n"));
}

TEST(Pages, LinkedIsWhatTheDaemonSays) {
  EXPECT_TRUE(is_linked(status(true)));
  EXPECT_FALSE(is_linked(status(false)));
  EXPECT_FALSE(is_linked(Json::object()));
  EXPECT_FALSE(is_linked(Json("linked")));
}

TEST(Pages, AnyReplyOfAnyShapeIsShownSomehow) {
  const Page page;
  for (const Json& d : {Json(), Json(5), Json::array(), Json{{"peers", 5}},
                        Json{{"peers", {1, nullptr, "x", Json::object()}}},
                        Json{{"routes", {Json::object()}}}, Json{{"drops", {Json{{"count", "x"}}}}},
                        Json{{"values", {1, "x"}}}, Json{{"weft", {{"why", "x"}, {"next_steps", 5}}}}}) {
    for (const auto& text :
         {page.status(d), page.peers(d), page.wanted(d), page.links(d, d), page.tree(d), page.sessions(d),
          page.routes(d), page.cache(d), page.bloom(d), page.transports(d), page.drops(d, true), page.acl(d),
          page.refusals(d), page.metrics(d, d, d, true), page.stats_list(d), page.stats_peers(d),
          page.history(d, true, 80)})
      EXPECT_FALSE(text.empty());
  }
}

TEST(Pages, APeerThatDoesNotAnswerSaysWhenItIsTriedAgain) {
  Page page;
  page.now_ms = 1'000'000;
  const std::string text = page.wanted({{"peers",
                                         {{{"display_name", "bee"},
                                           {"npub", "npub1b"},
                                           {"addresses", {{{"addr", "192.0.2.1:2121"}}}},
                                           {"kept", true},
                                           {"up", false},
                                           {"trouble", nullptr},
                                           {"next_try_ms", 1'012'000}}}}});
  EXPECT_TRUE(has(text, "weft peer add")) << text;
  EXPECT_TRUE(has(text, "no answer; next try in 12 s")) << text;
}

TEST(Pages, HistoryCountsWhatIsThere) {
  const Page page;
  const Json d = {{"metric", "rtt"}, {"unit", "ms"}, {"granularity_seconds", 1}, {"values", {nullptr, 1, 3}}};
  EXPECT_TRUE(page.history(d, true, 80)
                  .starts_with("rtt (ms), the last 3 s: min 1, mean 2, max 3, last 3, 2 of 3 values\n"));
  EXPECT_TRUE(has(page.history({{"metric", "rtt"}, {"values", {nullptr}}}, true, 80), "no data yet"));
}

TEST(Client, AFailedConnectionNamesTheRemedy) {
  EXPECT_TRUE(has(connect_failure(ENOENT, "/run/x"), "not running"));
  EXPECT_TRUE(has(connect_failure(ECONNREFUSED, "/run/x"), "systemctl start weft,"));
  EXPECT_TRUE(has(connect_failure(EACCES, "/run/x"), "group weft"));
  EXPECT_TRUE(has(connect_failure(EACCES, "/run/x", Membership::none), "usermod -aG weft"));
  EXPECT_TRUE(has(connect_failure(EACCES, "/run/x", Membership::none), "log in anew"));
  EXPECT_TRUE(has(connect_failure(EACCES, "/run/x", Membership::since_login), "newgrp weft"));
  EXPECT_TRUE(has(connect_failure(EACCES, "/run/x", Membership::no_group), "groupadd"));
  const auto r = ask("/nonexistent/" + std::string(200, 'x'), "show_status");
  ASSERT_FALSE(r);
  EXPECT_TRUE(has(r.error(), "longer than"));
}

TEST(Pages, APortIsOpenForAsLongAsItSays) {
  const Json d = {{"port", "tcp/22"}, {"allow", true}, {"on", true}, {"until_unix", 1600}};
  EXPECT_TRUE(has(firewall_changed(d, 1'000'000), "tcp/22 is open for every node of the mesh for 10 min\n"));
}

TEST(Pages, WithoutAFirewallNobodyIsToldThatPortsAreClosed) {
  Json d = {{"interface", "weft0"}, {"on", true}, {"rules", Json::array()}};
  EXPECT_TRUE(has(firewall_page(d, {}, 0), "from the mesh only ping and answers come in"));
  d["on"] = false;
  const auto page = firewall_page(d, {}, 0);
  EXPECT_TRUE(has(page, "mesh peers reach every port")) << page;
  EXPECT_FALSE(has(page, "only ping")) << page;
}

TEST(Ping, GetsAnAddressThatCannotBeTakenForAnOption) {
  EXPECT_EQ(ping_command({"bee", 3, {"-i", "0.2"}}, "fd00::1"),
            (std::vector<std::string>{"ping", "-6", "-c", "3", "-i", "0.2", "--", "fd00::1"}));
}

class Keygen : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/weft-keygen-XXXXXX";
    dir = mkdtemp(name);
    path = dir + "/weft.key";
  }
  void TearDown() override {
    for (const char* f : {"/weft.key", "/weft.pub", "/target"}) unlink((dir + f).c_str());
    rmdir(dir.c_str());
  }
  static unsigned mode(const std::string& p) {
    struct stat s {};
    return stat(p.c_str(), &s) == 0 ? s.st_mode & 0777U : 0U;
  }
  std::string dir, path;
  SeededRng rng{4};
};

TEST_F(Keygen, WritesASecretThatOnlyItsOwnerReads) {
  const auto r = keygen(dir, false, rng);
  ASSERT_TRUE(r) << r.error();
  EXPECT_TRUE(r->out.empty());
  EXPECT_TRUE(r->err.starts_with("npub1"));
  EXPECT_EQ(mode(path), 0600U);
  EXPECT_EQ(mode(dir + "/weft.pub"), 0644U);
}

TEST_F(Keygen, NeverReplacesAKeyUnlessForced) {
  ASSERT_TRUE(keygen(dir, false, rng));
  EXPECT_FALSE(keygen(dir, false, rng));
  EXPECT_TRUE(keygen(dir, true, rng));
}

TEST_F(Keygen, ADanglingLinkIsAKeyThatExistsAndIsNeverWrittenThrough) {
  ASSERT_EQ(symlink((dir + "/target").c_str(), path.c_str()), 0);
  EXPECT_FALSE(keygen(dir, false, rng));
  EXPECT_FALSE(keygen(dir, true, rng));
  EXPECT_NE(access((dir + "/target").c_str(), F_OK), 0);
}

TEST_F(Keygen, ToStandardOutputWritesNothing) {
  const auto r = keygen_to_stdout(rng);
  EXPECT_TRUE(r.out.starts_with("nsec1"));
  EXPECT_TRUE(has(r.out, "\nnpub1"));
}

int run_words(std::vector<std::string> words) {
  words.insert(words.begin(), "weft");
  std::vector<char*> argv;
  for (auto& w : words) argv.push_back(w.data());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int code = run(static_cast<int>(argv.size()), argv.data());
  testing::internal::GetCapturedStdout();
  testing::internal::GetCapturedStderr();
  return code;
}

TEST(Commands, MisuseIsTwoAndFailureIsOne) {
  EXPECT_EQ(run_words({}), 2);
  EXPECT_EQ(run_words({"nope"}), 2);
  EXPECT_EQ(run_words({"peers", "--nope"}), 2);
  EXPECT_EQ(run_words({"connect", "npub1x"}), 2);
  EXPECT_EQ(run_words({"peer"}), 2);
  EXPECT_EQ(run_words({"--help"}), 0);
  EXPECT_EQ(run_words({"version", "--json"}), 0);
  EXPECT_EQ(run_words({"-s", "/nonexistent/sock", "status"}), 1);
  EXPECT_EQ(run_words({"peers", "-s", "/nonexistent/sock", "--json"}), 1);
  EXPECT_EQ(run_words({"-s", "/nonexistent/sock", "show", "status", "x"}), 2);
}

}  // namespace
}  // namespace weft::cli
