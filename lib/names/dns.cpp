#include "names/dns.h"

#include <array>

#include "crypto/identity.h"

namespace weft::names {
namespace {

constexpr std::uint16_t kTypeAaaa = 28, kTypeOpt = 41, kClassIn = 1, kClassAny = 255;
constexpr std::uint16_t kFlagReply = 0x8000, kFlagAuthoritative = 0x0400, kFlagRecurse = 0x0100;
constexpr std::uint16_t kOpcodeMask = 0x7800;
constexpr std::uint16_t kNoError = 0, kFormErr = 1, kNxDomain = 3, kNotImp = 4, kRefused = 5, kBadVers = 16;
constexpr std::size_t kHeader = 12;
constexpr std::size_t kMaxNameBytes = 255, kMaxLabel = 63;

/// A name as its labels say it, uncompressed, and as text.
struct Name {
  Buffer wire;        // with the closing zero
  std::string text;   // lower case, no last dot; meaningful only while `plain`
  bool plain = true;  // every byte may stand in a host name
};

bool is_plain(std::uint8_t c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

/// Reads the name at `at` and moves `at` behind it. Pointers may only lead back, so every walk ends.
std::optional<Name> read_name(Bytes msg, std::size_t& at) {
  Name out;
  std::size_t pos = at, limit = msg.size();
  bool jumped = false;
  for (;;) {
    if (pos >= limit) return std::nullopt;
    const std::uint8_t len = msg[pos];
    if ((len & 0xC0) == 0xC0) {
      if (limit - pos < 2) return std::nullopt;
      const std::size_t target = (static_cast<std::size_t>(len & 0x3F) << 8) | msg[pos + 1];
      if (target < kHeader || target >= pos) return std::nullopt;
      if (!jumped) at = pos + 2;
      jumped = true;
      limit = pos;  // what follows lies before this pointer
      pos = target;
      continue;
    }
    if (len > kMaxLabel || limit - pos < len + 1U) return std::nullopt;
    if (out.wire.size() + len + 1 > kMaxNameBytes) return std::nullopt;
    const Bytes label = msg.subspan(pos, len + 1U);
    out.wire.insert(out.wire.end(), label.begin(), label.end());
    pos += len + 1U;
    if (len == 0) break;
    if (!out.text.empty()) out.text += '.';
    for (const std::uint8_t c : label.subspan(1)) {
      out.plain = out.plain && is_plain(c);
      out.text += static_cast<char>(c);
    }
  }
  if (!jumped) at = pos;
  out.text = lower_case(out.text);
  return out;
}

struct Query {
  std::uint16_t id = 0, flags = 0;
  Name name;
  std::uint16_t type = 0, cls = 0;
  bool edns = false, edns_bad = false;
  std::uint8_t edns_version = 0;
  bool dnssec_ok = false;
};

/// Steps over one record and notes an OPT.
bool read_record(Bytes msg, std::size_t& at, bool additional, Query& q) {
  const auto owner = read_name(msg, at);
  if (!owner) return false;
  Reader in{msg.subspan(at)};
  const auto type = in.be<std::uint16_t>();
  in.be<std::uint16_t>();  // class, or the asker's payload size
  const auto ttl = in.be<std::uint32_t>();
  const auto length = in.be<std::uint16_t>();
  in.take(length);
  if (!in.ok()) return false;
  at = msg.size() - in.left();
  if (type != kTypeOpt) return true;
  if (q.edns || !additional || owner->wire.size() != 1) q.edns_bad = true;
  q.edns = true;
  q.edns_version = static_cast<std::uint8_t>(ttl >> 16);
  q.dnssec_ok = (ttl & 0x8000U) != 0;
  return true;
}

Result<Query, Drop> read_query(Bytes msg) {
  if (msg.size() > kMaxQuery) return bad(Drop::too_long);
  Reader in{msg};
  Query q;
  q.id = in.be<std::uint16_t>();
  q.flags = in.be<std::uint16_t>();
  const auto questions = in.be<std::uint16_t>();
  const std::size_t records[3] = {in.be<std::uint16_t>(), in.be<std::uint16_t>(), in.be<std::uint16_t>()};
  if (!in.ok()) return bad(Drop::dns_malformed);
  if ((q.flags & kFlagReply) != 0) return bad(Drop::dns_not_query);
  if (questions != 1) return bad(Drop::dns_malformed);

  std::size_t at = kHeader;
  auto name = read_name(msg, at);
  if (!name || msg.size() - at < 4) return bad(Drop::dns_malformed);
  q.name = std::move(*name);
  q.type = load_be<std::uint16_t>(msg.data() + at);
  q.cls = load_be<std::uint16_t>(msg.data() + at + 2);
  at += 4;
  for (std::size_t section = 0; section < 3; ++section)
    for (std::size_t i = 0; i < records[section]; ++i)
      if (!read_record(msg, at, section == 2, q)) return bad(Drop::dns_malformed);
  return q;
}

constexpr std::string_view kZone = ".fips";

bool is_zone(const Name& n) { return n.text == kZone.substr(1); }
/// The zone, or a name in it. A label with a dot inside is no other name.
bool is_ours(const Name& n) {
  constexpr std::string_view kZoneWire(
      "\x04"
      "fips",
      6);  // with the closing zero
  if (n.wire.size() < kZoneWire.size()) return false;
  const auto tail = Bytes(n.wire).last(kZoneWire.size());
  return lower_case(std::string_view(reinterpret_cast<const char*>(tail.data()), tail.size())) == kZoneWire &&
         (is_zone(n) || n.text.ends_with(kZone));
}

/// The key that `x.y.NAME.fips` means; only NAME counts.
std::optional<PublicKey> lookup_name(const Name& name, const LabelLookup& lookup) {
  std::string_view s = name.text;
  if (!name.plain || s.size() <= kZone.size() || !s.ends_with(kZone)) return std::nullopt;
  s.remove_suffix(kZone.size());
  const auto dot = s.rfind('.');
  return lookup(dot == std::string_view::npos ? s : s.substr(dot + 1));
}

Buffer write_reply(const Query& q, std::uint16_t rcode, const MeshAddr* address, std::uint32_t ttl) {
  Buffer out;
  Writer w{out};
  const auto kept = static_cast<std::uint16_t>(q.flags & (kOpcodeMask | kFlagRecurse));
  const std::uint16_t ours = rcode == kRefused ? 0 : kFlagAuthoritative;
  const auto flags = static_cast<std::uint16_t>(kFlagReply | ours | kept | (rcode & 0x0F));
  w.be(q.id).be(flags).be<std::uint16_t>(1);
  w.be<std::uint16_t>(address != nullptr ? 1 : 0).be<std::uint16_t>(0).be<std::uint16_t>(q.edns ? 1 : 0);
  w.raw(q.name.wire).be(q.type).be(q.cls);
  if (address != nullptr) {
    w.be<std::uint16_t>(0xC000 | kHeader);  // the question's name
    w.be(kTypeAaaa).be(kClassIn).be(ttl).be<std::uint16_t>(16).raw(address->view());
  }
  if (q.edns) {
    const std::uint32_t extended =
        (static_cast<std::uint32_t>(rcode >> 4) << 24) | (q.dnssec_ok ? 0x8000U : 0U);
    w.u8(0).be(kTypeOpt).be(static_cast<std::uint16_t>(kMaxQuery)).be(extended).be<std::uint16_t>(0);
  }
  return out;
}

/// The header alone says that the query was not understood; nothing of it is repeated.
Result<DnsReply, Drop> form_error(Bytes query, Drop why) {
  if (query.size() < kHeader) return bad(Drop::dns_malformed);
  Reader in{query};
  const auto id = in.be<std::uint16_t>(), flags = in.be<std::uint16_t>();
  if ((flags & kFlagReply) != 0) return bad(Drop::dns_not_query);
  DnsReply reply;
  reply.refused = why;
  Writer w{reply.bytes};
  w.be(id).be(static_cast<std::uint16_t>(kFlagReply | (flags & (kOpcodeMask | kFlagRecurse)) | kFormErr));
  w.be<std::uint32_t>(0).be<std::uint32_t>(0);  // no section holds anything
  return reply;
}

}  // namespace

Result<DnsReply, Drop> answer_dns(Bytes query, std::uint32_t ttl, const LabelLookup& lookup) {
  const auto q = read_query(query);
  if (!q) return form_error(query, q.error());
  DnsReply reply;
  reply.name = q->name.text;
  std::uint16_t rcode = kNoError;
  std::optional<MeshAddr> address;
  if ((q->flags & kOpcodeMask) != 0) {
    rcode = kNotImp;
  } else if (q->edns_bad) {
    rcode = kFormErr;
  } else if (q->edns && q->edns_version != 0) {
    rcode = kBadVers;
  } else if (!is_ours(q->name) || (q->cls != kClassIn && q->cls != kClassAny)) {
    rcode = kRefused;
  } else if (is_zone(q->name)) {
    rcode = kNoError;
  } else if (const auto key = lookup_name(q->name, lookup); !key) {
    rcode = kNxDomain;
  } else if (q->type == kTypeAaaa) {
    reply.prime = *key;
    address = mesh_addr_of(crypto::node_addr_of(*key));
  }
  reply.bytes = write_reply(*q, rcode, address ? &*address : nullptr, ttl);
  return reply;
}

}  // namespace weft::names
