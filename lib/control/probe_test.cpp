// Probes over the control protocol: the reference's three commands, and our own that is followed.
#include "control/rig_test.h"

namespace weft::control {
namespace {

using rig::Json;
using rig::Pair;

struct Probing : testing::Test {
  void SetUp() override { pair.run(8s); }
  std::string b_npub() { return pair.b->node.identity().npub(); }
  std::string message(const char* command, const Json& params = nullptr) {
    Json request = {{"command", command}};
    if (!params.is_null()) request["params"] = params;
    const Json j = pair.a->ask(pair.now, request.dump());
    EXPECT_EQ(j["status"], "error") << j.dump();
    return j.value("message", "");
  }
  /// The last report of a probe that is polled every 250 ms, as the reference's client does.
  Json poll(std::uint64_t id) {
    for (int i = 0; i < 400; ++i) {
      const Json d = pair.a->data(pair.now, "probe_poll", {{"probe_id", id}});
      if (d["state"] == "done") return d["report"];
      EXPECT_EQ(d["report"]["overall"], "running");
      pair.run(250ms);
    }
    ADD_FAILURE() << "it never ended";
    return nullptr;
  }
  /// All lines of a followed probe.
  std::vector<Json> follow_all() {
    Outbox out;
    Context c{pair.a->node, rig::Side::at(pair.now), out, pair.a->view()};
    std::vector<Json> lines{
        Json::parse(handle_request(Json{{"command", "probe"}, {"params", {{"target", "bee"}}}}.dump(), c))};
    pair.a->carry_out(pair.now, out);
    EXPECT_TRUE(c.followed.has_value()) << lines[0].dump();
    std::uint64_t revision = 0;
    for (int i = 0; c.followed && i < 2000; ++i) {
      const auto next = follow(pair.a->node, rig::Side::at(pair.now), *c.followed, revision);
      if (next.line) lines.push_back(Json::parse(*next.line));
      if (next.done) return lines;
      pair.run(50ms);
    }
    ADD_FAILURE() << "it never ended";
    return lines;
  }
  Pair pair;
};

TEST_F(Probing, TheReferencesReportHasAllItsMembers) {
  const Json started = pair.a->data(pair.now, "probe_start", {{"npub", b_npub()}});
  EXPECT_TRUE(started["probe_id"].is_number_unsigned() && started["budget_ms"].is_number_unsigned());
  const Json r = poll(started["probe_id"].get<std::uint64_t>());
  const std::pair<const char*, std::vector<const char*>> kMembers[] = {
      {"bloom", {"detail", "elapsed_ms", "fanout", "reason", "verdict"}},
      {"cleanup",
       {"coords_were_cached", "identity_was_cached", "left_intact_reason", "lookup_issued",
        "session_created_and_torn_down", "session_left_intact", "warmups_sent"}},
      {"discovery",
       {"attempt_timeouts_secs", "attempts", "detail", "elapsed_ms", "reason", "source", "verdict"}},
      {"path",
       {"computed_locally", "coords_known", "detail", "elapsed_ms", "lca", "lca_depth", "next_hop",
        "no_hop_reason", "observed", "our_coords", "our_depth", "reason", "same_root", "their_coords",
        "their_depth", "tree_distance", "tree_hops_down", "tree_hops_up", "verdict"}},
      {"rtt",
       {"arith_failures", "detail", "elapsed_ms", "reason", "reports_seen", "samples", "verdict",
        "zero_samples"}},
      {"session", {"detail", "elapsed_ms", "established", "preexisting", "reason", "verdict"}},
      {"target", {"display_name", "ipv6_addr", "node_addr", "npub"}}};
  for (const auto& [part, keys] : kMembers)
    for (const char* key : keys) EXPECT_TRUE(r[part].contains(key)) << part << "." << key;
  EXPECT_EQ(r["overall"], "ok") << r.dump(1);
  EXPECT_EQ(r["bloom"]["reason"], "direct_peer");
  EXPECT_EQ(r["path"]["next_hop"]["class"], "direct_peer");
  EXPECT_TRUE(r["session"]["established"].get<bool>());
  EXPECT_TRUE(r["rtt"].contains("rtt_ms"));
  EXPECT_EQ(message("probe_poll", {{"probe_id", started["probe_id"]}}).find("unknown probe id: "), 0U)
      << "read once";
}

TEST_F(Probing, ErrorsBeginWithTheWordsOfTheReference) {
  EXPECT_EQ(message("probe_start"), "missing params for probe_start");
  EXPECT_EQ(message("probe_start", Json::object()), "missing 'npub' parameter");
  EXPECT_EQ(message("probe_start", {{"npub", 3}}), "missing 'npub' parameter");
  EXPECT_EQ(message("probe_start", {{"npub", "npub1x"}}).find("invalid peer npub: "), 0U);
  EXPECT_EQ(message("probe_start", {{"npub", pair.a->node.identity().npub()}}), "cannot probe this node");
  for (const char* command : {"probe_poll", "probe_cancel"}) {
    EXPECT_EQ(message(command), "missing 'probe_id' parameter");
    EXPECT_EQ(message(command, {{"probe_id", "7"}}), "missing 'probe_id' parameter");
    EXPECT_EQ(message(command, {{"probe_id", 7}}), "unknown probe id: 7");
  }
  EXPECT_NE(message("probe", {{"target", "nobody"}}).find("neither an npub nor a name"), std::string::npos);
  for (int i = 0; i < 4; ++i) pair.a->data(pair.now, "probe_start", {{"npub", b_npub()}});
  EXPECT_EQ(message("probe_start", {{"npub", b_npub()}}), "too many probes in flight");
  const Json gone = pair.a->data(pair.now, "probe_cancel", {{"probe_id", 1}});
  EXPECT_EQ(gone["cancelled"], true);
  EXPECT_EQ(pair.a->data(pair.now, "probe_poll", {{"probe_id", 1}})["report"]["overall"], "cancelled");
}

TEST_F(Probing, AFollowedProbeTellsEachStageAndTriesAFullPacket) {
  pair.b->answers_ping = true;
  const auto lines = follow_all();
  ASSERT_GE(lines.size(), 3U);
  const Json& r = lines.back()["data"]["report"];
  EXPECT_EQ(lines.back()["data"]["state"], "done");
  EXPECT_EQ(r["overall"], "ok") << r["weft"].dump(1);
  EXPECT_EQ(r["weft"]["largest_passed"], 65507 - 77) << "this wire carries whatever UDP can";
  EXPECT_EQ(r["weft"]["walk"]["links_back"], 1);
  EXPECT_TRUE(r["weft"]["rtt_by_echo"].get<bool>());
  EXPECT_EQ(pair.a->packets_in, 0U) << "answers to probes are the core's, and reach no program";
  std::size_t settled = 0;
  for (const Json& line : lines) {
    std::size_t now = 0;
    for (const Json& s : line["data"]["report"]["weft"]["stages"])
      now += s["verdict"] == "ok" || s["verdict"] == "skipped";
    EXPECT_GE(now, settled);
    settled = now;
  }
}

TEST_F(Probing, ANodeWithoutAnIpSideAnswersByItsReports) {
  const auto lines = follow_all();
  const Json& r = lines.back()["data"]["report"];
  EXPECT_EQ(r["overall"], "partial");
  EXPECT_EQ(r["rtt"]["verdict"], "ok");
  EXPECT_FALSE(r["weft"]["rtt_by_echo"].get<bool>());
}

TEST_F(Probing, WhatNobodyFollowsAnyMoreEnds) {
  Outbox out;
  Context c{pair.a->node, rig::Side::at(pair.now), out, pair.a->view()};
  handle_request(R"({"command":"probe","params":{"target":"bee"}})", c);
  ASSERT_TRUE(c.followed);
  EXPECT_EQ(pair.a->node.probes().jobs().running(), 1U);
  unfollow(pair.a->node, rig::Side::at(pair.now), *c.followed);
  EXPECT_TRUE(pair.a->node.probes().jobs().idle());
  std::uint64_t revision = 0;
  const auto next = follow(pair.a->node, rig::Side::at(pair.now), *c.followed, revision);
  EXPECT_TRUE(next.done);
}

}  // namespace
}  // namespace weft::control
