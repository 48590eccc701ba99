#include <dirent.h>
#include <unistd.h>

#include <charconv>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>

#include "io/listening.h"

namespace weft::io {
namespace {

constexpr std::size_t kMostText = 8U << 20;
constexpr std::string_view kTcpListen = "0A", kUdpUnconnected = "07";

template <class T>
bool read_hex(std::string_view s, T& out) {
  const auto r = std::from_chars(s.data(), s.data() + s.size(), out, 16);
  return r.ec == std::errc{} && r.ptr == s.data() + s.size();
}

std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> out;
  for (auto at = line.find_first_not_of(' '); at != std::string_view::npos;) {
    const auto end = std::min(line.find(' ', at), line.size());
    out.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(' ', end);
  }
  return out;
}

/// "0000…0000:1F90": four words of 32 bits as this machine stores them, and the port.
bool read_address(std::string_view s, ListeningPort& out) {
  constexpr std::size_t kDigits = 32;
  if (s.size() != kDigits + 5 || s[kDigits] != ':' || !read_hex(s.substr(kDigits + 1), out.port))
    return false;
  for (std::size_t i = 0; i < 4; ++i) {
    std::uint32_t word = 0;
    if (!read_hex(s.substr(i * 8, 8), word)) return false;
    std::memcpy(out.addr.bytes.data() + i * 4, &word, 4);
  }
  return true;
}

/// Lines up to the first that no longer listens: the kernel lists those of TCP first.
std::string read_head(const char* path, bool only_listening) {
  std::ifstream in(path);
  std::string text, line;
  while (std::getline(in, line) && text.size() < kMostText) {
    const auto f = fields_of(line);
    if (only_listening && f.size() > 3 && f[0] != "sl" && f[3] != kTcpListen) break;
    text += line + "\n";
  }
  return text;
}

using Folder = std::unique_ptr<DIR, int (*)(DIR*)>;

void find_programs(std::vector<ListeningPort>& ports) {
  std::map<std::uint64_t, std::vector<ListeningPort*>> wanted;
  for (auto& p : ports) wanted[p.inode].push_back(&p);
  const Folder processes(opendir("/proc"), closedir);
  if (!processes || ports.empty()) return;
  while (const dirent* process = readdir(processes.get())) {
    std::int64_t pid = 0;
    const std::string_view name = process->d_name;
    if (std::from_chars(name.data(), name.data() + name.size(), pid).ptr != name.data() + name.size())
      continue;
    const std::string base = "/proc/" + std::string(name);
    const Folder files(opendir((base + "/fd").c_str()), closedir);
    if (!files) continue;
    while (const dirent* file = readdir(files.get())) {
      char target[64] = {};
      if (readlink((base + "/fd/" + file->d_name).c_str(), target, sizeof target - 1) < 0) continue;
      std::string_view text = target;
      std::uint64_t inode = 0;
      if (!text.starts_with("socket:[")) continue;
      text.remove_prefix(8);
      if (std::from_chars(text.data(), text.data() + text.size(), inode).ec != std::errc{}) continue;
      const auto it = wanted.find(inode);
      if (it == wanted.end()) continue;
      std::string program;
      std::getline(std::ifstream(base + "/comm"), program);
      for (auto* p : it->second) {
        p->pid = pid;
        p->program = program;
      }
    }
  }
}

}  // namespace

std::vector<ListeningPort> parse_listening(std::string_view text, config::ForwardProto proto,
                                           const MeshAddr& own) {
  constexpr std::size_t kState = 3, kInode = 9;
  const bool tcp = proto == config::ForwardProto::tcp;
  std::vector<ListeningPort> out;
  while (!text.empty()) {
    const auto end = text.find('\n');
    const auto f = fields_of(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    ListeningPort p;
    p.proto = proto;
    if (f.size() <= kInode || f[kState] != (tcp ? kTcpListen : kUdpUnconnected) || !read_address(f[1], p))
      continue;
    if (!p.any_address() && p.addr != own) continue;
    std::from_chars(f[kInode].data(), f[kInode].data() + f[kInode].size(), p.inode);
    out.push_back(std::move(p));
  }
  return out;
}

std::vector<ListeningPort> listening_ports(const MeshAddr& own, bool with_programs) {
  auto out = parse_listening(read_head("/proc/net/tcp6", true), config::ForwardProto::tcp, own);
  auto udp = parse_listening(read_head("/proc/net/udp6", false), config::ForwardProto::udp, own);
  out.insert(out.end(), std::make_move_iterator(udp.begin()), std::make_move_iterator(udp.end()));
  if (with_programs) find_programs(out);
  return out;
}

}  // namespace weft::io
