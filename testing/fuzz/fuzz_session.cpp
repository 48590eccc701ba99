// A node's sessions driven by a script: time passes, a genuine peer talks, is delayed, cut, bent and
// replayed, and strangers send whatever they like under any name. Each step is an opcode byte and its
// operands.
#include "session/sessions.h"
#include "testing/fuzz/check.h"
#include "wire/session_frame.h"

namespace {

using namespace weft;
using namespace weft::session;

struct Identities {
  SeededRng rng{1};
  crypto::Identity a = crypto::Identity::generate(rng);
  crypto::Identity b = crypto::Identity::generate(rng);
};

struct Node final : Surroundings {
  Node(const crypto::Identity& i, const NodeAddr& p, std::uint64_t seed)
      : id(i), peer(p), rng(seed), path{i.addr()}, sessions(i, StartupEpoch{}, quick(), *this, rng) {}
  static Settings quick() {
    Settings s;
    s.rekey_after = 20s;
    return s;
  }
  const wire::Path& own_path() override { return path; }
  const wire::Path* coords_of(const NodeAddr&) override { return nullptr; }
  std::optional<Hop> hop_to(Instant, const NodeAddr&, Outbox&) override {
    return Hop{LinkId{1}, WorkerId{0}, 1280};
  }
  bool send_datagram(Instant, const NodeAddr& dest, Buffer payload, Outbox&) override {
    if (dest == peer && sent.size() < 64) sent.push_back(std::move(payload));
    return true;
  }

  bool up() const {
    const auto v = sessions.view(peer);
    return v && v->state == State::established;
  }
  /// Keeps count of what the workers would hold.
  void settle(Outbox& out) {
    for (auto& e : out.take()) {
      auto* home = std::get_if<ToHome>(&e);
      if (home == nullptr) continue;
      if (const auto* r = std::get_if<AddSessionRecv>(&home->command)) {
        FUZZ_CHECK(r->recv.remote == peer);  // nobody else knows a secret
        held.push_back(r->recv.epoch);
      } else if (const auto* d = std::get_if<DropSessionRecv>(&home->command)) {
        FUZZ_CHECK(std::erase(held, d->epoch) == 1);
      }
    }
    FUZZ_CHECK(held.size() <= 3);
    FUZZ_CHECK(held.empty() == !up());
    FUZZ_CHECK(sessions.half_open() <= sessions.size() * kMaxAnswers);
    FUZZ_CHECK(sessions.pending().packets() <= 16 * 256);
    for (const auto& e : sessions.take_events())
      if (const auto* k = std::get_if<KeyLearned>(&e)) FUZZ_CHECK(crypto::node_addr_of(k->key) == k->remote);
  }

  void give(Instant now, const NodeAddr& src, const NodeAddr& via, Bytes payload) {
    Outbox out;
    const bool was = up();
    (void)sessions.on_setup(now, src, via, payload, out);
    (void)sessions.on_ack(now, src, payload, out);
    (void)sessions.on_msg3(now, src, payload, out);
    (void)sessions.on_signal(now, src, payload, out);
    FUZZ_CHECK(!was || up());  // nothing that arrives ends a session
    settle(out);
  }
  void wake(Instant now) {
    Outbox out;
    sessions.on_deadline(now, out);
    const auto next = sessions.deadline();
    FUZZ_CHECK(!next || *next > now);
    settle(out);
  }

  const crypto::Identity& id;
  NodeAddr peer;
  SeededRng rng;
  wire::Path path;
  std::vector<Buffer> sent;
  std::vector<EpochId> held;
  Sessions sessions;
};

NodeAddr name(const Identities& who, std::uint8_t n) {
  if (n % 4 == 0) return who.a.addr();
  if (n % 4 == 1) return who.b.addr();
  NodeAddr out;
  out.bytes[0] = n;
  return out;
}

void step(Reader& in, const Identities& who, Node& a, Node& b, Instant& now) {
  const auto op = in.u8();
  Node& to = (op & 0x80) != 0 ? a : b;
  Node& from = &to == &a ? b : a;
  Outbox out;
  switch (op & 7) {
    case 0:
      now += in.u8() * 125ms;
      a.wake(now);
      b.wake(now);
      break;
    case 1:  // the oldest genuine datagram
    case 2:  // the same, bent or cut, and it stays
      if (from.sent.empty()) break;
      if ((op & 7) == 1) {
        const Buffer d = from.sent.front();
        from.sent.erase(from.sent.begin());
        to.give(now, from.id.addr(), from.id.addr(), d);
      } else {
        Buffer d = from.sent[in.u8() % from.sent.size()];
        d[in.u8() % d.size()] ^= in.u8();
        d.resize(d.size() - in.u8() % 8U % d.size());
        to.give(now, from.id.addr(), name(who, 2), d);
      }
      break;
    case 3: {
      const auto src = in.u8(), via = in.u8();
      const Bytes d = in.take(std::min<std::size_t>(in.u8(), in.left()));
      to.give(now, name(who, src), name(who, via), d);
      break;
    }
    case 4:
      if (!from.sent.empty()) from.sent.erase(from.sent.begin());
      break;
    case 5:
      (void)to.sessions.open(now, from.id.addr(), from.id.key(), out);
      (void)to.sessions.queue_packet(now, name(who, in.u8()), Buffer(40), out);
      break;
    case 6:
      (void)to.sessions.on_proven(now, {from.id.addr(), EpochId{in.u8()}, false}, out);
      break;
    case 7:
      if (in.u8() == 0) to.sessions.remove(from.id.addr(), out);
      (void)to.sessions.lookup_succeeded(now, from.id.addr(), from.id.key(), out);
      break;
  }
  to.settle(out);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Identities who;
  Node a{who.a, who.b.addr(), 2};
  Node b{who.b, who.a.addr(), 3};
  Instant now{1000s};
  Reader in{Bytes{data, size}};
  for (int i = 0; i < 200 && in.left() > 0; ++i) step(in, who, a, b, now);
  return 0;
}
