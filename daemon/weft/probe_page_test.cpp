#include "weft/probe_page.h"

#include <gtest/gtest.h>

namespace weft::cli {
namespace {

Json stage(const char* name, const char* verdict, const char* text = "", const char* reason = nullptr) {
  return {{"stage", name},
          {"verdict", verdict},
          {"text", text},
          {"reason", reason == nullptr ? Json(nullptr) : Json(reason)},
          {"remedies", {"do this", "or that"}}};
}
Json report(std::vector<Json> stages, const char* overall = "running") {
  return {{"target", {{"display_name", "bee"}, {"npub", "npub1b"}, {"ipv6_addr", "fd00::b"}}},
          {"overall", overall},
          {"weft", {{"stages", std::move(stages)}, {"conclusion", "reachable"}}}};
}

TEST(ProbePage, EachStageIsPrintedOnceWhenItIsOver) {
  ProbePage page({});
  const auto first = report({stage("filter", "ok", "by cat"), stage("lookup", "running", "asked 1 neighbour"),
                             stage("path", "pending")});
  const std::string once = page.update(first);
  EXPECT_NE(once.find("bee  npub1b  fd00::b"), std::string::npos);
  EXPECT_NE(once.find("claimed     ok      by cat"), std::string::npos) << once;
  EXPECT_EQ(once.find("neighbour"), std::string::npos);
  EXPECT_EQ(page.update(first), "");
  EXPECT_NE(page.waiting(first).find("asked 1 neighbour …"), std::string::npos);
  const auto next = page.update(report({stage("filter", "ok"), stage("lookup", "failed", "nobody answers"),
                                        stage("path", "skipped", "", "not_reached")}));
  EXPECT_EQ(next,
            "  lookup      failed  nobody answers\n"
            "                      * do this\n"
            "                      * or that\n");
}

TEST(ProbePage, RemediesAreForFailuresOnly) {
  ProbePage page({});
  EXPECT_EQ(page.update(report({stage("filter", "skipped", "known already", "cached")})).find("do this"),
            std::string::npos);
}

TEST(Trace, SeparatesKnowledgeFromInference) {
  Json r = report({}, "ok");
  r["path"] = {{"tree_distance", 3}, {"tree_hops_up", 2}, {"tree_hops_down", 1}};
  r["session"] = {{"path_mtu", 1280}};
  r["weft"]["walk"] = {{"complete", true},
                       {"links_back", 2},
                       {"steps",
                        {{{"display_name", "cat"}, {"known", true}, {"link_mtu", 1280}, {"link_rtt_ms", 1.5}},
                         {{"display_name", "dog"}, {"known", false}},
                         {{"display_name", "bee"}, {"known", true}}}}};
  r["weft"]["coords_proven_ago_ms"] = 3000;
  const std::string t = trace_text(r, {});
  for (const char* part :
       {"1  cat                   known     this node's next hop, link round trip 1.5 ms, link MTU 1280",
        "2  dog                   inferred  on the straight way along the tree",
        "3  bee                   known     the target; it answered", "at most 3", "signed    2 up, 1 down",
        "measured  2, by the hop limit", "frames of 1280 bytes"})
    EXPECT_NE(t.find(part), std::string::npos) << part << "\n" << t;
  r["weft"]["walk"]["complete"] = false;
  EXPECT_NE(trace_text(r, {}).find("?"), std::string::npos);
}

TEST(Trace, AnswersOfAnyShapeAreSurvived) {
  for (const Json& j :
       {Json(), Json(1), Json::array(), Json::object(), Json{{"weft", 3}},
        Json{{"weft", {{"stages", 3}, {"walk", {{"steps", {1, nullptr}}}}}}},
        Json{{"weft", {{"stages", {1, nullptr, Json::object()}}, {"signals", {2}}}}, {"path", "x"}}}) {
    ProbePage page({});
    page.update(j);
    page.waiting(j);
    page.conclusion(j);
    EXPECT_FALSE(trace_text(j, {}).empty());
  }
}

}  // namespace
}  // namespace weft::cli
