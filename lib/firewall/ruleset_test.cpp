#include "firewall/ruleset.h"

#include <gtest/gtest.h>

namespace weft::firewall {
namespace {

using config::ForwardProto;

MeshAddr addr(std::uint8_t last) {
  MeshAddr a;
  a.bytes[0] = 0xfd;
  a.bytes[15] = last;
  return a;
}
Opening open(const char* port, std::optional<MeshAddr> from = std::nullopt) {
  return {*config::parse_port_rule(port), from};
}
Packet to(ForwardProto proto, std::uint16_t port, MeshAddr from = addr(1)) {
  Packet p;
  p.proto = proto;
  p.port = port;
  p.from = from;
  return p;
}
Packet icmp6(std::uint8_t type) {
  Packet p;
  p.icmp6 = type;
  return p;
}

struct Case {
  const char* what;
  Packet packet;
  Verdict verdict;
};

TEST(Ruleset, NothingComesInButAnswersPingAndErrors) {
  const auto in = compile({.interface = "weft0"}).input;
  Packet reply = to(ForwardProto::tcp, 40000);
  reply.reply = true;
  Packet elsewhere = to(ForwardProto::tcp, 22);
  elsewhere.from_mesh = false;
  const Case cases[] = {
      {"a new connection", to(ForwardProto::tcp, 22), Verdict::drop},
      {"a datagram", to(ForwardProto::udp, 5354), Verdict::drop},
      {"an answer", reply, Verdict::accept},
      {"ping", icmp6(128), Verdict::accept},
      {"packet too big", icmp6(2), Verdict::accept},
      {"unreachable", icmp6(1), Verdict::accept},
      {"a router advertisement", icmp6(134), Verdict::drop},
      {"a redirect", icmp6(137), Verdict::drop},
      {"another interface's traffic", elsewhere, Verdict::accept},
  };
  for (const auto& c : cases) EXPECT_EQ(judge(in, c.packet), c.verdict) << c.what;
}

TEST(Ruleset, AnOpeningIsForItsProtocolItsPortsAndItsNode) {
  const auto in = compile({.interface = "weft0",
                           .allow = {open("tcp/22"), open("udp/5000-5010"), open("tcp/80", addr(7))}})
                      .input;
  EXPECT_EQ(judge(in, to(ForwardProto::tcp, 22)), Verdict::accept);
  EXPECT_EQ(judge(in, to(ForwardProto::udp, 22)), Verdict::drop);
  EXPECT_EQ(judge(in, to(ForwardProto::udp, 5000)), Verdict::accept);
  EXPECT_EQ(judge(in, to(ForwardProto::udp, 5010)), Verdict::accept);
  EXPECT_EQ(judge(in, to(ForwardProto::udp, 5011)), Verdict::drop);
  EXPECT_EQ(judge(in, to(ForwardProto::tcp, 80, addr(7))), Verdict::accept);
  EXPECT_EQ(judge(in, to(ForwardProto::tcp, 80, addr(8))), Verdict::drop);
}

TEST(Ruleset, ARefusalGoesBeforeAnOpening) {
  const auto in =
      compile({.interface = "weft0", .deny = {open("tcp/22", addr(9))}, .allow = {open("tcp/1-1000")}}).input;
  EXPECT_EQ(judge(in, to(ForwardProto::tcp, 22, addr(1))), Verdict::accept);
  EXPECT_EQ(judge(in, to(ForwardProto::tcp, 22, addr(9))), Verdict::drop);
}

TEST(Ruleset, ForwardingIsDeniedBothWaysUnlessAllowed) {
  Packet through = to(ForwardProto::tcp, 80);
  Packet out = through;
  out.from_mesh = false;
  out.to_mesh = true;
  Packet other = out;
  other.to_mesh = false;
  const auto closed = compile({.interface = "weft0"}).forward;
  EXPECT_EQ(judge(closed, through), Verdict::drop);
  EXPECT_EQ(judge(closed, out), Verdict::drop);
  EXPECT_EQ(judge(closed, other), Verdict::accept) << "not ours";
  EXPECT_TRUE(compile({.interface = "weft0", .forward = true}).forward.empty());
}

TEST(Ruleset, SaysWhoReachesAPort) {
  const Policy p{.interface = "weft0",
                 .deny = {open("tcp/25"), open("tcp/23", addr(9)), open("tcp/80", addr(7))},
                 .allow = {open("tcp/22-25"), open("tcp/80", addr(7)), open("udp/53", addr(7))}};
  EXPECT_EQ(reach_of(p, ForwardProto::tcp, 22), Reach::everybody);
  EXPECT_EQ(reach_of(p, ForwardProto::tcp, 23), Reach::some);
  EXPECT_EQ(reach_of(p, ForwardProto::tcp, 25), Reach::nobody);
  EXPECT_EQ(reach_of(p, ForwardProto::tcp, 80), Reach::nobody) << "the only one let in is refused";
  EXPECT_EQ(reach_of(p, ForwardProto::udp, 53), Reach::some);
  EXPECT_EQ(reach_of(p, ForwardProto::udp, 22), Reach::nobody);
}

TEST(Ruleset, OpeningsOverlapByPortAndByNode) {
  const std::vector<Opening> have{open("tcp/20-30"), open("udp/53", addr(1))};
  EXPECT_TRUE(opens(have, open("tcp/30-40")));
  EXPECT_TRUE(opens(have, open("tcp/22", addr(5))));
  EXPECT_TRUE(opens(have, open("udp/53")));
  EXPECT_FALSE(opens(have, open("udp/53", addr(2))));
  EXPECT_FALSE(opens(have, open("tcp/31")));
}

}  // namespace
}  // namespace weft::firewall
