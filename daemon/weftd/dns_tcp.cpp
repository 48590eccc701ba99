#include "weftd/dns_tcp.h"

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <list>

#include "weftd/accept_loop.h"

namespace weft::daemon {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using Failed = boost::system::error_code;

/// One connection. Lives as long as something of it is awaited.
class Client : public std::enable_shared_from_this<Client> {
 public:
  Client(tcp::socket socket, const DnsTcp::Answer& answer)
      : socket_(std::move(socket)), timer_(socket_.get_executor()), answer_(answer) {}

  void start() { read_length(); }
  void close() {
    Failed ignored;
    socket_.close(ignored);
    timer_.cancel();
  }
  bool closed() const { return !socket_.is_open(); }
  std::chrono::steady_clock::time_point busy_at() const { return busy_at_; }

 private:
  void await_deadline() {
    busy_at_ = std::chrono::steady_clock::now();
    timer_.expires_after(DnsTcp::kIdle);
    timer_.async_wait([self = shared_from_this()](const Failed& stopped) {
      if (!stopped) self->close();
    });
  }
  /// Goes on with `next` after a whole read or write; ends the connection otherwise.
  template <class F>
  auto then(F next) {
    return [self = shared_from_this(), next](const Failed& failed, std::size_t) {
      if (failed || self->closed()) return self->close();
      next(*self);
    };
  }
  void read_length() {
    await_deadline();
    asio::async_read(socket_, asio::buffer(length_), then([](Client& c) { c.read_query(); }));
  }
  void read_query() {
    message_.resize(static_cast<std::size_t>(length_[0]) << 8 | length_[1]);
    asio::async_read(socket_, asio::buffer(message_), then([](Client& c) { c.reply(); }));
  }
  void reply() {
    const Buffer out = answer_(message_);
    if (out.empty()) return close();
    message_.clear();
    Writer(message_).be(static_cast<std::uint16_t>(out.size())).raw(out);
    await_deadline();
    asio::async_write(socket_, asio::buffer(message_), then([](Client& c) { c.read_length(); }));
  }

  tcp::socket socket_;
  asio::steady_timer timer_;
  const DnsTcp::Answer& answer_;  // outlives every handler: the loop has ended before it goes
  std::array<std::uint8_t, 2> length_{};
  Buffer message_;
  std::chrono::steady_clock::time_point busy_at_;
};

bool same(const asio::ip::address& a, const MeshAddr& b) {
  return a.is_v6() && std::ranges::equal(a.to_v6().to_bytes(), b.bytes);
}

}  // namespace

struct DnsTcp::Impl : std::enable_shared_from_this<DnsTcp::Impl> {
  Impl(asio::io_context& io, const MeshAddr& mesh, DropCounters& d, Answer a)
      : acceptor(io), rest(io), own(mesh), drops(d), answer(std::move(a)) {}

  Failed listen(const tcp::endpoint& at) {
    Failed e;
    acceptor.open(at.protocol(), e);
    if (!e) acceptor.set_option(tcp::acceptor::reuse_address(true), e);
    if (!e && at.address().is_v6()) acceptor.set_option(asio::ip::v6_only(false), e);
    if (!e) acceptor.bind(at, e);
    if (!e) acceptor.listen(asio::socket_base::max_listen_connections, e);
    return e;
  }

  void take(tcp::socket socket) {
    Failed e;
    const auto here = socket.local_endpoint(e), there = socket.remote_endpoint(e);
    if (e) return;
    if (same(here.address(), own) && !same(there.address(), own)) return drops.add(Drop::dns_from_mesh);
    std::erase_if(clients, [](const auto& c) { return c->closed(); });
    if (clients.size() >= kMostClients) {
      const auto quiet = std::ranges::min_element(clients, {}, [](const auto& c) { return c->busy_at(); });
      (*quiet)->close();
      clients.erase(quiet);
    }
    clients.push_back(std::make_shared<Client>(std::move(socket), answer));
    clients.back()->start();
  }

  tcp::acceptor acceptor;
  asio::steady_timer rest;
  MeshAddr own;
  DropCounters& drops;
  Answer answer;
  std::list<std::shared_ptr<Client>> clients;
};

Result<DnsTcp, std::string> DnsTcp::open(asio::io_context& io, const config::DnsSection& config,
                                         const MeshAddr& own, DropCounters& drops, Answer answer) {
  Failed e;
  const auto address = asio::ip::make_address(config.bind_addr, e);
  auto impl = std::make_shared<Impl>(io, own, drops, std::move(answer));
  if (!e) e = impl->listen({address, config.port});
  if (e)
    return bad("name responder over TCP on " + config.bind_addr + ", port " + std::to_string(config.port) +
               ": " + e.message());
  accept_each(impl, impl->acceptor, impl->rest,
              [i = impl.get()](tcp::socket socket) { i->take(std::move(socket)); });
  return DnsTcp(std::move(impl));
}

DnsTcp::DnsTcp(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
DnsTcp::DnsTcp(DnsTcp&&) noexcept = default;
DnsTcp& DnsTcp::operator=(DnsTcp&&) noexcept = default;
DnsTcp::~DnsTcp() {
  if (!impl_) return;
  Failed ignored;
  impl_->acceptor.close(ignored);
  impl_->rest.cancel();
  for (const auto& c : impl_->clients) c->close();
  impl_->clients.clear();
}

}  // namespace weft::daemon
