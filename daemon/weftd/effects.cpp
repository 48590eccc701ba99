#include "weftd/effects.h"

#include <filesystem>

#include "io/clock.h"
#include "io/file.h"

namespace weft::daemon {

void Effects::carry_out(Outbox& out) {
  const Instant now = io::mono_now();
  for (auto& effect : out.take()) {
    if (auto* all = std::get_if<ToAll>(&effect)) {
      connected_.pass(now, all->command);
      workers_.to_all(all->command);
    } else if (auto* home = std::get_if<ToHome>(&effect))
      workers_.to_home(home->home, std::move(home->command));
    else if (auto* encrypt = std::get_if<ToEncrypt>(&effect))
      workers_.to_encrypt(std::move(encrypt->command));
    else if (auto* raw = std::get_if<RawSend>(&effect)) send(*raw);
    else if (auto* packet = std::get_if<WriteTun>(&effect)) {
      if (tun_ != nullptr) tun_->write(packet->packet);
    } else if (auto* name = std::get_if<Resolve>(&effect)) resolve_(name->ticket, name->host);
    else if (auto* kept = std::get_if<KeepPeers>(&effect)) keep_peers(kept->text);
  }
}

void Effects::send(const RawSend& s) {
  if (s.transport.value >= ports_.size() || ports_[s.transport.value].sockets.empty()) return;
  auto& stats = stats_[s.transport.value];
  const auto r = ports_[s.transport.value].sockets[0].send_to(s.to, s.frame);
  if (r.sent == 1) {
    stats.packets_sent.add(1);
    stats.bytes_sent.add(s.frame.size());
    return;
  }
  // Handshakes are sent again by those who wait for the answer.
  stats.send_errors.add(1);
  log_(Level::debug, "send", "handshake to {}: {}", s.to.text(), io::name_of(r.status));
}

void Effects::keep_peers(const std::string& text) {
  std::error_code ignored;
  const auto dir = std::filesystem::path(kept_peers_file_).parent_path();
  if (std::filesystem::create_directories(dir, ignored))
    std::filesystem::permissions(dir, std::filesystem::perms::owner_all, ignored);
  const auto ok = io::write_text_file(kept_peers_file_, text, 0600);
  if (!ok) log_(Level::warn, "peers", "the peer list cannot be kept for the next start: {}", ok.error().text);
}

}  // namespace weft::daemon
