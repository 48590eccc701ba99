#include "weft/table.h"

#include <gtest/gtest.h>

namespace weft::cli {
namespace {

TEST(Table, ColumnsLineUpAndNumbersStandOnTheRight) {
  Table t({{"PEER"}, {"RTT", Table::Align::right}, {"STATE"}});
  t.row({"bee", "1.5 ms", "ok"});
  t.row({"a-longer-name", "120 ms", "stale"});
  EXPECT_EQ(t.text({}, "none"),
            "PEER              RTT  STATE\n"
            "bee            1.5 ms  ok\n"
            "a-longer-name  120 ms  stale\n");
}

TEST(Table, AnEmptyTableSaysSo) { EXPECT_EQ(Table({{"PEER"}}).text({}, "no peers"), "no peers\n"); }

TEST(Table, ColourDoesNotMoveColumns) {
  Table t({{"A"}, {"B"}});
  t.row({{"x", Colour::good}, "y"});
  EXPECT_EQ(t.text({true}, ""), "\x1b[2mA\x1b[0m  \x1b[2mB\x1b[0m\n\x1b[32mx\x1b[0m  y\n");
  EXPECT_EQ(t.text({false}, ""), "A  B\nx  y\n");
}

TEST(Table, MissingCellsAreEmpty) {
  Table t({{"A"}, {"B"}});
  t.row({"x"});
  EXPECT_EQ(t.text({}, ""), "A  B\nx  \n");
}

TEST(Table, NoNameCanMoveTheCursor) {
  EXPECT_EQ(clean("a\x1b[2Jb\nc\x7f"), "a?[2Jb?c?");
  EXPECT_EQ(clean("caf\xc3\xa9 \xe2\x96\x88 \xff \xc2\x9b"), "caf\xc3\xa9 \xe2\x96\x88 ? ??");
  EXPECT_EQ(clean("\xe2\x96"), "??");
}

TEST(Table, WidthCountsCharacters) { EXPECT_EQ(width("caf\xc3\xa9"), 4U); }

TEST(Units, AreShortAndTrue) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(999), "999 B");
  EXPECT_EQ(bytes_text(1234), "1.2 kB");
  EXPECT_EQ(bytes_text(123456789), "123 MB");
  EXPECT_EQ(rate_text(2e9), "2.0 GB/s");
  EXPECT_EQ(count_text(12345), "12.3k");
  EXPECT_EQ(ms_text(0.52), "0.5 ms");
  EXPECT_EQ(ms_text(48.4), "48 ms");
  EXPECT_EQ(ms_text(1500), "1.5 s");
  EXPECT_EQ(age_text(-3), "0 s");
  EXPECT_EQ(age_text(119), "119 s");
  EXPECT_EQ(age_text(600), "10 min");
  EXPECT_EQ(age_text(7500), "2 h 5 min");
  EXPECT_EQ(age_text(273600), "3 d 4 h");
  EXPECT_EQ(percent_text(0.0123), "1.2 %");
}

TEST(Spark, ShowsRangeAndGaps) {
  EXPECT_EQ(spark_text({0.0, 7.0, std::nullopt, 3.5}, 80), "▁█ ▅");
  EXPECT_EQ(spark_text({5.0, 5.0}, 80), "▁▁");
  EXPECT_EQ(spark_text({}, 80), "");
}

TEST(Spark, CanBeginAtZeroAndDoWithoutBlocks) {
  EXPECT_EQ(spark_text({5.0, 5.0}, 80, SparkFrom::zero), "██");
  EXPECT_EQ(spark_text({0.0, -1.0, std::nullopt, 7.0}, 80, SparkFrom::zero), "▁▁ █");
  EXPECT_EQ(spark_text({0.0, 0.0}, 80, SparkFrom::zero), "▁▁");
  EXPECT_EQ(spark_text({0.0, std::nullopt, 3.5, 7.0}, 80, SparkFrom::zero, true), "_ +#");
}

TEST(Spark, AShortPeakSurvivesANarrowScreen) {
  std::vector<std::optional<double>> v(100, 0.0);
  v[42] = 9;
  const auto s = spark_text(v, 10);
  EXPECT_EQ(width(s), 10U);
  EXPECT_NE(s.find("█"), std::string::npos);
}

}  // namespace
}  // namespace weft::cli
