// What a live view and a scraper are told.
#include <map>
#include <set>
#include <sstream>

#include "control/metrics_page.h"
#include "control/rig_test.h"

namespace weft::control {
namespace {

using rig::Json;
using rig::Pair;

Pair& linked() {
  static auto* pair = [] {
    auto* p = new Pair;  // NOLINT: lives as long as the program
    p->run(3s);
    p->send_packet();
    p->run(8s);
    return p;
  }();
  return *pair;
}
/// A row's value by the name of its column.
Json field(const Json& page, std::size_t row, const std::string& column) {
  for (std::size_t i = 0; i < page["columns"].size(); ++i)
    if (page["columns"][i] == column) return page["rows"][row][i];
  ADD_FAILURE() << "no column " << column;
  return nullptr;
}
Json top(const Json& params) { return linked().a->data(linked().now, "show_top", params); }

TEST(ShowTop, EveryPageHasRowsAsLongAsItsColumnsAndAHead) {
  for (const char* page : {"peers", "tree", "sessions", "workers", "refusals"}) {
    const Json d = top({{"page", page}});
    EXPECT_EQ(d["page"], page);
    EXPECT_EQ(d["head"]["linked"], true);
    EXPECT_TRUE(d["head"]["headline"].get<std::string>().starts_with("linked: 1 peer"));
    EXPECT_TRUE(d["at_ms"].is_number());
    for (const auto& row : d["rows"]) EXPECT_EQ(row.size(), d["columns"].size()) << page;
    EXPECT_EQ(d["total"], d["of"]) << page;
  }
  EXPECT_EQ(top({{"page", "peers"}})["rows"].size(), 1U);
  EXPECT_EQ(top({{"page", "tree"}})["rows"].size(), 1U);
  EXPECT_EQ(top({{"page", "sessions"}})["rows"].size(), 1U);
}

TEST(ShowTop, APeerIsTheOneOfShowPeers) {
  const Json d = top(nullptr);
  EXPECT_EQ(field(d, 0, "name"), "bee");
  EXPECT_EQ(field(d, 0, "npub"), linked().b->node.identity().npub());
  EXPECT_EQ(field(d, 0, "address"), "192.0.2.2:2121");
  EXPECT_EQ(field(d, 0, "state"), "ok");
  EXPECT_GT(field(d, 0, "rtt_ms").get<double>(), 0);
  EXPECT_GT(field(d, 0, "received").get<double>(), 0);
  EXPECT_EQ(field(d, 0, "traffic").size(), 30U);
  EXPECT_EQ(field(top({{"points", 5}}), 0, "rtt").size(), 5U);
}

TEST(ShowTop, EveryOrderAndTurnIsUnderstood) {
  for (const char* sort :
       {"rate", "name", "rtt", "loss", "cost", "in", "out", "received", "sent", "up", "role", "state",
        "depth", "distance", "nodes", "idle", "minute", "count", "nonsense"})
    for (const char* page : {"peers", "tree", "sessions", "refusals"})
      for (const int reverse : {0, 1})
        EXPECT_EQ(top({{"page", page}, {"sort", sort}, {"reverse", reverse}})["page"], page);
}

TEST(ShowTop, OnlyThePieceThatIsWantedIsMade) {
  EXPECT_EQ(top({{"filter", "BE"}})["total"], 1);
  EXPECT_EQ(top({{"filter", "192.0.2.2"}})["total"], 1);
  const Json none = top({{"filter", "zebra"}});
  EXPECT_EQ(none["total"], 0);
  EXPECT_EQ(none["of"], 1);
  EXPECT_EQ(top({{"limit", 0}})["rows"].size(), 0U);
  const Json far = top({{"offset", 1'000'000'000'000}, {"limit", 5}});
  EXPECT_EQ(far["offset"], 0);
  EXPECT_EQ(far["rows"].size(), 1U) << "scrolled past the end, the last rows are shown";
  EXPECT_LE(top({{"limit", 1'000'000'000}, {"points", 1'000'000'000}})["rows"].size(), 500U);
}

TEST(ShowTop, CurvesHaveAsManyPointsAsWanted) {
  for (const char* page : {"traffic", "workers"})
    for (const int window : {600, 3600, 86'400}) {
      const Json d = top({{"page", page}, {"points", 40}, {"window", window}});
      ASSERT_FALSE(d["curves"].empty());
      for (const auto& c : d["curves"]) EXPECT_EQ(c["values"].size(), 40U) << c["name"];
    }
  const Json d = top({{"page", "peer"}, {"peer", "bee"}, {"points", 60}, {"window", 60}});
  EXPECT_EQ(d["name"], "bee");
  EXPECT_EQ(d["curves"][2]["name"], "srtt_ms");
  EXPECT_TRUE(d["curves"][2]["values"].back().is_number());
}

TEST(ShowTop, WrongQuestionsAreAnsweredWithASentence) {
  Pair& p = linked();
  const auto message = [&](const Json& params) {
    return p.a->ask(p.now, Json{{"command", "show_top"}, {"params", params}}.dump()).value("message", "");
  };
  EXPECT_TRUE(message({{"page", "x"}}).starts_with("unknown page: x (expected peers, "));
  EXPECT_FALSE(message({{"page", "peer"}}).empty());
  EXPECT_FALSE(message({{"page", "peer"}, {"peer", "nobody"}}).empty());
  EXPECT_EQ(message({{"page", 5}, {"limit", "x"}, {"sort", {1}}, {"offset", -4}}), "")
      << "as if it were not there";
}

TEST(ShowTop, WhatIsWrongIsInTheHead) {
  std::deque<rig::Flight> wire;
  rig::Side s(9, {}, wire, Instant{1000s});
  const Json d = s.data(Instant{1000s}, "show_top");
  EXPECT_EQ(d["head"]["linked"], false);
  EXPECT_TRUE(d["head"]["advice"].is_string());
}

// ---- the scraper's page ---------------------------------------------------------------------------------------------

struct Sample {
  std::string name, labels;
  double value = 0;
};
struct Parsed {
  std::map<std::string, std::string> types;
  std::vector<Sample> samples;
  const Sample* find(const std::string& name, const std::string& label = {}) const {
    for (const auto& s : samples)
      if (s.name == name && s.labels.find(label) != std::string::npos) return &s;
    return nullptr;
  }
};
Parsed parse(const std::string& page) {
  Parsed out;
  std::istringstream in(page);
  for (std::string line, family; std::getline(in, line);) {
    std::istringstream words(line);
    if (line.starts_with("# HELP ")) {
      std::string hash, help;
      words >> hash >> help >> family;
      EXPECT_FALSE(out.types.contains(family)) << family << " twice";
    } else if (line.starts_with("# TYPE ")) {
      std::string hash, type, name, kind;
      words >> hash >> type >> name >> kind;
      EXPECT_EQ(name, family);
      out.types[name] = kind;
    } else {
      const auto space = line.rfind(' ');
      const auto brace = line.find('{');
      Sample s{line.substr(0, std::min(brace, space)), "", std::stod(line.substr(space + 1))};
      if (brace != std::string::npos) s.labels = line.substr(brace, space - brace);
      EXPECT_EQ(s.name, family) << line;
      out.samples.push_back(std::move(s));
    }
  }
  return out;
}
Parsed metrics(std::size_t most = 10, const ShellView* shell = nullptr) {
  Pair& p = linked();
  const std::string page =
      metrics_page(p.a->node, rig::Side::at(p.now), shell != nullptr ? *shell : p.a->view(), most);
  EXPECT_TRUE(page.ends_with("\n"));
  return parse(page);
}

TEST(MetricsPage, NamesAndUnitsFollowTheConventions) {
  const Parsed m = metrics();
  for (const auto& [name, type] : m.types) {
    EXPECT_TRUE(name.starts_with("weft_") || name.starts_with("process_")) << name;
    EXPECT_EQ(type == "counter", name.ends_with("_total")) << name;
    for (const char* odd : {"_ms", "_kb", "_percent"}) EXPECT_EQ(name.find(odd), std::string::npos) << name;
  }
  std::set<std::string> seen;
  for (const auto& s : m.samples) {
    EXPECT_TRUE(seen.insert(s.name + s.labels).second) << s.name << s.labels << " twice";
    EXPECT_TRUE(std::isfinite(s.value)) << s.name;
  }
}

TEST(MetricsPage, TellsWhatTheNodeKnows) {
  const Parsed m = metrics();
  EXPECT_EQ(m.find("weft_linked")->value, 1);
  EXPECT_EQ(m.find("weft_peers")->value, 1);
  EXPECT_EQ(m.find("weft_sessions")->value, 1);
  ASSERT_NE(m.find("weft_peer_rtt_seconds"), nullptr);
  EXPECT_LT(m.find("weft_peer_rtt_seconds")->value, 1) << "seconds, not milliseconds";
  EXPECT_NE(m.find("weft_peer_received_bytes_total", "peer=\"bee\""), nullptr);
  EXPECT_EQ(m.find("weft_wanted_peer_up", "bee")->value, 1);
  EXPECT_NE(m.find("weft_drops_total", "cause=\"bad_tag\""), nullptr)
      << "what never happened too, so that a rate begins";
}

TEST(MetricsPage, PeersBeyondTheBoundAreOnlyCounted) {
  const Parsed m = metrics(0);
  EXPECT_EQ(m.find("weft_peer_received_bytes_total"), nullptr);
  EXPECT_EQ(m.find("weft_wanted_peer_up"), nullptr);
  EXPECT_EQ(m.find("weft_peers_not_listed")->value, 1);
}

TEST(MetricsPage, ThreadsAndTransportsAreListed) {
  ShellView shell = linked().a->view();
  shell.workers = [] { return std::vector<WorkerView>{{"weft-\"x\\\n", 1500ms, 1, 2, 3, 4, false}}; };
  shell.process = [] { return ProcessView{2500ms, 20'000'000}; };
  const Parsed m = metrics(1, &shell);
  EXPECT_EQ(m.find("weft_thread_cpu_seconds_total", "thread=\"weft-\\\"x\\\\\\n\"")->value, 1.5);
  EXPECT_EQ(m.find("process_cpu_seconds_total")->value, 2.5);
  EXPECT_EQ(m.find("process_resident_memory_bytes")->value, 20'000'000);
  EXPECT_EQ(m.find("weft_transport_packets_total", "{transport=\"udp/main\",direction=\"in\"}")->value, 5);
}

}  // namespace
}  // namespace weft::control
