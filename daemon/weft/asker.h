/// Asks the daemon on a thread of its own, so that a screen never waits for an answer.
///
/// Thread   one owner; the answers come to it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "weft/client.h"

namespace weft::cli {

class Asker {
 public:
  explicit Asker(std::string socket);
  /// An answer that is still awaited is left to a thread that ends by itself.
  ~Asker();
  Asker(const Asker&) = delete;
  Asker& operator=(const Asker&) = delete;

  /// While an answer is awaited, the newest question waits for its turn and older ones are forgotten.
  void ask(std::string command, Json params);
  bool busy() const;
  /// Readable when there is an answer.
  int fd() const;
  std::optional<Result<Json, std::string>> take();

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace weft::cli
