#include "weftd/resolver.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/udp.hpp>

#include <algorithm>
#include <cstring>

namespace weft::daemon {
namespace {

using boost::asio::ip::udp;

Endpoint endpoint_of(const boost::asio::ip::address& a) {
  Endpoint e;
  if (a.is_v4()) {
    e.family = Endpoint::Family::v4;
    const auto b = a.to_v4().to_bytes();
    std::memcpy(e.ip.data(), b.data(), b.size());
  } else {
    e.family = Endpoint::Family::v6;
    const auto b = a.to_v6().to_bytes();
    std::memcpy(e.ip.data(), b.data(), b.size());
    if (e.is_link_local()) e.scope = static_cast<std::uint32_t>(a.to_v6().scope_id());
  }
  return e;
}

}  // namespace

struct Resolver::Impl {
  Impl(boost::asio::io_context& io, Done d) : resolver(io), done(std::move(d)) {}
  udp::resolver resolver;
  Done done;
  std::size_t pending = 0;
};

Resolver::Resolver(boost::asio::io_context& io, Done done)
    : impl_(std::make_unique<Impl>(io, std::move(done))) {}
Resolver::~Resolver() = default;
std::size_t Resolver::pending() const { return impl_->pending; }

void Resolver::resolve(std::uint64_t ticket, const std::string& host) {
  ++impl_->pending;
  impl_->resolver.async_resolve(
      host, "",
      [this, ticket](const boost::system::error_code& failed, const udp::resolver::results_type& results) {
        if (failed == boost::asio::error::operation_aborted) return;
        --impl_->pending;
        std::vector<Endpoint> endpoints;
        for (const auto& r : results) {
          const Endpoint e = endpoint_of(r.endpoint().address());
          if (std::ranges::find(endpoints, e) == endpoints.end()) endpoints.push_back(e);
        }
        impl_->done(ticket, endpoints, failed ? failed.message() : endpoints.empty() ? "no address" : "");
      });
}

}  // namespace weft::daemon
