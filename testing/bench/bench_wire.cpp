// What a hot decoder costs, per frame.
#include <benchmark/benchmark.h>

#include "wire/envelope.h"
#include "wire/link_frame.h"
#include "wire/session_frame.h"

namespace weft::wire {
namespace {

Buffer sample_frame() {
  Buffer frame(1400, 7);
  write_link_header(frame, {{}, static_cast<std::uint16_t>(frame.size() - kMinLinkFrame), {0x01020304}, 99});
  return frame;
}

void link_header(benchmark::State& state) {
  const Buffer frame = sample_frame();
  for (auto _ : state) {
    auto h = decode_link_header(frame);
    benchmark::DoNotOptimize(h);
  }
}
BENCHMARK(link_header);

void envelope(benchmark::State& state) {
  Buffer message(1300, 7);
  write_envelope_header(message, {64, 1280, NodeAddr{}, NodeAddr{}, {}});
  for (auto _ : state) {
    auto e = decode_envelope(message);
    benchmark::DoNotOptimize(e);
  }
}
BENCHMARK(envelope);

void sealed_session(benchmark::State& state) {
  Buffer payload(1200, 7);
  write_session_header(payload, {false, false, 1200 - 28, 5});
  for (auto _ : state) {
    auto s = decode_sealed_session(payload);
    benchmark::DoNotOptimize(s);
  }
}
BENCHMARK(sealed_session);

}  // namespace
}  // namespace weft::wire

BENCHMARK_MAIN();
