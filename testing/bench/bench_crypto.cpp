#include <benchmark/benchmark.h>
#include <secp256k1.h>
#include <secp256k1_ecdh.h>

#include <ctime>
#include <string>

#include "base/rng.h"
#include "crypto/aead.h"
#include "crypto/ik.h"
#include "crypto/replay.h"
#include "crypto/xk.h"

namespace {

using namespace weft;
using namespace weft::crypto;

/// The library alone: what a handshake costs at least.
struct Curve {
  Curve() {
    if (secp256k1_ec_pubkey_create(context, &key, secret.data()) != 1) std::abort();
    std::size_t n = compressed.size();
    secp256k1_ec_pubkey_serialize(context, compressed.data(), &n, &key, SECP256K1_EC_COMPRESSED);
  }
  void run(int made, int multiplied, int parsed) {
    secp256k1_pubkey k;
    for (int i = 0; i < made; ++i)
      if (secp256k1_ec_pubkey_create(context, &k, secret.data()) != 1) std::abort();
    for (int i = 0; i < multiplied; ++i)
      if (secp256k1_ecdh(context, out.data(), &key, secret.data(), nullptr, nullptr) != 1) std::abort();
    for (int i = 0; i < parsed; ++i)
      if (secp256k1_ec_pubkey_parse(context, &k, compressed.data(), compressed.size()) != 1) std::abort();
    benchmark::DoNotOptimize(k);
    benchmark::DoNotOptimize(out);
  }

