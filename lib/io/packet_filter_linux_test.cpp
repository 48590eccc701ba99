#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <cstdio>

#include "io/listening.h"
#include "io/netns_for_test.h"
#include "io/packet_filter.h"

namespace weft::io {
namespace {

std::string output_of(const std::string& command) {
  std::string out;
  FILE* const pipe = popen((command + " 2>&1").c_str(), "r");
  std::array<char, 4096> part{};
  while (const auto n = fread(part.data(), 1, part.size(), pipe)) out.append(part.data(), n);
  pclose(pipe);
  return out;
}
bool has(const std::string& text, const std::string& what) { return text.find(what) != std::string::npos; }

firewall::Ruleset rules(std::vector<firewall::Opening> allow = {}) {
  return firewall::compile({.interface = "weft0", .allow = std::move(allow)});
}
firewall::Opening open(const char* port, std::optional<MeshAddr> from = std::nullopt) {
  return {*config::parse_port_rule(port), from};
}

#define NEEDS_NFT() \
  if (output_of("command -v nft").empty()) GTEST_SKIP() << "needs the program nft"

TEST(PacketFilter, TheKernelHasExactlyTheRulesWeMade) {
  WEFT_FRESH_NETNS();
  NEEDS_NFT();
  auto filter = PacketFilter::open();
  ASSERT_TRUE(filter) << filter.error().text;
  MeshAddr friend_;
  friend_.bytes = {0xfd, 1, 2, 3};
  const auto done = filter->load(rules({open("tcp/22"), open("udp/5000-5010", friend_)}));
  ASSERT_TRUE(done) << done.error().text;
  const auto text = output_of("nft list table inet weft");
  for (const char* line :
       {"type filter hook input priority filter; policy accept;", "iifname != \"weft0\" accept",
        "ct state established,related counter name \"replies\" accept",
        "icmpv6 type echo-request limit rate 100/second burst 200 packets counter name \"pings\" accept",
        "icmpv6 type packet-too-big counter name \"replies\" accept",
        "tcp dport 22 counter name \"opened\" accept",
        "ip6 saddr fd01:203:: udp dport 5000-5010 counter name \"opened\" accept",
        "counter name \"refused\" drop", "type filter hook forward",
        "iifname \"weft0\" counter name \"forward_refused\" drop",
        "oifname \"weft0\" counter name \"forward_refused\" drop"})
    EXPECT_TRUE(has(text, line)) << line << "\n" << text;
}

TEST(PacketFilter, ReplacesOurTableAndNothingElse) {
  WEFT_FRESH_NETNS();
  NEEDS_NFT();
  output_of(
      "nft 'add table inet other; add chain inet other c; add table inet weft; add chain inet weft old'");
  const auto other = output_of("nft list table inet other");
  auto filter = PacketFilter::open();
  ASSERT_TRUE(filter) << filter.error().text;
  ASSERT_TRUE(filter->load(rules())) << "over what a crash left";
  EXPECT_FALSE(has(output_of("nft list table inet weft"), "chain old"));
  ASSERT_TRUE(filter->load(rules({open("tcp/80")}))) << "over our own";
  EXPECT_TRUE(has(output_of("nft list table inet weft"), "tcp dport 80"));
  EXPECT_TRUE(filter->loaded());
  EXPECT_EQ(output_of("nft list table inet other"), other);
  filter = PacketFilter::open();  // the former one goes
  EXPECT_EQ(output_of("nft list tables"), "table inet other\n");
}

TEST(PacketFilter, SurvivesSomebodyElsesFlush) {
  WEFT_FRESH_NETNS();
  NEEDS_NFT();
  auto filter = PacketFilter::open();
  ASSERT_TRUE(filter && filter->load(rules()));
  output_of("nft flush ruleset");
  EXPECT_TRUE(filter->loaded());
}

TEST(PacketFilter, AFailedLoadLeavesWhatWasThere) {
  WEFT_FRESH_NETNS();
  NEEDS_NFT();
  auto filter = PacketFilter::open();
  ASSERT_TRUE(filter && filter->load(rules({open("tcp/80")})));
  auto wrong = rules({open("tcp/81")});
  wrong.input.push_back({.rate = firewall::Rate{0, 0}});
  const auto done = filter->load(wrong);
  ASSERT_FALSE(done);
  EXPECT_TRUE(has(done.error().text, "rule limit")) << done.error().text;
  const auto text = output_of("nft list table inet weft");
  EXPECT_TRUE(has(text, "tcp dport 80") && !has(text, "tcp dport 81")) << text;
}

TEST(PacketFilter, ASecondOwnerIsRefusedInWords) {
  WEFT_FRESH_NETNS();
  auto first = PacketFilter::open(), second = PacketFilter::open();
  ASSERT_TRUE(first && second && first->load(rules()));
  const auto done = second->load(rules());
  ASSERT_FALSE(done);
  EXPECT_TRUE(has(done.error().text, "a second weftd")) << done.error().text;
}

TEST(PacketFilter, TakesAsManyRulesAsTheConfigurationMayHave) {
  WEFT_FRESH_NETNS();
  auto filter = PacketFilter::open();
  ASSERT_TRUE(filter);
  std::vector<firewall::Opening> many;
  MeshAddr from;
  from.bytes[0] = 0xfd;
  for (int i = 1; i <= 512; ++i)
    many.push_back({{config::ForwardProto::tcp, static_cast<std::uint16_t>(i), 60000}, from});
  const auto done = filter->load(rules(many));
  EXPECT_TRUE(done) << done.error().text;
}

TEST(PacketFilter, WithoutThePrivilegeItSaysWhichOne) {
  WEFT_FRESH_NETNS();
  std::string said;
  if (!without_capabilities([&] {
        auto filter = PacketFilter::open();
        const auto done = filter ? filter->load(rules()) : Result<void, Failure>(bad(filter.error()));
        said = done ? "loaded" : done.error().text;
      }))
    GTEST_SKIP() << "needs root";
  EXPECT_TRUE(has(said, "CAP_NET_ADMIN")) << said;
}

TEST(PacketFilter, AMissingModuleIsNamed) {
  EXPECT_TRUE(has(filter_failure(ENOENT, "rule ct").text, "modprobe nf_conntrack nft_ct"));
  EXPECT_TRUE(has(filter_failure(EOPNOTSUPP, "table").text, "modprobe nf_tables"));
  EXPECT_TRUE(has(filter_failure(EPROTONOSUPPORT, "batch").text, "weft: {firewall: {enabled: false}}"));
  EXPECT_TRUE(has(filter_failure(ENOENT, "rule limit").text, "modprobe nft_limit"));
}

TEST(Listening, FindsWhatCouldBeReachedAndNothingElse) {
  const std::string head =
      "  sl  local_address                         remote_address                        st tx_queue "
      "rx_queue tr tm->when "
      "retrnsmt   uid  timeout inode\n";
  const std::string tail =
      " 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 ";
  MeshAddr own;
  own.bytes = {0xfd, 0x00, 0x00, 0x01, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2};
  const std::string text = head + "   0: 00000000000000000000000000000000:0016" + tail + "111 1 x\n" +
                           "   1: 00000000000000000000000001000000:0017" + tail + "112 1 x\n" +
                           "   2: 010000FD000000000000000002000000:0018" + tail + "113 1 x\n" +
                           "   3: junk:0018" + tail + "\n";
  const auto found = parse_listening(text, config::ForwardProto::tcp, own);
  ASSERT_EQ(found.size(), 2U) << "not the one on ::1";
  EXPECT_TRUE(found[0].any_address());
  EXPECT_EQ(found[0].port, 22);
  EXPECT_EQ(found[0].inode, 111U);
  EXPECT_EQ(found[1].port, 24);
}

TEST(Listening, SeesAnOpenPortOfThisMachine) {
  WEFT_FRESH_NETNS();
  const Fd s(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(listen(s.get(), 1), 0);
  const auto found = listening_ports(MeshAddr{}, true);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].pid, getpid());
  EXPECT_EQ(found[0].program.substr(0, 7), "test_io");
}

}  // namespace
}  // namespace weft::io
