/// Tells the service manager how we are (sd_notify's protocol); silent when nobody asked.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace weft::io {

class Notifier {
 public:
  /// From the environment: NOTIFY_SOCKET, WATCHDOG_USEC, WATCHDOG_PID.
  static Notifier from_environment();
  /// To the datagram socket at `path` ("@name" is an abstract one); empty says nothing.
  explicit Notifier(std::string path) : path_(std::move(path)) {}

  bool wanted() const { return !path_.empty(); }
  /// False when it did not get through; never blocks.
  bool ready(std::string_view status = {});
  bool stopping();
  bool status(std::string_view text);
  bool watchdog();
  /// How often watchdog() must be called (half the manager's patience); nullopt when there is no watchdog.
  std::optional<std::chrono::microseconds> watchdog_interval() const { return watchdog_; }

 private:
  bool send(const std::string& message) const;
  std::string path_;
  std::optional<std::chrono::microseconds> watchdog_;
};

}  // namespace weft::io
