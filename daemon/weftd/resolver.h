/// Host names to addresses, without blocking the control thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/endpoint.h"

namespace boost::asio {
class io_context;
}

namespace weft::daemon {

class Resolver {
 public:
  /// Ports are 0. `error` is empty when there are endpoints.
  using Done = std::function<void(std::uint64_t ticket, const std::vector<Endpoint>& endpoints,
                                  const std::string& error)>;

  Resolver(boost::asio::io_context& io, Done done);
  ~Resolver();
  /// "%eth0" behind a link-local address is understood.
  void resolve(std::uint64_t ticket, const std::string& host);
  /// Look-ups that the system has not answered; they may hold a thread for as long as it pleases.
  std::size_t pending() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft::daemon
