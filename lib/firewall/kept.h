/// Ports opened and closed at run time: `weft allow`, `weft deny`. Kept as text in the state directory, so that a restart
/// does not change what can be reached.
///
/// Text     a line each: `allow|deny PORT [from NPUB] [until UNIX_SECONDS]`; `#` begins a comment line.
/// Errors   a line that does not parse is left out with a complaint that names it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "firewall/ruleset.h"

namespace weft::firewall {

constexpr std::size_t kMostKept = 256;

struct Entry {
  bool allow = true;
  config::PortRule ports;
  std::optional<PublicKey> from;      // absent: everybody
  std::optional<std::int64_t> until;  // Unix seconds; of `allow` only

  bool operator==(const Entry&) const = default;
};

class Kept {
 public:
  struct Complaint {
    std::size_t line = 0;
    std::string text;
  };
  static Kept parse(std::string_view text, std::vector<Complaint>* complaints = nullptr);
  std::string text() const;

  const std::vector<Entry>& entries() const { return entries_; }
  /// Opens; takes back refusals that `e` covers. Errors: a sentence (kMostKept).
  Result<void, std::string> allow(Entry e);
  /// Takes back openings that `e` covers. With `keep_refusal` the refusal itself is kept: for ports that something else
  /// opens. The number of openings taken back. Errors: a sentence (kMostKept).
  Result<std::size_t, std::string> deny(Entry e, bool keep_refusal);
  /// Takes out what has ended; true when there was something.
  bool expire(std::int64_t now_unix);

  bool operator==(const Kept&) const = default;

 private:
  std::vector<Entry> entries_;
};

/// "90s", "30m", "1h", "2d" to seconds, at least 1 and at most ten years.
std::optional<std::int64_t> parse_span(std::string_view text);

}  // namespace weft::firewall
