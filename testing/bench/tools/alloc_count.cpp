/// Preloaded into a daemon: counts its allocations in the file that WEFT_ALLOC_COUNT names (8 bytes, native order), so
/// that somebody else can read the number while the daemon runs.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>

namespace {

std::atomic<std::uint64_t> before_mapping;
std::atomic<std::uint64_t>* counter = &before_mapping;

__attribute__((constructor)) void map_counter() {
  const char* path = std::getenv("WEFT_ALLOC_COUNT");
  if (path == nullptr) return;
  const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return;
  if (ftruncate(fd, sizeof *counter) == 0) {
    void* shared = mmap(nullptr, sizeof *counter, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (shared != MAP_FAILED) counter = static_cast<std::atomic<std::uint64_t>*>(shared);
  }
  close(fd);
}

void count() { counter->fetch_add(1, std::memory_order_relaxed); }

}  // namespace

// glibc's own names of what is replaced: no look-up, so no allocation while looking up.
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t n) {
  count();
  return __libc_malloc(n);
}
void* calloc(std::size_t n, std::size_t each) {
  count();
  return __libc_calloc(n, each);
}
void* realloc(void* p, std::size_t n) {
  count();
  return __libc_realloc(p, n);
}
void* aligned_alloc(std::size_t align, std::size_t n) {
  count();
  return __libc_memalign(align, n);
}
int posix_memalign(void** out, std::size_t align, std::size_t n) {
  count();
  *out = __libc_memalign(align, n);
  return *out == nullptr ? 12 : 0;  // ENOMEM
}
}
