/// The log on standard error, through a queue of its own so that a slow reader never holds the control thread.
///
/// Form     with JOURNAL_STREAM set "<6>topic: text" (the journal has its own clock), else time and level in front.
/// Flood    at most kLines lines per topic and kWindow; then one line says how many were left out. Debug and trace are
///          not limited: who asks for them wants them.
/// Thread   control thread only.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/log.h"
#include "base/time.h"

namespace weft::daemon {

class SpdLog final : public Log {
 public:
  static constexpr unsigned kLines = 5;
  static constexpr Duration kWindow = 10s;

  explicit SpdLog(Level least);
  ~SpdLog() override;

  bool wants(Level l) const override { return l >= least_; }
  void line(Level l, std::string_view topic, std::string_view text) override;
  /// For the few lines that must not be left out: start, stop, reload.
  void always(Level l, std::string_view text);
  void set_level(Level least) { least_ = least; }
  /// Says what was left out in windows that are over; call it now and then.
  void tick();

 private:
  struct Topic {
    Instant since;
    unsigned lines = 0;
    std::uint64_t left_out = 0;
  };
  void write(Level l, std::string_view topic, std::string_view text);

  struct Sink;
  std::unique_ptr<Sink> sink_;
  Level least_;
  std::map<std::string, Topic, std::less<>> topics_;
};

}  // namespace weft::daemon
