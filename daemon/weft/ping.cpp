#include "weft/ping.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "weft/client.h"
#include "weft/reply.h"
#include "weft/table.h"

namespace weft::cli {

std::vector<std::string> ping_command(const PingOptions& o, const std::string& address) {
  std::vector<std::string> argv{"ping", "-6"};
  if (o.count != 0) {
    argv.emplace_back("-c");
    argv.push_back(std::to_string(o.count));
  }
  argv.insert(argv.end(), o.extra.begin(), o.extra.end());
  argv.emplace_back("--");
  argv.push_back(address);
  return argv;
}

std::string run_ping(const std::string& socket, const PingOptions& o) {
  const auto status = ask(socket, "show_status");
  if (!status) return status.error();
  if (reply::word(*status, "tun_state") != "active")
    return "this node has no interface (tun.enabled is false, or it failed: see weft status), so nothing "
           "here can send";
  const auto who = ask(socket, "resolve", {{"name", o.target}});
  if (!who) return who.error();
  const std::string address = reply::word(*who, "ipv6_addr");
  std::printf("%s is %s, %s\n", clean(o.target).c_str(), clean(reply::word(*who, "npub")).c_str(),
              clean(address).c_str());
  std::fflush(stdout);
  auto words = ping_command(o, address);
  std::vector<char*> argv;
  for (auto& w : words) argv.push_back(w.data());
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  if (errno == ENOENT) return "no ping on this machine: sudo apt install iputils-ping";
  return fmt::format("cannot run ping: {}", std::strerror(errno));
}

}  // namespace weft::cli
