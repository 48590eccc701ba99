// What a datagram costs the kernel, sent and received on one processor over loopback: by a socket of the link's own at
// either end, or by listening ones, with as many other links beside it.
#include <benchmark/benchmark.h>

#include <stdexcept>

#include "io/udp_socket.h"

namespace weft::io {
namespace {

constexpr std::size_t kFrames = 64;
constexpr int kCalls = 4;  // before the receiver is read

UdpSocket open_on(std::uint16_t port, std::string_view address) {
  UdpOptions o{.bind = *Endpoint::parse(address)};
  o.bind.port = port;
  o.fragments = Fragments::allow;
  auto s = UdpSocket::open(o);
  if (!s) throw std::runtime_error(s.error().text);
  return std::move(*s);
}

/// One end: a listening socket, and links' own sockets if there are to be any. The first of those is the one in use.
struct End {
  explicit End(std::string_view address) : listening(open_on(0, address)) {
    (void)listening.steer_by_receiver_index(1);
  }

  void link_to(const Endpoint& peer, std::string_view address) {
    own.push_back(open_on(listening.local().port, address));
    if (!own.back().connect(peer)) throw std::runtime_error("connect");
  }
  UdpSocket& in_use() { return own.empty() ? listening : own.front(); }

  UdpSocket listening;
  std::vector<UdpSocket> own;
};

/// Arguments: links with sockets of their own (0: listening sockets alone), bytes, offload.
void datagrams(benchmark::State& state) {
  constexpr std::string_view kHere = "127.0.0.1:0", kThere = "127.0.0.2:0";
  End here(kHere), there(kThere);
  for (int i = 0; i < state.range(0); ++i) {
    auto stranger = here.listening.local();
    if (i > 0) stranger.port = static_cast<std::uint16_t>(stranger.port + i);
    there.link_to(stranger, kThere);
  }
  if (state.range(0) > 0) here.link_to(there.listening.local(), kHere);
  const Buffer frame(static_cast<std::size_t>(state.range(1)), 7);
  const std::size_t at_once = state.range(2) != 0 ? kFrames : 1;
  const std::vector<Bytes> frames(at_once, frame);
  const std::vector<Datagram> singles(
      kFrames, Datagram{here.own.empty() ? there.listening.local() : Endpoint{}, frame});
  const auto to = there.listening.local();
  RecvBatch batch(16, 65535);
  std::size_t sent = 0, got = 0;
  for (auto _ : state) {
    for (int i = 0; i < kCalls; ++i)
      sent += (at_once > 1 ? here.in_use().send_segments(here.own.empty() ? &to : nullptr, frames)
                           : here.in_use().send_batch(singles))
                  .sent;
    while (there.in_use().recv_batch(batch) == RecvStatus::ok)
      for (const auto& r : batch.received()) got += (r.data.size() + r.segment - 1) / r.segment;
  }
  if (got != sent) state.SkipWithError("datagrams were lost, or came to another socket");
  state.counters["ns/datagram"] = benchmark::Counter(
      static_cast<double>(sent) * 1e-9, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(datagrams)
    ->ArgNames({"own", "bytes", "offload"})
    ->ArgsProduct({{0, 1, 200, 1000}, {64, 1400}, {0, 1}});

}  // namespace
}  // namespace weft::io

BENCHMARK_MAIN();
