#include "config/inert.h"

#include "config/table.h"

namespace weft::config {
namespace {

struct Row {
  std::string_view key, why;
};

constexpr Row kOnce[] = {
    {"node.leaf_only", "leaf-only nodes are not there yet; this node passes on for others"},
    {"node.tick_interval_secs", "nothing ticks here, every deadline is kept to the millisecond"},
    {"node.base_rtt_ms", "a link without a measured round trip has the cost 1"},
    {"node.limits.max_links", "node.limits.max_peers is the limit"},
    {"node.retry.max_retries", "a wanted peer is tried for ever, with growing pauses"},
    {"node.rendezvous.nostr", "peers are not found through Nostr yet"},
    {"node.rendezvous.lan", "peers are not found on the local network yet"},
    {"node.session.coords_response_interval_ms", "fixed at 2 s"},
    {"node.mmp.log_interval_secs", "metrics are not written to the log; ask weft metrics"},
    {"node.session_mmp.log_interval_secs", "metrics are not written to the log; ask weft metrics"},
    {"node.mmp.owd_window_size", "trends are not kept"},
    {"node.session_mmp.owd_window_size", "trends are not kept"},
    {"node.native_api", "there is no native datagram API yet"},
    {"node.buffers", "queues have fixed bounds"},
    {"gateway", "the LAN gateway is not there yet"},
};
constexpr Row kOfUdp[] = {
    {"advertise_on_nostr", "nothing is published yet"},
    {"public", "nothing is published yet"},
    {"external_addr", "nothing is published yet"},
};

}  // namespace

std::vector<InertKey> inert_keys(const Config& config, const Places& places) {
  std::vector<InertKey> out;
  const auto add = [&](const std::string& key, std::string_view why) {
    if (places.written(key)) out.push_back({key, std::string(why)});
  };
  for (const Row& r : kOnce) add(std::string(r.key), r.why);
  for (const auto& u : config.transports.udp)
    for (const Row& r : kOfUdp) add(instance_key("udp", u.name) + "." + std::string(r.key), r.why);
  for (std::size_t i = 0; i < config.peers.size(); ++i)
    if (config.peers[i].via_nostr)
      out.push_back({"via_nostr of peer " + config.peers[i].alias.value_or(config.peers[i].npub),
                     "only the addresses that are written are dialled"});
  return out;
}

}  // namespace weft::config
