// Replaces the global operator new with one that counts, for the test that shows a path without allocations.
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace {
std::atomic<std::uint64_t> calls{0};
}

std::uint64_t allocations();
std::uint64_t allocations() { return calls.load(); }

void* operator new(std::size_t n) {
  calls.fetch_add(1, std::memory_order_relaxed);
  if (void* p = std::malloc(n > 0 ? n : 1)) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
