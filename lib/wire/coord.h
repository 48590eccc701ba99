/// Tree coordinates on the wire: `u16 count`, then that many addresses, self first and root last.
///
/// strict     at least one entry (setup, setup answer, lookups).
/// optional   count 0 says "not known" (coordinates in front of a sealed message, PathBroken).
///
/// Errors   too_short (no count), bad_count (zero where strict, or more than the bytes left), path_too_long
/// (over 255). Source   docs/spec/mesh.md section 0; session.md section 1.1.
#pragma once

#include <vector>

#include "base/bytes.h"
#include "base/drop.h"
#include "base/ids.h"
#include "base/result.h"
#include "wire/limits.h"

namespace weft {

/// A node's way to its root: itself first, the root last.
using Path = std::vector<NodeAddr>;

namespace wire {

using weft::Path;

enum class CoordForm : std::uint8_t { strict, optional };

/// An address list that still lies in the message it came in: nothing copied.
class CoordView {
 public:
  CoordView() = default;
  explicit CoordView(Bytes entries) : entries_(entries) {}

  std::size_t size() const noexcept { return entries_.size() / 16; }
  bool empty() const noexcept { return entries_.empty(); }
  /// i < size()
  NodeAddr operator[](std::size_t i) const noexcept { return NodeAddr::from(entries_.subspan(16 * i, 16)); }
  /// Whether the list is that of `addr`: its first entry. An empty list is nobody's.
  bool belongs_to(const NodeAddr& addr) const noexcept { return !empty() && (*this)[0] == addr; }
  Path path() const;

 private:
  Bytes entries_;
};

/// Bytes that a list of n entries takes.
constexpr std::size_t coords_size(std::size_t n) noexcept { return 2 + 16 * n; }

/// Reads one list at the cursor. Cost: no allocation.
Result<CoordView, Drop> read_coords(Reader& in, CoordForm form) noexcept;
/// The same, owned; allocates only after every check.
Result<Path, Drop> read_path(Reader& in, CoordForm form);
/// Appends one list. Receivers of ours refuse more than kMaxCoords entries.
void put_path(Buffer& out, const Path& path);
/// Fills out[0..coords_size(path.size())] and returns that size.
std::size_t write_path(MutBytes out, const Path& path) noexcept;

}  // namespace wire
}  // namespace weft
