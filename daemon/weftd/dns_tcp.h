/// The name responder over TCP (RFC 7766): for resolvers that ask that way, or ask again.
///
/// Order      one query of a connection at a time; what is sent ahead waits in the kernel, so a slow reader costs one
///            buffer. Replies come in the order of the queries.
/// Bounds     kMostClients connections, the quietest goes when one more comes; kIdle without a whole query or with a
///            reply that is not taken ends one.
/// Mesh side  as for datagrams: whoever comes in to the mesh address from elsewhere is turned away unanswered.
/// Thread     control thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "base/bytes.h"
#include "base/drop.h"
#include "base/ids.h"
#include "base/result.h"
#include "config/schema.h"

namespace boost::asio {
class io_context;
}

namespace weft::daemon {

class DnsTcp {
 public:
  static constexpr std::size_t kMostClients = 32;
  static constexpr std::chrono::seconds kIdle{10};
  /// Empty: no reply, and the connection ends.
  using Answer = std::function<Buffer(Bytes query)>;

  /// Errors: a sentence.
  static Result<DnsTcp, std::string> open(boost::asio::io_context& io, const config::DnsSection& config,
                                          const MeshAddr& own, DropCounters& drops, Answer answer);
  DnsTcp(DnsTcp&&) noexcept;
  DnsTcp& operator=(DnsTcp&&) noexcept;
  ~DnsTcp();

 private:
  struct Impl;
  explicit DnsTcp(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace weft::daemon
