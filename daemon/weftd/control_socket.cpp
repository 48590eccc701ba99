#include "weftd/control_socket.h"

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <set>

#include "control/request.h"
#include "weftd/accept_loop.h"

namespace weft::daemon {
namespace {

using boost::asio::local::stream_protocol;
using Failed = boost::system::error_code;

}  // namespace

struct ControlSocket::Impl : std::enable_shared_from_this<Impl> {
  struct Client;

  Impl(boost::asio::io_context& context, io::Fd fd, DropCounters& d, Handle h)
      : io(context),
        acceptor(context, stream_protocol(), fd.release()),
        pause(context),
        drops(d),
        handle(std::move(h)) {}

  void take(stream_protocol::socket s);
  void close();

  boost::asio::io_context& io;
  stream_protocol::acceptor acceptor;
  boost::asio::steady_timer pause;
  DropCounters& drops;
  Handle handle;
  std::set<std::shared_ptr<Client>> clients;
};

/// One connection. It is alive while it is among the clients or a handler holds it.
struct ControlSocket::Impl::Client : std::enable_shared_from_this<Client> {
  Client(std::shared_ptr<Impl> o, stream_protocol::socket s)
      : owner(std::move(o)), socket(std::move(s)), timer(owner->io) {}

  void limit(const char* what) {
    timer.expires_after(kPatience);
    timer.async_wait([self = shared_from_this(), what](const Failed& failed) {
      if (failed) return;
      if (what == nullptr) return self->end();
      self->answer(control::error_reply(what));
    });
  }
  void read() {
    socket.async_read_some(
        boost::asio::buffer(buffer.data() + used, buffer.size() - used),
        [self = shared_from_this()](const Failed& failed, std::size_t n) { self->on_read(failed, n); });
  }
  void on_read(const Failed& failed, std::size_t n) {
    if (answered) return;
    const std::string_view fresh(buffer.data() + used, n);
    const auto newline = fresh.find('\n');
    used += n;
    if (newline != std::string_view::npos) return request(used - n + newline);
    if (used == buffer.size()) {
      owner->drops.add(Drop::control_too_large);
      return answer(control::error_reply("read error: request too large"));
    }
    if (!failed) return read();
    if (failed == boost::asio::error::eof) return request(used);
    end();
  }
  void request(std::size_t size) {
    if (size == 0) return answer(control::error_reply("empty request"));
    auto r = owner->handle(std::string_view(buffer.data(), size));
    more = std::move(r.more);
    abandon = std::move(r.abandon);
    answer(std::move(r.line));
  }
  void answer(std::string text) {
    if (answered) return;
    answered = true;
    reply = std::move(text) + "\n";
    limit(nullptr);
    boost::asio::async_write(socket, boost::asio::buffer(reply),
                             [self = shared_from_this()](const Failed& failed, std::size_t) {
                               if (failed || !self->more) return self->end();
                               self->watch_for_hangup();
                               self->next_look();
                             });
  }
  /// Both directions closed. A client that only says that it asks no more is still listening.
  void watch_for_hangup() {
    socket.async_wait(stream_protocol::socket::wait_error, [self = shared_from_this()](const Failed& failed) {
      if (!failed) self->end();
    });
  }
  void next_look() {
    timer.expires_after(kLook);
    timer.async_wait([self = shared_from_this()](const Failed& failed) {
      if (!failed && self->more) self->look();
    });
  }
  void look() {
    auto next = more();
    if (next.done) abandon = nullptr;
    if (!next.line) return next.done ? end() : next_look();
    reply = std::move(*next.line) + "\n";
    limit(nullptr);
    boost::asio::async_write(
        socket, boost::asio::buffer(reply),
        [self = shared_from_this(), done = next.done](const Failed& failed, std::size_t) {
          if (failed || done) return self->end();
          self->next_look();
        });
  }
  void end() {
    answered = true;
    more = nullptr;
    if (const auto gone = std::exchange(abandon, nullptr)) gone();
    timer.cancel();
    Failed ignored;
    // What the client still sends would turn our close into a reset, and a reset may overtake the reply.
    std::array<char, 512> rest{};
    while (socket.available(ignored) > 0 && socket.read_some(boost::asio::buffer(rest), ignored) > 0) {
    }
    socket.shutdown(stream_protocol::socket::shutdown_both, ignored);
    socket.close(ignored);
    owner->clients.erase(shared_from_this());
  }

  std::shared_ptr<Impl> owner;
  stream_protocol::socket socket;
  boost::asio::steady_timer timer;
  std::array<char, control::kMaxRequest> buffer{};
  std::size_t used = 0;
  std::string reply;
  std::function<control::Followed()> more;
  std::function<void()> abandon;
  bool answered = false;
};

void ControlSocket::Impl::take(stream_protocol::socket s) {
  Failed ignored;
  s.non_blocking(true, ignored);
  if (clients.size() >= kMostClients) return drops.add(Drop::control_too_many);
  auto c = std::make_shared<Client>(shared_from_this(), std::move(s));
  clients.insert(c);
  c->limit("read timeout");
  c->read();
}

void ControlSocket::Impl::close() {
  Failed ignored;
  acceptor.close(ignored);
  pause.cancel();
  for (const auto open = clients; const auto& c : open) c->end();
}

ControlSocket::ControlSocket(boost::asio::io_context& io, SocketFile file, DropCounters& drops, Handle handle)
    : file_(std::move(file)), impl_(std::make_shared<Impl>(io, file_.take_fd(), drops, std::move(handle))) {
  accept_each(impl_, impl_->acceptor, impl_->pause,
              [i = impl_.get()](stream_protocol::socket s) { i->take(std::move(s)); });
}

ControlSocket::~ControlSocket() { impl_->close(); }

}  // namespace weft::daemon
