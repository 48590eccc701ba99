#include "weftd/metrics_socket.h"

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <optional>

#include "weftd/accept_loop.h"
#include "weftd/run_dir.h"

namespace weft::daemon {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using Failed = boost::system::error_code;
using Stream = beast::basic_stream<asio::generic::stream_protocol>;
using Request = http::request_parser<http::empty_body>;
using Response = http::response<http::string_body>;

constexpr std::uint32_t kMostHeader = 8192;

/// "localhost", "127.0.0.1:9121", "[::1]": names by which a machine means itself.
bool names_this_machine(std::string_view host) {
  if (host.empty()) return true;  // HTTP/1.0
  const auto port = host.rfind(':');
  if (port != std::string_view::npos && host.find(']', port) == std::string_view::npos &&
      (host.front() == '[' || host.find(':') == port))
    host = host.substr(0, port);
  return host == "localhost" || host == "[::1]" || host.starts_with("127.");
}

}  // namespace

struct MetricsSocket::Impl : std::enable_shared_from_this<Impl> {
  struct Client;

  explicit Impl(asio::io_context& context) : io(context), tcp(context), local(context), pause(context) {}

  template <class Acceptor>
  void accept(Acceptor& acceptor);
  void close();

  asio::io_context& io;
  asio::ip::tcp::acceptor tcp;
  asio::local::stream_protocol::acceptor local;
  asio::steady_timer pause;
  std::optional<SocketFile> file;
  Page page;
  std::string address;
  bool check_host = false;
  std::size_t clients = 0;
};

/// One connection; alive while a handler holds it.
struct MetricsSocket::Impl::Client : std::enable_shared_from_this<Client> {
  Client(std::shared_ptr<Impl> o, asio::generic::stream_protocol::socket s)
      : owner(std::move(o)), stream(std::move(s)) {
    ++owner->clients;
  }
  ~Client() { --owner->clients; }

  void read() {
    request.header_limit(kMostHeader);
    request.body_limit(0);
    stream.expires_after(kPatience);
    http::async_read(stream, buffer, request, [self = shared_from_this()](const Failed& failed, std::size_t) {
      if (!failed) return self->answer();
      if (failed.category() == http::make_error_code(http::error::bad_method).category() &&
          failed != http::error::end_of_stream)
        self->say(http::status::bad_request, "not understood\n");
    });
  }
  void answer() {
    const auto& r = request.get();
    head_only = r.method() == http::verb::head;
    if (owner->check_host && !names_this_machine(r[http::field::host]))
      return say(http::status::forbidden, "only for this machine: ask localhost\n");
    if (r.method() != http::verb::get && !head_only)
      return say(http::status::method_not_allowed, "GET /metrics is all there is\n");
    const std::string_view target(r.target().data(), r.target().size());
    if (target.substr(0, target.find('?')) != "/metrics")
      return say(http::status::not_found, "the numbers are under /metrics\n");
    say(http::status::ok, owner->page());
  }
  void say(http::status status, std::string text) {
    response.version(request.get().version());
    response.result(status);
    response.set(http::field::content_type, status == http::status::ok
                                                ? "text/plain; version=0.0.4; charset=utf-8"
                                                : "text/plain; charset=utf-8");
    if (status == http::status::method_not_allowed) response.set(http::field::allow, "GET, HEAD");
    response.keep_alive(false);
    response.body() = std::move(text);
    response.prepare_payload();
    if (head_only) response.body().clear();
    stream.expires_after(kPatience);
    http::async_write(stream, response, [self = shared_from_this()](const Failed&, std::size_t) {
      Failed ignored;
      self->stream.socket().shutdown(asio::socket_base::shutdown_both, ignored);
    });
  }

  std::shared_ptr<Impl> owner;
  Stream stream;
  beast::flat_buffer buffer{kMostHeader};
  Request request;
  Response response;
  bool head_only = false;
};

template <class Acceptor>
void MetricsSocket::Impl::accept(Acceptor& acceptor) {
  accept_each(shared_from_this(), acceptor, pause, [this](auto socket) {
    if (clients < kMostClients) std::make_shared<Client>(shared_from_this(), std::move(socket))->read();
  });
}

void MetricsSocket::Impl::close() {
  Failed ignored;
  tcp.close(ignored);
  local.close(ignored);
  pause.cancel();
}

Result<MetricsSocket, std::string> MetricsSocket::open(asio::io_context& io,
                                                       const config::MetricsSection& config, Page page) {
  const std::string text = config.listen.value_or(std::string(config::kMetricsListen));
  const auto at = config::parse_metrics_listen(text);
  if (!at) return bad("weft.metrics.listen: " + text + " is neither an address with a port nor a path");
  auto impl = std::make_shared<Impl>(io);
  impl->page = std::move(page);
  if (!at->path.empty()) {
    auto file = SocketFile::listen(at->path, "metrics socket", "weft.metrics.listen");
    if (!file) return bad(file.error());
    impl->file.emplace(std::move(*file));
    impl->local.assign(asio::local::stream_protocol(), impl->file->take_fd().release());
    impl->address = at->path;
    impl->accept(impl->local);
    return MetricsSocket(std::move(impl));
  }
  Failed failed;
  const auto ip = asio::ip::make_address(at->endpoint->ip_text(), failed);
  const asio::ip::tcp::endpoint endpoint(ip, at->endpoint->port);
  const auto step = [&](auto f) {
    if (!failed) f();
  };
  step([&] { impl->tcp.open(endpoint.protocol(), failed); });
  step([&] { impl->tcp.set_option(asio::socket_base::reuse_address(true), failed); });
  step([&] { impl->tcp.bind(endpoint, failed); });
  step([&] { impl->tcp.listen(asio::socket_base::max_listen_connections, failed); });
  if (failed)
    return bad("metrics: cannot listen on " + text + ": " + failed.message() +
               "; weft.metrics.listen names another");
  impl->check_host = at->endpoint->is_loopback();
  impl->address = "http://" + at->endpoint->text() + "/metrics";
  impl->accept(impl->tcp);
  return MetricsSocket(std::move(impl));
}

MetricsSocket::MetricsSocket(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
MetricsSocket::MetricsSocket(MetricsSocket&&) noexcept = default;
MetricsSocket& MetricsSocket::operator=(MetricsSocket&&) noexcept = default;
MetricsSocket::~MetricsSocket() {
  if (impl_) impl_->close();
}
const std::string& MetricsSocket::address() const { return impl_->address; }

}  // namespace weft::daemon
