/// YAML text as a tree of our own that knows where each value was written. Only tree.cpp sees yaml-cpp.
///
/// Bounds  kMaxText bytes in, kMaxDepth levels, kMaxValues values and kMaxExpanded bytes after aliases are
/// copied in. Merge keys (`<<`) are applied; duplicate and non-scalar keys, further documents and control
/// characters are refused.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/complaint.h"
#include "config/load.h"

namespace weft::config {

constexpr std::size_t kMaxText = 1U << 20;
constexpr std::size_t kMaxDepth = 32;
constexpr std::size_t kMaxValues = 65536;
constexpr std::size_t kMaxExpanded = 4U << 20;

struct Tree {
  enum class Kind : std::uint8_t { null, scalar, list, map };
  struct Entry;

  Kind kind = Kind::null;
  bool quoted = false;  // a scalar that can only be text
  Place place;
  std::string text;            // scalar
  std::vector<Tree> items;     // list
  std::vector<Entry> entries;  // map, in the order of the file

  Tree* find(std::string_view key);
  const Tree* find(std::string_view key) const { return const_cast<Tree*>(this)->find(key); }
};
struct Tree::Entry {
  std::string key;
  Place place;
  Tree value;
};

/// The one document in the text; null for an empty one.
Result<Tree, Complaint> parse_tree(const Source& file);

/// Lays `over` onto `base`. A transport type that changes between the single and the named form is replaced
/// whole.
void merge_tree(Tree& base, Tree over);

/// Whether a `transports.TYPE` mapping holds named instances rather than one unnamed instance.
bool is_named_form(std::string_view type, const Tree& t);

}  // namespace weft::config
