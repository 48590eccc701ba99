/// A probe's report as a person reads it. Pure: JSON in, text out.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "weft/table.h"

namespace weft::cli {

using Json = nlohmann::json;

/// Prints stages as they end; each line once.
class ProbePage {
 public:
  explicit ProbePage(Style style) : style_(style) {}

  /// What is new in `report` since the last call.
  std::string update(const Json& report);
  /// The stage under way, without a newline; empty: none. For a terminal, which wipes it before the next line.
  std::string waiting(const Json& report) const;
  std::string conclusion(const Json& report) const;

 private:
  Style style_;
  bool header_ = false;
  std::size_t shown_ = 0;  // stages
};

/// The way to the target: what is known of it, and what is inferred.
std::string trace_text(const Json& report, const Style& style);

}  // namespace weft::cli
