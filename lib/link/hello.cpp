#include "link/links.h"

namespace weft::link {
namespace {

/// Time from one question to the next; a reference node sees as many unknown messages, and then no more.
constexpr std::array<Duration, 3> kAgain{1s, 3s, 10s};

}  // namespace

void Links::say_hello(const Peer& peer, bool answer, Outbox& out) const {
  Buffer message;
  wire::encode_hello(message, {answer, settings_.features});
  say(peer, std::move(message), out);
}

void Links::ask_hello(Now now, Peer& peer, Outbox& out) {
  if (peer.features) return;
  say_hello(peer, false, out);
  if (peer.hellos < kAgain.size()) due_.set({Timer::hello, peer.link.value}, now.mono + kAgain[peer.hellos]);
  ++peer.hellos;
}

void Links::on_hello(Now, LinkId link, const wire::Hello& hello, Outbox& out) {
  Peer* peer = peer_of(link);
  if (!peer) return drops_.add(Drop::unknown_peer);
  if (!hello.answer) say_hello(*peer, true, out);
  due_.clear({Timer::hello, link.value});
  if (peer->features == hello.features) return;
  peer->features = hello.features;
  install(*peer, out);
  events_.push_back(LinkFeatures{peer->link, peer->addr});
}

}  // namespace weft::link
