/// This machine.
#pragma once

#include "resolver/hookup.h"

namespace weft::resolver {

class RealSystem final : public System {
 public:
  std::optional<Ran> run(const std::vector<std::string>& argv) override;
  std::optional<std::string> read(const std::string& path) override;
  Result<void, std::string> write(const std::string& path, const std::string& text) override;
  Result<void, std::string> remove(const std::string& path) override;
  bool is_folder(const std::string& path) override;
  bool is_link(const std::string& path) override;
  bool has_interface(const std::string& name) override;
};

}  // namespace weft::resolver
