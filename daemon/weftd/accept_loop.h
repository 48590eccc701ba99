/// Accepting connections for as long as an acceptor is open.
///
/// Thread   the acceptor's.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>
#include <utility>

namespace weft::daemon {

/// Each connection goes to `take`. After a failure, which most likely means that the process is out of descriptors, the
/// loop rests: asking again at once would spin. `owner` keeps acceptor and timer alive. Whoever closes the acceptor and
/// cancels the timer ends the loop.
template <class Owner, class Acceptor, class Take>
void accept_each(std::shared_ptr<Owner> owner, Acceptor& acceptor, boost::asio::steady_timer& rest,
                 Take take) {
  using Failed = boost::system::error_code;
  using Socket = typename Acceptor::protocol_type::socket;
  acceptor.async_accept([owner, &acceptor, &rest, take](const Failed& failed, Socket socket) {
    if (!acceptor.is_open()) return;
    if (!failed) {
      take(std::move(socket));
      return accept_each(owner, acceptor, rest, take);
    }
    rest.expires_after(std::chrono::milliseconds(100));
    rest.async_wait([owner, &acceptor, &rest, take](const Failed& stopped) {
      if (!stopped && acceptor.is_open()) accept_each(owner, acceptor, rest, take);
    });
  });
}

}  // namespace weft::daemon
