/// The kernel's packet filter, as far as it is ours: one table, replaced as a whole in one transaction.
///
/// Linux    netfilter, table `inet weft`. It belongs to the socket that made it, so that nobody else changes it, another
///          program's `flush ruleset` leaves it alone, and it goes when this process ends, however it ends. Kernels before
///          5.12 do not know owners: there it stays after a crash, and the next load() replaces it.
/// Errors   a sentence with what to do. After a failed load() the table is what it was before.
/// Thread   one owner.
#pragma once

#include <array>
#include <memory>

#include "firewall/ruleset.h"
#include "io/failure.h"

namespace weft::io {

class PacketFilter {
 public:
  using Packets = std::array<std::uint64_t, std::size(firewall::kTallies)>;  // in the order of kTallies

  static Result<PacketFilter, Failure> open();
  Result<void, Failure> load(const firewall::Ruleset& rules);
  /// Takes the table away; not an error when there is none.
  Result<void, Failure> remove();
  /// Whether the table is in the kernel.
  bool loaded() const;
  /// Packets by counter since open(), over all loads.
  Packets packets() const;

  PacketFilter(PacketFilter&&) noexcept;
  PacketFilter& operator=(PacketFilter&&) noexcept;
  /// Takes the table away if load() made one.
  ~PacketFilter();

 private:
  struct Impl;
  explicit PacketFilter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// What a refusal of the kernel means, for a person. `step` is the part of the table that was refused: "batch",
/// "old table", "table", "counter", "chain", "rule", "rule ct" or "rule limit".
Failure filter_failure(int error, std::string_view step);

}  // namespace weft::io