  secp256k1_context* context = secp256k1_context_create(SECP256K1_CONTEXT_NONE);
  std::array<unsigned char, 32> secret = [] {
    std::array<unsigned char, 32> s;
    s.fill(0x5a);
    return s;
  }();
  secp256k1_pubkey key{};
  std::array<unsigned char, 33> compressed{};
  std::array<unsigned char, 32> out{};
};

double cpu_seconds() {  // this thread's, so that a busy machine does not blur the ratio
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

/// Times `work` and, in turn with it, the curve calls that it contains, so that both see the same machine.
template <class Work>
void with_ratio(benchmark::State& state, int made, int multiplied, int parsed, Work work) {
  Curve curve;
  double ours = 0;
  double least = 0;
  for (auto _ : state) {
    const double t0 = cpu_seconds();
    work();
    const double t1 = cpu_seconds();
    curve.run(made, multiplied, parsed);
    least += cpu_seconds() - t1;
    ours += t1 - t0;
    state.SetIterationTime(t1 - t0);
  }
  state.counters["curve_us"] = least * 1e6 / static_cast<double>(state.iterations());
  state.counters["ratio"] = ours / least;
}

struct Nodes {
  SeededRng rng{1};
  Identity a = Identity::generate(rng);
  Identity b = Identity::generate(rng);
  StartupEpoch epoch;
};

// Counted per role: keys made, multiplications, points parsed or lifted.
void ik_initiator(benchmark::State& state) {
  Nodes n;
  with_ratio(state, 1, 2, 1,
             [&] { benchmark::DoNotOptimize(IkInitiator::start(n.a, n.b.key(), n.epoch, n.rng)); });
}
void ik_responder_read(benchmark::State& state) {
  Nodes n;
  const auto i = IkInitiator::start(n.a, n.b.key(), n.epoch, n.rng);
  with_ratio(state, 0, 2, 2, [&] { benchmark::DoNotOptimize(IkResponder::read_msg1(n.b, i->msg1())); });
}
void ik_whole(benchmark::State& state) {
  Nodes n;
  with_ratio(state, 2, 6, 4, [&] {
    const auto i = IkInitiator::start(n.a, n.b.key(), n.epoch, n.rng);
    const auto r = IkResponder::read_msg1(n.b, i->msg1());
    const auto answer = r->write_msg2(n.epoch, n.rng);
    benchmark::DoNotOptimize(i->read_msg2(answer.msg2));
  });
}
void xk_whole(benchmark::State& state) {
  Nodes n;
  with_ratio(state, 2, 6, 4, [&] {
    const auto i = XkInitiator::start(n.b.key(), n.rng);
    const auto r = XkResponder::read_msg1(n.b, i->msg1(), n.epoch, n.rng);
    const auto finish = i->read_msg2(n.a, r->msg2(), n.epoch);
    benchmark::DoNotOptimize(r->read_msg3(finish->msg3));
  });
}
BENCHMARK(ik_initiator)->UseManualTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(ik_responder_read)->UseManualTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(ik_whole)->UseManualTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(xk_whole)->UseManualTime()->Unit(benchmark::kMicrosecond);

void sign_announce(benchmark::State& state) {
  Nodes n;
  const Digest d = sha256(as_bytes("announce"));
  for (auto _ : state) benchmark::DoNotOptimize(n.a.sign(d, n.rng));
}
void verify_announce(benchmark::State& state) {
  Nodes n;
  const Digest d = sha256(as_bytes("announce"));
  const auto s = n.a.sign(d, n.rng);
  for (auto _ : state) benchmark::DoNotOptimize(verify(n.a.key(), d, s));
}
BENCHMARK(sign_announce)->Unit(benchmark::kMicrosecond);
BENCHMARK(verify_announce)->Unit(benchmark::kMicrosecond);

enum class Mode { seal, open, forged };

void aead(benchmark::State& state, const char* which, Mode mode) {
  const auto cipher = make_aead(which);
  if (!cipher) return state.SkipWithError("not to be had here");
  const auto size = static_cast<std::size_t>(state.range(0));
  const auto batch = static_cast<std::size_t>(state.range(1));
  const AeadKey key{sha256(as_bytes("key"))};
  const std::array<std::uint8_t, 16> aad{};
  std::vector<Buffer> buffers(batch, Buffer(size + kTagSize));
  std::vector<AeadJob> jobs;
  for (auto& b : buffers) jobs.push_back({&key, jobs.size(), aad, b.data(), size, b.data() + size, false});
  cipher->seal(jobs);
  const auto sealed = buffers;
  const bool forged = mode == Mode::forged;
  for (auto _ : state) {
    if (mode == Mode::seal) {
      cipher->seal(jobs);
      continue;
    }
    if (!forged) {  // an opened packet is no ciphertext any more; a copy costs 20 ns at 1400 bytes
      for (std::size_t i = 0; i < batch; ++i) std::memcpy(buffers[i].data(), sealed[i].data(), size);
    } else {
      for (auto& j : jobs) j.tag[0] = static_cast<std::uint8_t>(j.tag[0] ^ 1);
    }
    cipher->open(jobs);
    if (forged)
      for (auto& j : jobs) j.tag[0] = static_cast<std::uint8_t>(j.tag[0] ^ 1);
    if (jobs[0].ok == forged) return state.SkipWithError("wrong verdict");
  }
  const auto packets = static_cast<double>(state.iterations()) * static_cast<double>(batch);
  state.counters["per_packet"] =
      benchmark::Counter(packets, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["bit/s"] =
      benchmark::Counter(packets * static_cast<double>(size) * 8, benchmark::Counter::kIsRate);
  state.SetLabel(std::string(cipher->name()));
}
void sizes(benchmark::internal::Benchmark* b) {
  for (const int size : {64, 1400})
    for (const int batch : {1, 8, 64}) b->Args({size, batch});
}
BENCHMARK_CAPTURE(aead, sodium_seal, "sodium", Mode::seal)->Apply(sizes);
BENCHMARK_CAPTURE(aead, sodium_open, "sodium", Mode::open)->Apply(sizes);
BENCHMARK_CAPTURE(aead, sodium_forged, "sodium", Mode::forged)->Args({1400, 8});
BENCHMARK_CAPTURE(aead, ipsec_mb_seal, "ipsec-mb", Mode::seal)->Apply(sizes);
BENCHMARK_CAPTURE(aead, ipsec_mb_open, "ipsec-mb", Mode::open)->Apply(sizes);
BENCHMARK_CAPTURE(aead, ipsec_mb_forged, "ipsec-mb", Mode::forged)->Args({1400, 8});

void replay_in_order(benchmark::State& state) {
  ReplayWindow w;
  std::uint64_t c = 0;
  for (auto _ : state) benchmark::DoNotOptimize(w.accept(++c));
}
BENCHMARK(replay_in_order);

}  // namespace

BENCHMARK_MAIN();
