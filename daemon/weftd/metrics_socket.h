/// Serves the scraper's page over HTTP, on loopback or a Unix socket.
///
/// Asked     GET and HEAD of /metrics. Connections end after one answer; at most kMostClients at once, each with
///           kPatience. On loopback only a Host that names this machine is answered, so that no web page in a browser
///           here can have the numbers read to it under a name of its own.
/// Thread    the control thread's; `page` is called on it.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "config/schema.h"

namespace boost::asio {
class io_context;
}

namespace weft::daemon {

class MetricsSocket {
 public:
  static constexpr std::size_t kMostClients = 16;
  static constexpr std::chrono::seconds kPatience{5};
  using Page = std::function<std::string()>;

  /// Errors: a sentence.
  static Result<MetricsSocket, std::string> open(boost::asio::io_context& io,
                                                 const config::MetricsSection& config, Page page);
  MetricsSocket(MetricsSocket&&) noexcept;
  MetricsSocket& operator=(MetricsSocket&&) noexcept;
  ~MetricsSocket();
  /// "http://[::1]:9121/metrics", or the socket's path.
  const std::string& address() const;

 private:
  struct Impl;
  explicit MetricsSocket(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace weft::daemon
