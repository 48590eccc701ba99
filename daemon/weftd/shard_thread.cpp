#include "weftd/shard_thread.h"

#include <poll.h>
#include <pthread.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace weft::daemon {

void pause_after_error() { ::poll(nullptr, 0, 1); }

ShardThread::ShardThread(std::string name) : name_(std::move(name)) {
  if (!poll_.add(waker_.fd(), kWakerTag))
    throw std::system_error(ENOMEM, std::generic_category(), "event descriptor");
}

void ShardThread::start() {
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), name_.c_str());
    run();
  });
  cpu_ = io::CpuClock(thread_.native_handle());
}

void ShardThread::stop() {
  if (!thread_.joinable()) return;
  for (const auto& p : pumps_)
    while (!p->inbox().flush()) std::this_thread::yield();
  stop_.store(true, std::memory_order_release);
  waker_.wake();
  thread_.join();
  cpu_ = {};
}

void ShardThread::run() {
  for (;;) {
    const bool last = stopping();
    bool more = false;
    for (const auto& p : pumps_) more = p->turn() || more;
    if (last) return;
    sleep(more);
  }
}

void ShardThread::sleep(bool more) {
  waker_.prepare();
  int patience = more || stopping() ? 0 : -1;
  for (const auto& p : pumps_) {
    if (!p->idle()) patience = 0;
    const int own = patience == 0 ? -1 : p->patience();
    if (own >= 0) patience = patience < 0 ? own : std::min(patience, own);
  }
  bool woken = false;
  for (const auto tag : poll_.wait(patience)) {
    if (tag == kWakerTag) woken = true;
    else pumps_[tag >> kTagBits]->on_ready(tag);
  }
  waker_.woke(woken);
}

}  // namespace weft::daemon
