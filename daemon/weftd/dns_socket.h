/// The socket of the name responder: a query in, the node's answer out to where it was asked.
///
/// Mesh side   a query that came in over the mesh interface is not answered: neighbours must not list local names.
/// Thread      control thread. At most kPerTurn queries are answered in one go.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/bytes.h"
#include "base/drop.h"
#include "base/result.h"
#include "config/schema.h"

namespace boost::asio {
class io_context;
}

namespace weft::daemon {

class DnsSocket {
 public:
  static constexpr int kPerTurn = 64;
  /// Empty: no reply.
  using Answer = std::function<Buffer(Bytes query)>;

  /// `mesh_index`: the mesh interface, or 0. Errors: a sentence.
  static Result<DnsSocket, std::string> open(boost::asio::io_context& io, const config::DnsSection& config,
                                             unsigned mesh_index, DropCounters& drops, Answer answer);
  DnsSocket(DnsSocket&&) noexcept;
  DnsSocket& operator=(DnsSocket&&) noexcept;
  ~DnsSocket();
  /// "[::1]:5354".
  const std::string& address() const;

 private:
  struct Impl;
  explicit DnsSocket(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace weft::daemon
