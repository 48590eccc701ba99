// The live view without a terminal: keys in, questions and screens out.
#include <gtest/gtest.h>

#include <algorithm>

#include "weft/top_view.h"

namespace weft::cli {
namespace {

constexpr std::int64_t kNow = 1'700'000'000'000;

Json head() {
  return {{"headline", "linked: 500 peers, root bee, depth 2, about 900 nodes in the mesh"},
          {"linked", true},
          {"advice", nullptr},
          {"depth", 2},
          {"root", "bee"},
          {"sessions", 7},
          {"uptime_s", 3700},
          {"version", "0.1.0"},
          {"traffic_in", {1, 2, 3}},
          {"traffic_out", {1, 2, nullptr}},
          {"now",
           {{"link_bytes_in", 1'500'000},
            {"link_bytes_out", 20},
            {"loss_rate", 0.02},
            {"drops", 0},
            {"cpu_control", 0.01}}}};
}
/// `n` peers in all, those from `offset` on in the answer.
Json peers(std::size_t n, std::size_t offset, std::size_t limit) {
  Json rows = Json::array();
  for (auto i = offset; i < std::min(n, offset + limit); ++i)
    rows.push_back({"peer-" + std::to_string(i),
                    i == 0 ? "parent" : "",
                    "ok",
                    12.5,
                    0.0,
                    1.0,
                    1.1,
                    1000,
                    2000,
                    5'000'000,
                    6'000'000,
                    4000,
                    150,
                    "192.0.2.1:2121",
                    "npub1x" + std::to_string(i),
                    {1, 2, 3, 4},
                    {5, 5, 6, 5}});
  return {{"page", "peers"},
          {"at_ms", kNow},
          {"head", head()},
          {"columns",
           {"name", "role", "state", "rtt_ms", "loss", "etx", "cost", "in", "out", "received", "sent", "up_s",
            "heard_ms", "address", "npub", "traffic", "rtt"}},
          {"of", n},
          {"total", n},
          {"offset", offset},
          {"rows", std::move(rows)}};
}
/// Answers the model's question as a daemon with 500 peers does.
void answer(TopModel& m) {
  const Json q = m.question();
  m.on_answer(
      peers(500, std::min<std::size_t>(q["offset"].get<std::size_t>(), 500 - q["limit"].get<std::size_t>()),
            q["limit"].get<std::size_t>()),
      kNow);
}
std::string whole(const Screen& s) {
  std::string out;
  for (std::size_t r = 0; r < s.rows(); ++r) out += s.row_text(r) + "\n";
  return out;
}
bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }
TopModel at_80x24() {
  TopModel m;
  const auto room = top_room(m.page(), 80, 24);
  m.set_room(room.rows, room.points);
  answer(m);
  return m;
}
void press(TopModel& m, std::string_view keys) {
  for (const char c : keys) m.on_key(TopKey::character, static_cast<char32_t>(c));
}

TEST(Top, AtTheSmallestUsualSizeItShowsWhatMattersMost) {
  TopModel m = at_80x24();
  const Screen s = draw_top(m, 80, 24, kNow, false);
  EXPECT_TRUE(s.row_text(0).starts_with("linked: 500 peers, root bee"));
  EXPECT_TRUE(has(s.row_text(1), "in 1.5 MB/s  out 20 B/s"));
  EXPECT_TRUE(has(s.row_text(1), "loss 2.0 %"));
  EXPECT_TRUE(has(s.row_text(2), "1 peers  2 tree  3 sessions  4 traffic  5 workers  6 refusals"));
  EXPECT_TRUE(has(s.row_text(2), "1-19 of 500"));
  for (const char* title : {"PEER", "RTT", "LOSS", "IN", "OUT", "TRAFFIC▼"})
    EXPECT_TRUE(has(s.row_text(3), title)) << title;
  EXPECT_TRUE(s.row_text(4).starts_with("peer-0"));
  EXPECT_TRUE(s.row_text(22).starts_with("peer-18")) << "no row is wasted";
  EXPECT_TRUE(has(s.row_text(23), "q quit"));
}

TEST(Top, AWideScreenShowsMoreColumns) {
  TopModel m = at_80x24();
  EXPECT_FALSE(has(draw_top(m, 80, 24, kNow, false).row_text(3), "ADDRESS"));
  const auto titles = draw_top(m, 200, 60, kNow, false).row_text(3);
  for (const char* title : {"ADDRESS", "COST", "RECEIVED", "SENT", "UP", "HEARD", "ETX", "STATE"})
    EXPECT_TRUE(has(titles, title)) << title;
}

TEST(Top, EverySizeAndEveryAnswerIsDrawnWithoutOverrun) {
  for (const Json& d : {Json(), Json(5), Json::array(), Json{{"rows", 5}, {"columns", "x"}},
                        Json{{"rows", {1, "x", {1}}}, {"columns", {"name"}}}, peers(3, 0, 3),
                        Json{{"curves", {1, {{"values", {1, "x", nullptr}}}, {{"values", 7}, {"name", 3}}}}},
                        Json{{"handshakes", {1, {1, 2, 3, 4}}}, {"path", {1, 2}}},
                        Json{{"head", {{"now", 5}, {"traffic_in", "x"}}}}})
    for (std::size_t page = 0; page <= kTopPages; ++page)
      for (const auto& [columns, rows] :
           {std::pair{80U, 24U}, {200U, 60U}, {40U, 10U}, {1U, 1U}, {0U, 0U}, {500U, 12U}}) {
        TopModel m;
        if (page < kTopPages) m.start(name_of(static_cast<TopPage>(page)), 1);
        Json with_page = d;
        if (d.is_object()) with_page["page"] = name_of(m.page());
        m.on_answer(with_page, kNow);
        const auto room = top_room(m.page(), columns, rows);
        m.set_room(room.rows, room.points);
        const Screen s = draw_top(m, columns, rows, kNow, page % 2 == 0);
        for (std::size_t r = 0; r < rows; ++r) EXPECT_LE(width(s.row_text(r)), columns);
      }
}

TEST(Top, ScrollingAsksForTheRowsThatCameIntoView) {
  TopModel m = at_80x24();
  EXPECT_EQ(m.on_key(TopKey::down), TopModel::Act::redraw) << "the cursor moves within the screen";
  EXPECT_EQ(m.selected(), 1U);
  EXPECT_EQ(m.on_key(TopKey::page_down), TopModel::Act::ask);
  answer(m);
  EXPECT_EQ(m.selected(), 20U);
  EXPECT_TRUE(has(whole(draw_top(m, 80, 24, kNow, false)), "peer-20 "));
  m.on_key(TopKey::end);
  answer(m);
  EXPECT_EQ(m.selected(), 499U);
  const auto text = whole(draw_top(m, 80, 24, kNow, false));
  EXPECT_TRUE(has(text, "482-500 of 500"));
  EXPECT_TRUE(has(text, "peer-499"));
  m.on_key(TopKey::home);
  EXPECT_EQ(m.question()["offset"], 0);
}

TEST(Top, WhenRowsGoTheViewComesBackToThoseThatAreLeft) {
  TopModel m = at_80x24();
  m.on_key(TopKey::end);
  answer(m);
  m.on_answer(peers(30, 11, 19), kNow);
  EXPECT_EQ(m.offset(), 11U);
  EXPECT_EQ(m.selected(), 29U);
  m.on_answer(peers(0, 0, 19), kNow);
  EXPECT_TRUE(has(whole(draw_top(m, 80, 24, kNow, false)), "nothing here yet"));
}

TEST(Top, OrderFilterAndTurnBecomePartOfTheQuestion) {
  TopModel m = at_80x24();
  EXPECT_EQ(m.question()["sort"], "rate");
  press(m, "s");
  EXPECT_EQ(m.question()["sort"], "name");
  press(m, "SS");
  EXPECT_EQ(m.question()["sort"], "state") << "round the other way";
  press(m, "r");
  EXPECT_EQ(m.question()["reverse"], 1);
  press(m, "/q b");
  EXPECT_TRUE(m.typing()) << "q is a letter while a filter is typed";
  EXPECT_EQ(m.question()["filter"], "q b");
  m.on_key(TopKey::backspace);
  m.on_key(TopKey::character, 0xE9);
  EXPECT_EQ(m.question()["filter"], "q \xC3\xA9");
  m.on_key(TopKey::backspace);
  EXPECT_EQ(m.question()["filter"], "q ") << "whole characters go";
  m.on_key(TopKey::enter);
  EXPECT_FALSE(m.typing());
  EXPECT_TRUE(has(whole(draw_top(m, 80, 24, kNow, false)), "filter: q"));
  m.on_key(TopKey::escape);
  EXPECT_FALSE(m.question().contains("filter"));
}

TEST(Top, EveryPageHasANumberAndTabsGoRound) {
  TopModel m = at_80x24();
  press(m, "6");
  EXPECT_EQ(m.question()["page"], "refusals");
  m.on_key(TopKey::tab);
  EXPECT_EQ(m.question()["page"], "peers");
  m.on_key(TopKey::left);
  EXPECT_EQ(m.question()["page"], "refusals");
  EXPECT_TRUE(m.data().is_null()) << "another page's rows are not shown";
  answer(m);
  EXPECT_TRUE(m.data().is_null()) << "nor a late answer of another page";
  EXPECT_FALSE(m.head().is_null());
}

TEST(Top, EnterOpensOnePeerAndEscapeGoesBack) {
  TopModel m = at_80x24();
  m.on_key(TopKey::down);
  EXPECT_EQ(m.on_key(TopKey::enter), TopModel::Act::ask);
  EXPECT_EQ(m.question()["page"], "peer");
  EXPECT_EQ(m.question()["peer"], "npub1x1");
  m.on_answer(Json{{"page", "peer"},
                   {"head", head()},
                   {"name", "friend"},
                   {"up", true},
                   {"window_s", 600},
                   {"curves", {{{"name", "srtt_ms"}, {"unit", "ms"}, {"values", {10, 11, 12}}}}}},
              kNow);
  const auto text = whole(draw_top(m, 80, 24, kNow, true));
  EXPECT_TRUE(has(text, "friend"));
  EXPECT_TRUE(has(text, "srtt_ms  12 ms"));
  m.on_key(TopKey::escape);
  EXPECT_EQ(m.question()["page"], "peers");
}

TEST(Top, ADaemonThatGoesAwayIsSaidAndTheLastRowsStay) {
  TopModel m = at_80x24();
  m.on_answer(bad(std::string("weftd is not running (nobody listens on /run/x)\nstart it: …")), kNow);
  m.on_answer(bad(std::string("weftd is not running (nobody listens on /run/x)\nstart it: …")), kNow + 3'000);
  auto text = whole(draw_top(m, 80, 24, kNow + 4'000, false));
  EXPECT_TRUE(text.starts_with("reconnecting (4 s): weftd is not running (nobody listens on /run/x)\n"))
      << text;
  EXPECT_TRUE(has(text, "peer-0"));
  answer(m);
  EXPECT_TRUE(draw_top(m, 80, 24, kNow, false).row_text(0).starts_with("linked: 500 peers"));
}

TEST(Top, WhatIsWrongFollowsTheHeadline) {
  TopModel m;
  Json d = peers(0, 0, 10);
  d["head"]["headline"] = "not linked: bee does not answer";
  d["head"]["linked"] = false;
  d["head"]["advice"] = "open UDP port 2121 in the firewall of one of the two machines, whichever is easier";
  m.on_answer(d, kNow);
  const Screen s = draw_top(m, 80, 24, kNow, false);
  EXPECT_TRUE(s.row_text(0).starts_with("not linked: bee does not answer; open UDP port 2121"));
  EXPECT_EQ(s.at(0, 0).look.colour, Colour::bad);
}

TEST(Top, RatesOfSessionsAndWorkersComeFromTwoAnswers) {
  const auto workers = [](std::int64_t at, int cpu, int packets) {
    return Json{{"page", "workers"},
                {"at_ms", at},
                {"head", head()},
                {"total", 1},
                {"offset", 0},
                {"columns", {"name", "cpu_ms", "packets", "bytes", "drops", "strays", "broken"}},
                {"rows", {{"weft-dec-0", cpu, packets, 0, 0, 0, false}}}};
  };
  TopModel m;
  m.start("workers", 1);
  m.on_answer(workers(kNow, 1'000, 500), kNow);
  EXPECT_TRUE(has(draw_top(m, 80, 24, kNow, false).row_text(4), "weft-dec-0"));
  m.on_answer(workers(kNow + 2'000, 1'500, 2'500), kNow);
  const auto row = draw_top(m, 80, 24, kNow, false).row_text(4);
  EXPECT_TRUE(has(row, "25.0 %")) << row;
  EXPECT_TRUE(has(row, "1.0k/s")) << row;
  m.on_answer(workers(kNow + 4'000, 10, 0), kNow);
  EXPECT_FALSE(has(draw_top(m, 80, 24, kNow, false).row_text(4), "%")) << "a daemon that began anew";
}

TEST(Top, PauseAndHelpAndQuit) {
  TopModel m = at_80x24();
  press(m, " ");
  EXPECT_TRUE(m.paused());
  EXPECT_TRUE(has(draw_top(m, 80, 24, kNow, false).row_text(2), "paused"));
  press(m, " ?");
  EXPECT_TRUE(has(whole(draw_top(m, 80, 24, kNow, false)), "any key goes back"));
  press(m, "x");
  EXPECT_FALSE(m.helping());
  EXPECT_EQ(m.on_key(TopKey::character, 'q'), TopModel::Act::quit);
}

TEST(Top, NamesFromOthersCannotMoveTheCursor) {
  TopModel m;
  Json d = peers(1, 0, 10);
  d["rows"][0][0] = "evil\x1b[2J\n\xff";
  m.on_answer(d, kNow);
  EXPECT_TRUE(draw_top(m, 80, 24, kNow, false).row_text(4).starts_with("evil?[2J??"));
}

TEST(Top, AsciiMeansAscii) {
  TopModel m = at_80x24();
  for (const char c : whole(draw_top(m, 200, 60, kNow, true))) EXPECT_LT(static_cast<unsigned char>(c), 0x80);
}

}  // namespace
}  // namespace weft::cli
