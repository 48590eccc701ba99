/// Runs a fuzz target without libFuzzer: over the files given, then over mutations of them that are the same
/// in every run.
///
///   fuzz_x [--sweep=N] FILE|DIRECTORY...
///
/// N bounds the mutated inputs: truncations and single-bit flips first (a third of N each at most, evenly
/// spread), then seeded combinations. The input that brings a target down is printed in hex.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/rng.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) __attribute__((weak));
extern "C" void __sanitizer_set_death_callback(void (*callback)()) __attribute__((weak));

namespace {

using weft::Buffer;

const std::uint8_t* g_input = nullptr;
std::size_t g_size = 0;

void print_input() {
  std::fprintf(stderr, "input (%zu bytes): ", g_size);
  for (std::size_t i = 0; i < g_size; ++i) std::fprintf(stderr, "%02x", g_input[i]);
  std::fprintf(stderr, "\n");
}

void on_signal(int sig) {
  print_input();
  std::signal(sig, SIG_DFL);
  std::raise(sig);
}

/// With nothing readable behind the last byte, so that a sanitizer sees an over-read.
void run(const Buffer& input) {
  const auto exact = std::make_unique<std::uint8_t[]>(input.size());
  std::copy(input.begin(), input.end(), exact.get());
  g_input = exact.get();
  g_size = input.size();
  LLVMFuzzerTestOneInput(exact.get(), input.size());
  g_size = 0;
}

std::vector<std::filesystem::path> files_of(const std::vector<std::string>& args) {
  std::vector<std::filesystem::path> out;
  for (const auto& a : args) {
    if (!std::filesystem::is_directory(a)) {
      out.emplace_back(a);
      continue;
    }
    for (const auto& e : std::filesystem::directory_iterator(a))
      if (e.is_regular_file()) out.push_back(e.path());
  }
  std::sort(out.begin(), out.end());  // directory order differs from machine to machine
  return out;
}

std::size_t truncations(const Buffer& seed, std::size_t budget) {
  const std::size_t step = seed.size() / std::max<std::size_t>(budget, 1) + 1;
  std::size_t runs = 0;
  for (std::size_t n = 0; n < seed.size(); n += step, ++runs)
    run(Buffer(seed.begin(), seed.begin() + static_cast<std::ptrdiff_t>(n)));
  return runs;
}

std::size_t bit_flips(const Buffer& seed, std::size_t budget) {
  const std::size_t bits = 8 * seed.size();
  const std::size_t step = bits / std::max<std::size_t>(budget, 1) + 1;
  std::size_t runs = 0;
  for (std::size_t b = 0; b < bits; b += step, ++runs) {
    Buffer m = seed;
    m[b / 8] = static_cast<std::uint8_t>(m[b / 8] ^ (1U << (b % 8)));
    run(m);
  }
  return runs;
}

/// One small change. Values are those that counts and lengths break at.
void mutate(Buffer& m, const std::vector<Buffer>& seeds, weft::SeededRng& rng) {
  constexpr std::uint8_t kEdges[] = {0, 1, 2, 0x7f, 0x80, 0xfe, 0xff};
  const std::size_t at = m.empty() ? 0 : rng.below(m.size());
  const auto here = m.begin() + static_cast<std::ptrdiff_t>(at);
  switch (rng.below(7)) {
    case 0:
      if (!m.empty()) m[at] = static_cast<std::uint8_t>(m[at] ^ (1U << rng.below(8)));
      break;
    case 1:
      if (!m.empty()) m[at] = kEdges[rng.below(std::size(kEdges))];
      break;
    case 2:
      if (!m.empty()) m[at] = static_cast<std::uint8_t>(rng.below(256));
      break;
    case 3:
      m.insert(here, static_cast<std::size_t>(1 + rng.below(16)), static_cast<std::uint8_t>(rng.below(256)));
      break;
    case 4:
      m.erase(here, here + static_cast<std::ptrdiff_t>(rng.below(m.size() - at + 1)));
      break;
    case 5: {  // repeat a piece of itself
      const Buffer piece(here, here + static_cast<std::ptrdiff_t>(std::min<std::size_t>(m.size() - at, 64)));
      m.insert(here, piece.begin(), piece.end());
      break;
    }
    default: {  // the tail of another seed
      const auto& other = seeds[rng.below(seeds.size())];
      const auto from = std::min(at, other.size());
      m.resize(at);
      m.insert(m.end(), other.begin() + static_cast<std::ptrdiff_t>(from), other.end());
    }
  }
}

std::size_t sweep(const std::vector<Buffer>& seeds, std::size_t budget) {
  std::size_t runs = 0;
  const std::size_t share = budget / 3 / seeds.size();
  for (const auto& s : seeds) runs += truncations(s, share) + bit_flips(s, share);
  weft::SeededRng rng(1);
  while (runs < budget) {
    Buffer m = seeds[rng.below(seeds.size())];
    const auto changes = 1 + rng.below(4);
    for (std::uint64_t i = 0; i < changes; ++i) mutate(m, seeds, rng);
    run(m);
    ++runs;
  }
  return runs;
}

}  // namespace

int main(int argc, char** argv) {
  if (LLVMFuzzerInitialize != nullptr) LLVMFuzzerInitialize(&argc, &argv);
  if (__sanitizer_set_death_callback != nullptr) __sanitizer_set_death_callback(print_input);
  std::signal(SIGABRT, on_signal);
  std::size_t budget = 0;
  std::vector<std::string> args;
  for (int i = 1; i < argc; ++i) {
    const std::string a = argv[i];
    if (a.starts_with("--sweep=")) {
      budget = std::stoul(a.substr(8));
    } else {
      args.push_back(a);
    }
  }
  std::vector<Buffer> seeds;
  for (const auto& path : files_of(args)) {
    std::ifstream in(path, std::ios::binary);
    if (!in) {
      std::fprintf(stderr, "cannot read %s\n", path.c_str());
      return 2;
    }
    seeds.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  if (seeds.empty()) {
    std::fprintf(stderr, "no seeds\n");
    return 2;
  }
  run({});
  for (const auto& s : seeds) run(s);
  const auto runs = budget == 0 ? 0 : sweep(seeds, budget);
  std::printf("%zu seeds, %zu mutations\n", seeds.size(), runs);
  return 0;
}
