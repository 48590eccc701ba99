#include "sim/churn.h"

namespace weft::sim {
namespace {

class Churn {
 public:
  Churn(World& w, std::uint64_t seed) : w_(w), rng_(detail::mix(seed) + 17), moves_(w.size()) {}

  void one() {
    const auto n = static_cast<NodeId>(rng_.below(w_.size()));
    const Edge& e = w_.topology().edges[rng_.below(w_.topology().edges.size())];
    switch (rng_.below(7)) {
      case 0:
      case 1:
        if (!w_[n].running()) w_[n].start();
        else if (down() * 3 >= w_.size()) return;
        else if (rng_.below(2) == 0) w_[n].kill();
        else w_[n].stop();
        return;
      case 2:
        return w_[n].move_to(World::endpoint_of(n, ++moves_[n]), rng_.below(2) == 0);
      case 3:
        return w_.cut(e.a, e.b);
      case 4:
        return w_.cut(e.a, e.b, true);
      case 5:
        return spoil(e, 0.3, 0.3);
      default:
        return spoil(e, 0, 0);
    }
  }
  void put_right() {
    for (const Edge& e : w_.topology().edges) spoil(e, 0, 0), w_.cut(e.a, e.b, true);
    for (NodeId i = 0; i < w_.size(); ++i) {
      if (w_[i].endpoint() != World::endpoint_of(i)) w_[i].move_to(World::endpoint_of(i));
      if (!w_[i].running()) w_[i].start();
    }
  }

 private:
  std::size_t down() const {
    std::size_t n = 0;
    for (NodeId i = 0; i < w_.size(); ++i) n += w_[i].running() ? 0 : 1;
    return n;
  }
  void spoil(const Edge& e, double loss, double reorder) {
    w_.underlay().set_both(e.a, e.b,
                           [&](LinkParams& p) { p.loss = loss, p.reorder = reorder, p.duplicate = reorder; });
  }

  World& w_;
  SeededRng rng_;
  std::vector<std::uint8_t> moves_;
};

}  // namespace

void churn(World& w, std::uint64_t seed, Duration lasts, Duration every) {
  Churn c(w, seed);
  SeededRng pace(seed + 1);
  const Instant end = w.net().now() + lasts;
  while (w.net().now() < end) {
    w.run_for(Duration{pace.between(0, 2 * every.count())});
    c.one();
    // Somebody always wants to talk to somebody.
    const auto a = static_cast<NodeId>(pace.below(w.size())), b = static_cast<NodeId>(pace.below(w.size()));
    if (a == b || !w[a].running()) continue;
    w[a].prime(w[b].identity().key());
    w.probes().send(w[a], w[b]);
  }
  c.put_right();
}

}  // namespace weft::sim
