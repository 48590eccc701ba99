/// Every refusal this program can make, by name. A decoder returns one; whoever drops something counts one.
///
/// DropCounters has one writer; other threads read it relaxed. Names are shown to operators and never change meaning.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

namespace weft {

// name, what it tells an operator
#define WEFT_DROPS(X)                                                                         \
  /* any codec */                                                                             \
  X(too_short, "message shorter than its fixed part")                                         \
  X(too_long, "message longer than its kind allows")                                          \
  X(wrong_type, "message type byte is not the expected one")                                  \
  X(wrong_version, "format version not understood")                                           \
  X(wrong_length, "length field disagrees with the message")                                  \
  X(bad_count, "count field is zero or larger than the message")                              \
  X(bad_flags, "flags that must be zero are not")                                             \
  /* links */                                                                                 \
  X(unknown_phase, "frame phase not understood")                                              \
  X(unknown_index, "no link epoch has this receiver index")                                   \
  X(replayed, "counter already seen")                                                         \
  X(too_old, "counter behind the replay window")                                              \
  X(bad_tag, "authentication failed")                                                         \
  X(inner_short, "authentic frame without room for a message type")                           \
  X(unknown_link_message, "authentic link message of unknown type")                           \
  X(probe_mismatch, "MTU probe of another size than it says")                                 \
  X(unknown_probe, "answer to no MTU probe of ours")                                          \
  X(punch_probe, "hole-punch probe, not a frame")                                             \
  X(oversize_datagram, "datagram larger than the transport takes")                            \
  X(truncated_datagram, "datagram cut by the receive buffer")                                 \
  X(handshake_rate, "handshake over the rate limit")                                          \
  X(handshake_lane_full, "handshake queue to the control thread full")                        \
  X(inbound_refused, "this transport takes no inbound links")                                 \
  X(bad_handshake, "handshake message does not open (wrong key, or meant for another node)")  \
  X(bad_point, "not a point of the curve")                                                    \
  X(own_identity, "handshake from our own key")                                               \
  X(acl_denied, "refused by the peer access list")                                            \
  X(max_peers, "already at node.limits.max_peers")                                            \
  X(max_connections, "already at node.limits.max_connections")                                \
  X(max_pending_inbound, "too many unconfirmed inbound handshakes")                           \
  X(duplicate_handshake, "handshake already answered")                                        \
  X(rekey_tiebreak, "both sides started a rekey; ours goes on")                               \
  X(rekey_pending, "a rekey is already waiting for its first frame")                          \
  X(draining, "shutting down")                                                                \
  X(unknown_handshake, "handshake answer that nothing waits for")                             \
  X(index_exhausted, "no free session index")                                                 \
  X(counter_exhausted, "sending counter used up")                                             \
  X(no_reason, "disconnect without a reason byte")                                            \
  X(foreign_source, "known-link handshake by another identity")                               \
  /* tree, filters, lookup, routing */                                                        \
  X(unknown_peer, "message from a node that is no active peer")                               \
  X(addr_mismatch, "address is not the sender's")                                             \
  X(bad_signature, "signature does not verify")                                               \
  X(bad_ancestry, "ancestry breaks the tree's rules")                                         \
  X(duplicate_ancestor, "ancestry names a node twice")                                        \
  X(path_too_long, "path longer than any sane tree")                                          \
  X(stale, "sequence not newer than the stored one")                                          \
  X(announce_rate, "tree announces over the rate limit")                                      \
  X(bad_filter_size, "filter size class not supported")                                       \
  X(bad_hash_count, "filter hash count is not 5")                                             \
  X(filter_too_full, "filter fuller than bloom.max_inbound_fpr")                              \
  X(duplicate_request, "lookup request already seen")                                         \
  X(own_request, "our own lookup came back")                                                  \
  X(request_table_full, "lookup table full")                                                  \
  X(request_rate, "lookup for this target forwarded moments ago")                             \
  X(answer_rate, "lookups for us over the rate limit")                                        \
  X(ttl_spent, "hop limit used up")                                                           \
  X(no_filter_match, "no peer's filter holds the target")                                     \
  X(unknown_request, "lookup answer that nothing waits for")                                  \
  X(response_repeated, "lookup answer already passed on")                                     \
  X(target_mismatch, "lookup answer for another target")                                      \
  X(bad_proof, "lookup proof does not verify")                                                \
  X(no_route, "no next hop")                                                                  \
  X(over_link_mtu, "frame larger than the next link takes")                                   \
  X(short_cp, "coordinates flag on a payload too short for it")                               \
  X(warm_malformed, "coordinates in passing do not parse")                                    \
  X(warm_mismatch, "coordinate list does not begin with its own address")                     \
  X(warm_rate, "coordinates in passing over the rate limit")                                  \
  X(unbound_signal, "error signal for a destination we hold no session with")                 \
  X(forged_signal, "error signal about ourselves or by its own subject")                      \
  X(signal_rate, "error signal over its rate limit")                                          \
  X(unknown_signal, "error signal of unknown type")                                           \
  X(unreportable, "no error signal about this payload, or to ourselves")                      \
  X(hearsay_refused, "coordinates in passing would replace proven ones")                      \
  X(mtu_below_floor, "path MTU below 256 ignored")                                            \
  X(bad_report, "metrics report repeats, goes backwards or claims the impossible")            \
  X(control_lane_full, "queue of authenticated messages to the control thread full")          \
  X(miss_lane_full, "queue of packets without a route or session full")                       \
  X(peer_message_rate, "one peer's control messages over the rate limit")                     \
  /* sessions */                                                                              \
  X(unknown_session, "no session with this node")                                             \
  X(bad_state, "session is not in the state for this message")                                \
  X(setup_rate, "session setups over the rate limit")                                         \
  X(setup_table_full, "too many half-open sessions")                                          \
  X(own_source, "session message that claims to be ours")                                     \
  X(bad_handshake_length, "handshake payload of the wrong length")                            \
  X(ack_failed, "session answer does not open")                                               \
  X(msg3_failed, "third session message does not open")                                       \
  X(key_mismatch, "session key is not the key of the address")                                \
  X(undecryptable, "session frame opens under no epoch")                                      \
  X(unknown_session_message, "session message of unknown type")                               \
  X(unknown_port, "no service on this port")                                                  \
  X(pending_overflow, "packets waiting for a session over their bound")                       \
  X(pending_expired, "packets waited too long for a session")                                 \
  X(stray_lane_full, "queue between workers full")                                            \
  /* packets */                                                                               \
  X(not_ipv6, "packet on the interface is not IPv6")                                          \
  X(packet_truncated, "packet shorter than its header says")                                  \
  X(not_mesh_destination, "destination outside fd00::/8")                                     \
  X(unknown_destination, "no key known for this address")                                     \
  X(too_big, "packet larger than the path takes")                                             \
  X(icmp_rate, "ICMPv6 error over its rate limit")                                            \
  X(bad_shim, "compressed header does not rebuild")                                           \
  X(rebuilt_too_long, "rebuilt packet longer than 65535 bytes")                               \
  X(no_tun, "no interface to deliver to")                                                     \
  X(tun_write_failed, "interface refused a packet")                                           \
  X(tun_read_failed, "interface could not be read")                                           \
  X(bad_offload, "interface handed over an impossible super-packet")                          \
  X(send_failed, "socket refused a datagram")                                                 \
  X(send_buffer_full, "socket buffer full")                                                   \
  X(send_too_big, "frame larger than the system sends towards this peer")                     \
  X(send_unreachable, "system has no way to the peer's address, or our own address is gone")  \
  X(firewalled, "refused by the mesh-side firewall")                                          \
  /* names and control */                                                                     \
  X(dns_malformed, "DNS query does not parse")                                                \
  X(dns_not_query, "DNS message is not a query")                                              \
  X(dns_from_mesh, "DNS query from the mesh side")                                            \
  X(control_malformed, "control request does not parse")                                      \
  X(control_too_large, "control request over 4096 bytes")                                     \
  X(control_too_many, "too many control connections")

enum class Drop : std::uint16_t {
#define WEFT_X(name, text) name,
  WEFT_DROPS(WEFT_X)
#undef WEFT_X
      count_
};
constexpr std::size_t kDropCount = static_cast<std::size_t>(Drop::count_);

/// The counter's name, as status and metrics show it.
std::string_view name_of(Drop d);
/// One clause for a person.
std::string_view text_of(Drop d);

class DropCounters {
 public:
  void add(Drop d, std::uint64_t n = 1) {
    auto& c = counts_[static_cast<std::size_t>(d)];
    c.store(c.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  std::uint64_t get(Drop d) const { return counts_[static_cast<std::size_t>(d)].load(std::memory_order_relaxed); }

 private:
  std::array<std::atomic<std::uint64_t>, kDropCount> counts_{};
};

}  // namespace weft
