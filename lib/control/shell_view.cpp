#include "control/shell_view.h"

namespace weft::control {
namespace {

void sum(ShardTotals::Pair& to, const ForwardingStats::Pair& from) {
  to.packets += from.packets.get();
  to.bytes += from.bytes.get();
}

}  // namespace

void ShardTotals::add(const ForwardingStats& f) {
  sum(received, f.received);
  sum(decode_error, f.decode_error);
  sum(warm_malformed, f.warm_malformed);
  sum(ttl_exhausted, f.ttl_exhausted);
  sum(delivered, f.delivered);
  sum(forwarded, f.forwarded);
  sum(drop_no_route, f.drop_no_route);
  sum(drop_mtu_exceeded, f.drop_mtu_exceeded);
  sum(drop_send_error, f.drop_send_error);
  sum(originated, f.originated);
  route_tree_up += f.route_tree_up.get();
  route_tree_down += f.route_tree_down.get();
  route_tree_down_cross += f.route_tree_down_cross.get();
  route_crosslink_descend += f.route_crosslink_descend.get();
  route_crosslink_ascend += f.route_crosslink_ascend.get();
  route_direct_peer += f.route_direct_peer.get();
  ce_forwarded += f.ce_forwarded.get();
  ce_received += f.ce_received.get();
  congestion_detected += f.congestion_detected.get();
}

void ShardTotals::add(const ShardStats& s) {
  add(s.forwarding);
  for (std::size_t i = 0; i < kDropCount; ++i) drops[i] += s.drops.get(static_cast<Drop>(i));
  for (std::size_t i = 0; i < Histogram::kSlots; ++i) {
    burst_in[i] += s.burst_in.slot(i);
    run_out[i] += s.run_out.slot(i);
  }
  fragmented += s.fragmented.get();
  mss_clamped += s.mss_clamped.get();
  queue_marked += s.queue_marked.get();
  queue_dropped += s.queue_dropped.get();
  too_big_sent += s.too_big_sent.get();
  unreachable_sent += s.unreachable_sent.get();
  hairpinned += s.hairpinned.get();
  strays += s.strays.get();
  for (std::size_t i = 0; i < kStages; ++i) {
    stages[i].runs += s.stages[i].runs.get();
    stages[i].items += s.stages[i].items.get();
    stages[i].ns += s.stages[i].ns.get();
  }
}

}  // namespace weft::control
