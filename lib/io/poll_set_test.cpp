#include "io/poll_set.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <vector>

namespace weft::io {
namespace {

struct Pipe {
  Pipe() {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    out = Fd(ends[0]);
    in = Fd(ends[1]);
  }
  void write() { EXPECT_EQ(::write(in.get(), "x", 1), 1); }
  Fd out, in;
};

TEST(PollSet, NamesWhatCanBeReadUntilItIsRead) {
  PollSet set;
  Pipe a, b;
  ASSERT_TRUE(set.add(a.out.get(), 7));
  ASSERT_TRUE(set.add(b.out.get(), 8));
  EXPECT_TRUE(set.wait(0).empty());
  b.write();
  for (int i = 0; i < 2; ++i) {
    const auto tags = set.wait(1000);
    ASSERT_EQ(tags.size(), 1U);
    EXPECT_EQ(tags[0], 8U);
  }
  set.remove(b.out.get());
  EXPECT_TRUE(set.wait(0).empty());
}

TEST(PollSet, OfMoreThanOneWaitNamesEachGetsItsTurn) {
  PollSet set;
  std::vector<Pipe> pipes(PollSet::kMost * 3);
  std::set<std::uint64_t> missing;
  for (std::size_t i = 0; i < pipes.size(); ++i) {
    ASSERT_TRUE(set.add(pipes[i].out.get(), i));
    pipes[i].write();
    missing.insert(i);
  }
  for (int i = 0; i < 6; ++i)
    for (const auto tag : set.wait(0)) missing.erase(tag);
  EXPECT_TRUE(missing.empty());
}

}  // namespace
}  // namespace weft::io
