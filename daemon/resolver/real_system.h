/// This machine.
#pragma once

#include <chrono>

#include "resolver/hookup.h"

namespace weft::resolver {

/// All programs together have kPatience; after it run() says that they did not end. Less than the unit's TimeoutStopSec: a
/// resolver that hangs must not make the service fail.
class RealSystem final : public System {
 public:
  static constexpr auto kPatience = std::chrono::seconds(10);
  std::optional<Ran> run(const std::vector<std::string>& argv) override;
  std::optional<std::string> read(const std::string& path) override;
  Result<void, std::string> write(const std::string& path, const std::string& text) override;
  Result<void, std::string> remove(const std::string& path) override;
  bool is_folder(const std::string& path) override;
  bool is_link(const std::string& path) override;
  bool has_interface(const std::string& name) override;

 private:
  std::chrono::steady_clock::time_point until_ = std::chrono::steady_clock::now() + kPatience;
};

}  // namespace weft::resolver
