/// The terminal, while a program draws on all of it. Restored when this goes away, whatever ends it.
///
/// Thread   one; at most one of these at a time.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "weft/screen.h"
#include "weft/top_model.h"

namespace weft::cli {

class Terminal {
 public:
  struct Press {
    TopKey key = TopKey::character;
    char32_t c = 0;
    bool resized = false;  // no key at all: the size changed
  };
  /// `colour` false: bold and reverse only. Error: a sentence.
  static Result<Terminal, std::string> open(bool colour);
  Terminal(Terminal&& o) noexcept : open_(std::exchange(o.open_, false)) {}
  Terminal& operator=(Terminal&&) = delete;
  ~Terminal() { close(); }

  void close();
  std::size_t columns() const;
  std::size_t rows() const;
  /// Sends what differs from what is there.
  void show(const Screen& screen);
  /// Never waits: descriptor 0 tells when there is something.
  std::optional<Press> read();

 private:
  Terminal() = default;
  bool open_ = true;
};

}  // namespace weft::cli
