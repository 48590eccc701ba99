/// Where logic says what a person may want to know. The sink decides format, rate and place.
///
/// Topic   one word per cause; the daemon's sink limits lines per topic, so that a flood of one cause stays quiet.
/// Thread  a sink belongs to the thread that was handed it.
#pragma once

#include <fmt/core.h>

#include <string_view>

namespace weft {

enum class Level : unsigned char { trace, debug, info, warn, error };

class Log {
 public:
  virtual ~Log() = default;
  virtual bool wants(Level) const = 0;
  virtual void line(Level, std::string_view topic, std::string_view text) = 0;

  template <class... A>
  void operator()(Level level, std::string_view topic, fmt::format_string<A...> f, A&&... a) {
    if (wants(level)) line(level, topic, fmt::vformat(f, fmt::make_format_args(a...)));
  }
};

/// Says nothing: for tests and benchmarks.
class NullLog final : public Log {
 public:
  bool wants(Level) const override { return false; }
  void line(Level, std::string_view, std::string_view) override {}
};

}  // namespace weft
