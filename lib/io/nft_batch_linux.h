/// Rules as messages of nf_tables: one transaction under construction. Private to the room.
#pragma once

#include <libmnl/libmnl.h>

#include <string>
#include <vector>

#include "firewall/ruleset.h"

namespace weft::io {

inline constexpr const char* kNftTable = "weft";

class NftBatch {
 public:
  /// Sequence numbers begin with `sequence`.
  explicit NftBatch(std::uint32_t sequence);

  void delete_table();
  void add_table(bool owned);
  /// Counters, chains and rules of the table.
  void add_rules(const firewall::Ruleset& rules);
  void end();

  const std::vector<char>& bytes() const { return bytes_; }
  std::uint32_t next_sequence() const { return sequence_; }
  /// What the message of that sequence number was about, in filter_failure()'s words.
  std::string_view step_of(std::uint32_t sequence) const;

 private:
  template <class Build>
  void add(std::uint16_t type, std::uint16_t flags, std::string_view step, Build build);
  void add_chain(const char* name, std::uint32_t hook);
  void add_rule(const char* chain, const firewall::Rule& rule, const std::string& interface);
  void append(const nlmsghdr* m, std::string_view step);

  std::uint32_t first_, sequence_;
  std::vector<char> bytes_;
  std::vector<std::string_view> steps_;  // by sequence number, from first_
  alignas(nlmsghdr) std::array<char, 8192> scratch_{};
};

}  // namespace weft::io
