#include "names/dns.h"

#include <gtest/gtest.h>

#include "crypto/identity.h"

namespace weft::names {
namespace {

constexpr std::uint16_t kA = 1, kSoa = 6, kAaaa = 28, kAny = 255;
constexpr std::uint32_t kTtl = 300;

const PublicKey kKey = [] {
  SeededRng rng(7);
  return crypto::Identity::generate(rng).key();
}();
const std::string kNpub = crypto::npub_of(kKey);
const MeshAddr kAddr = mesh_addr_of(crypto::node_addr_of(kKey));

HostMap hosts() {
  HostMap m;
  m.put("box", kKey);
  return m;
}

Buffer wire_name(std::string_view name) {
  Buffer out;
  while (!name.empty()) {
    const auto dot = name.find('.');
    const auto label = name.substr(0, dot);
    out.push_back(static_cast<std::uint8_t>(label.size()));
    out.insert(out.end(), label.begin(), label.end());
    name.remove_prefix(dot == std::string_view::npos ? name.size() : dot + 1);
  }
  out.push_back(0);
  return out;
}
struct Counts {
  std::uint16_t questions = 1, answers = 0, authority = 0, additional = 0;
};
Buffer query(std::string_view name, std::uint16_t type, std::uint16_t flags = 0x0100, Counts n = {}) {
  Buffer out;
  Writer w(out);
  w.be<std::uint16_t>(0x1234).be(flags).be(n.questions).be(n.answers).be(n.authority).be(n.additional);
  w.raw(wire_name(name)).be(type).be<std::uint16_t>(1);
  return out;
}
Buffer with_opt(Buffer q, std::uint32_t ttl = 0, std::uint16_t options = 0) {
  q[11] = static_cast<std::uint8_t>(q[11] + 1);
  Writer w(q);
  w.u8(0).be<std::uint16_t>(41).be<std::uint16_t>(4096).be(ttl).be(options);
  for (std::size_t i = 0; i < options; ++i) w.u8(0);
  return q;
}

struct Seen {
  std::uint16_t id = 0, flags = 0;
  Counts n;
  unsigned rcode() const { return flags & 15U; }
};
Seen header(const Buffer& b) {
  Reader in{b};
  Seen s;
  s.id = in.be<std::uint16_t>();
  s.flags = in.be<std::uint16_t>();
  s.n = {in.be<std::uint16_t>(), in.be<std::uint16_t>(), in.be<std::uint16_t>(), in.be<std::uint16_t>()};
  return s;
}
DnsReply ask(const Buffer& q) {
  auto r = answer_dns(q, kTtl, hosts());
  EXPECT_TRUE(r) << (r ? "" : name_of(r.error()));
  return r ? *r : DnsReply{};
}

TEST(Dns, AKnownNameGivesItsMeshAddressAndTheIdentityToPrime) {
  const Buffer q = query("box.fips", kAaaa);
  const DnsReply r = ask(q);
  Buffer wanted;
  Writer w(wanted);
  w.be<std::uint16_t>(0x1234).be<std::uint16_t>(0x8500).be<std::uint16_t>(1).be<std::uint16_t>(1);
  w.be<std::uint16_t>(0).be<std::uint16_t>(0).raw(Bytes(q).subspan(12));
  w.be<std::uint16_t>(0xC00C).be(kAaaa).be<std::uint16_t>(1).be(kTtl).be<std::uint16_t>(16).raw(kAddr.view());
  EXPECT_EQ(to_hex(r.bytes), to_hex(wanted));
  EXPECT_EQ(r.prime, kKey);
  EXPECT_EQ(r.name, "box.fips");
}

TEST(Dns, AnNpubIsItsOwnNameWhateverTheLetterCase) {
  std::string mixed = kNpub + ".FiPs";  // as resolvers send it that randomise case against spoofing
  for (std::size_t i = 0; i < mixed.size(); i += 2) mixed[i] = static_cast<char>(std::toupper(mixed[i]));
  const Buffer q = query(mixed, kAaaa);
  const DnsReply r = ask(q);
  EXPECT_EQ(header(r.bytes).n.answers, 1);
  EXPECT_TRUE(equal(Bytes(r.bytes).subspan(12, q.size() - 12), Bytes(q).subspan(12)))
      << "the question keeps its case";
  EXPECT_EQ(header(ask(query("BOX.FIPS", kAaaa)).bytes).n.answers, 1);
}

TEST(Dns, AnythingBelowANameMeansThatName) {
  EXPECT_EQ(ask(query("www.box.fips", kAaaa)).prime, kKey);
  EXPECT_EQ(ask(query("_a.b.c.box.fips", kAaaa)).prime, kKey);
  EXPECT_EQ(ask(query("www." + kNpub + ".fips", kAaaa)).prime, kKey);
}

TEST(Dns, OtherTypesOfAKnownNameAreEmptyNotAbsent) {
  for (const auto type : {kA, kSoa, kAny, std::uint16_t{65}}) {
    const DnsReply r = ask(query("box.fips", type));
    EXPECT_EQ(header(r.bytes).rcode(), 0U);
    EXPECT_EQ(header(r.bytes).n.answers, 0);
    EXPECT_FALSE(r.prime);
  }
}

TEST(Dns, UnknownNamesDoNotExist) {
  std::string bad_sum = kNpub;
  bad_sum.back() = bad_sum.back() == 'q' ? 'p' : 'q';
  for (const std::string& name : {std::string("nobody.fips"), bad_sum + ".fips",
                                  std::string("box.other.fips"), std::string("a+b.fips")})
    for (const auto type : {kA, kAaaa}) {
      const DnsReply r = ask(query(name, type));
      EXPECT_EQ(header(r.bytes).rcode(), 3U) << name;
      EXPECT_EQ(header(r.bytes).n.answers, 0);
      EXPECT_EQ(header(r.bytes).n.authority, 0) << "no SOA: nobody shall cache this";
      EXPECT_FALSE(r.prime);
    }
}

TEST(Dns, NamesOfOthersAreRefusedSoThatTheNextServerIsAsked) {
  for (const char* name : {"box.com", "boxfips", "", "box.fips.com", "box", "fips.box"}) {
    const DnsReply r = ask(query(name, kAaaa));
    EXPECT_EQ(header(r.bytes).rcode(), 5U) << name;
    EXPECT_EQ(header(r.bytes).flags & 0x0400U, 0U) << "we have no authority over " << name;
    EXPECT_FALSE(r.prime);
  }
  Buffer chaos = query("box.fips", kAaaa);
  chaos.back() = 3;
  EXPECT_EQ(header(ask(chaos).bytes).rcode(), 5U);
}

TEST(Dns, TheZoneItselfExistsForResolversThatAskLabelByLabel) {
  for (const auto type : {kA, kAaaa, kSoa, std::uint16_t{2}}) {
    const Seen s = header(ask(query("FIPS", type)).bytes);
    EXPECT_EQ(s.rcode(), 0U);
    EXPECT_EQ(s.n.answers, 0);
  }
}

TEST(Dns, ALabelWithADotInItIsNoOtherName) {
  Buffer q = query("box", kAaaa);
  Buffer name = {8, 'b', 'o', 'x', '.', 'f', 'i', 'p', 's', 0};
  q.erase(q.begin() + 12, q.begin() + 17);
  q.insert(q.begin() + 12, name.begin(), name.end());
  EXPECT_EQ(header(ask(q).bytes).rcode(), 5U);
}

TEST(Dns, NothingButTheQuestionComesBack) {
  Buffer q = query("box.fips", kAaaa, 0x0100, {1, 1, 1, 0});
  Writer w(q);
  for (int i = 0; i < 2; ++i)  // an answer and an authority record
    w.be<std::uint16_t>(0xC00C)
        .be(kA)
        .be<std::uint16_t>(1)
        .be<std::uint32_t>(9)
        .be<std::uint16_t>(4)
        .be<std::uint32_t>(0);
  const Seen s = header(ask(q).bytes);
  EXPECT_EQ(s.n.questions, 1);
  EXPECT_EQ(s.n.answers, 1);
  EXPECT_EQ(s.n.authority, 0);
  EXPECT_EQ(s.n.additional, 0);
}

TEST(Dns, EdnsIsAnsweredWithARecordOfOurs) {
  const DnsReply r = ask(with_opt(query("box.fips", kAaaa), 0x8000, 16));
  EXPECT_EQ(header(r.bytes).n.additional, 1);
  EXPECT_EQ(to_hex(Bytes(r.bytes).last(11)), "00002904d0000080000000") << "1232 bytes, DO copied, no options";
  const DnsReply bad_version = ask(with_opt(query("box.fips", kAaaa), 0x00010000));
  EXPECT_EQ(header(bad_version.bytes).rcode(), 0U);
  EXPECT_EQ(header(bad_version.bytes).n.answers, 0);
  EXPECT_EQ(to_hex(Bytes(bad_version.bytes).last(11)), "00002904d0010000000000") << "BADVERS";
  EXPECT_FALSE(bad_version.prime);
  EXPECT_EQ(header(ask(with_opt(with_opt(query("box.fips", kAaaa)))).bytes).rcode(), 1U) << "two OPT records";
}

TEST(Dns, OtherOperationsAreNotImplemented) {
  const DnsReply r = ask(query("box.fips", kAaaa, 0x2000));
  EXPECT_EQ(header(r.bytes).flags, 0xA404);
  EXPECT_FALSE(r.prime);
}

std::string_view refused(Bytes q) {
  const auto r = answer_dns(q, kTtl, hosts());
  if (!r) return name_of(r.error());
  if (!r->refused) return "answered";
  EXPECT_EQ(r->bytes.size(), 12U);
  EXPECT_EQ(header(r->bytes).rcode(), 1U);
  EXPECT_EQ(header(r->bytes).id, load_be<std::uint16_t>(q.data()));
  EXPECT_FALSE(r->prime);
  return name_of(*r->refused);
}

TEST(Dns, WhatIsNoQueryGetsNoReply) {
  const auto silent = [](const Buffer& q) { return !answer_dns(q, kTtl, hosts()); };
  EXPECT_TRUE(silent(query("box.fips", kAaaa, 0x8180)));
  EXPECT_TRUE(silent({}));
  EXPECT_TRUE(silent(Buffer(11, 0)));
  EXPECT_TRUE(silent(Buffer(5000, 0xff))) << "claims to be a reply";
}

TEST(Dns, AQueryThatDoesNotParseIsAFormatError) {
  EXPECT_EQ(refused(query("box.fips", kAaaa, 0x0100, {0, 0, 0, 0})), "dns_malformed");
  EXPECT_EQ(refused(Buffer(40, 0x55)), "dns_malformed");
  EXPECT_EQ(refused(Buffer(5000, 0)), "too_long");
  EXPECT_EQ(refused(query("box.fips", kAaaa, 0x0100, {2, 0, 0, 0})), "dns_malformed");
  EXPECT_EQ(refused(query("box.fips", kAaaa, 0x0100, {1, 0, 0, 65535})), "dns_malformed");
  Buffer two = query("box.fips", kAaaa, 0x0100, {2, 0, 0, 0});
  Writer(two).be<std::uint16_t>(0xC00C).be(kA).be<std::uint16_t>(1);
  EXPECT_EQ(refused(two), "dns_malformed") << "two questions";
}

TEST(Dns, CompressionMayOnlyLeadBack) {
  const auto pointer = [](unsigned to) {
    Buffer q;
    Writer w(q);
    w.be<std::uint16_t>(1).be<std::uint16_t>(0).be<std::uint16_t>(1).be<std::uint32_t>(0).be<std::uint16_t>(
        0);
    w.be(static_cast<std::uint16_t>(0xC000 | to)).be(kAaaa).be<std::uint16_t>(1);
    return refused(q);
  };
  for (const unsigned to : {0U, 11U, 12U, 13U, 14U, 0x3FFFU}) EXPECT_EQ(pointer(to), "dns_malformed") << to;
}

TEST(Dns, NamesLongerThanTheStandardAllowsAreRefused) {
  std::string name;
  for (int i = 0; i < 3; ++i) name += std::string(63, 'a') + ".";
  EXPECT_EQ(refused(query(name + std::string(61, 'a'), kA)), "answered");
  EXPECT_EQ(refused(query(name + std::string(62, 'a'), kA)), "dns_malformed");
  EXPECT_EQ(refused(query(std::string(64, 'a'), kA)), "dns_malformed");
}

TEST(Dns, EveryCutOfAQueryIsRefused) {
  const Buffer q = with_opt(query("box.fips", kAaaa));
  for (std::size_t n = 0; n < q.size(); ++n) EXPECT_EQ(refused(Bytes(q).first(n)), "dns_malformed") << n;
}

}  // namespace
}  // namespace weft::names
