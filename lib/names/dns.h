/// One DNS query in, at most one reply out: names below `.fips` become mesh addresses.
///
/// AAAA of a known name     one record, TTL as set; `prime` is the identity the node must know before the reply leaves,
///                          because the asker's first packet follows at once.
/// any other type of it     NOERROR and empty: many stub resolvers stop asking at NXDOMAIN. `fips` itself likewise, or
///                          resolvers that ask label by label would stop there.
/// any other name of .fips  NXDOMAIN, without SOA, so that nobody caches it past the next change of the hosts file.
/// `x.y.NAME.fips`          as `NAME.fips`.
/// names elsewhere          REFUSED, so that whoever has us in a list of servers asks the next one.
/// Header                   id and opcode as asked, QR, AA for our zone, RD as asked; question as asked, letter case
///                          included; no other section of the query comes back. EDNS (RFC 6891) is answered with an OPT
///                          record of ours.
/// does not parse           FORMERR and nothing else, `refused` says what to count; so are two questions (RFC 9619) and
///                          what is longer than kMaxQuery. No reply (a Drop) to what has no header or is a reply itself.
/// Source                   the session sheet, part 3; RFC 1035, 6891, 9619.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/drop.h"
#include "base/ids.h"
#include "base/result.h"
#include "names/hosts.h"

namespace weft::names {

/// Bytes: the payload size that our OPT record advertises, and the most that is looked at.
constexpr std::size_t kMaxQuery = 1232;

struct DnsReply {
  Buffer bytes;
  std::optional<PublicKey> prime;
  std::optional<Drop> refused;  // the reply is a FORMERR, for this reason
  std::string name;             // lower case, without the last dot; for the log
};

/// A label (lower case, without `.fips`) to a key.
using LabelLookup = std::function<std::optional<PublicKey>(std::string_view)>;
/// `ttl` in seconds.
Result<DnsReply, Drop> answer_dns(Bytes query, std::uint32_t ttl, const LabelLookup& lookup);
inline Result<DnsReply, Drop> answer_dns(Bytes query, std::uint32_t ttl, const HostMap& hosts) {
  return answer_dns(query, ttl, [&](std::string_view label) { return resolve_name(hosts, label); });
}

}  // namespace weft::names
