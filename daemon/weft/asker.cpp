#include "weft/asker.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "io/fd.h"

namespace weft::cli {

struct Asker::Shared {
  std::string socket;
  io::Fd read_end, write_end;
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<std::pair<std::string, Json>> question;
  std::optional<Result<Json, std::string>> answer;
  bool busy = false;
  bool done = false;

  void run() {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [this] { return done || question; });
      if (done) return;
      const auto asked = std::exchange(question, std::nullopt);
      busy = true;
      lock.unlock();
      auto got = cli::ask(socket, asked->first, asked->second);
      lock.lock();
      answer.emplace(std::move(got));
      busy = false;
      [[maybe_unused]] const auto n =
          ::write(write_end.get(), "", 1);  // full means that it is readable already
    }
  }
};

Asker::Asker(std::string socket) : shared_(std::make_shared<Shared>()) {
  shared_->socket = std::move(socket);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0) {
    shared_->read_end = io::Fd(ends[0]);
    shared_->write_end = io::Fd(ends[1]);
  }
  sigset_t all, before;
  sigfillset(&all);  // signals are for the thread that draws
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread([shared = shared_] { shared->run(); }).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Asker::~Asker() {
  const std::lock_guard lock(shared_->mutex);
  shared_->done = true;
  shared_->changed.notify_one();
}

void Asker::ask(std::string command, Json params) {
  const std::lock_guard lock(shared_->mutex);
  shared_->question.emplace(std::move(command), std::move(params));
  shared_->changed.notify_one();
}

bool Asker::busy() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->busy || shared_->question;
}

int Asker::fd() const { return shared_->read_end.get(); }

std::optional<Result<Json, std::string>> Asker::take() {
  char rest[64];
  while (::read(fd(), rest, sizeof rest) > 0) {
  }
  const std::lock_guard lock(shared_->mutex);
  return std::exchange(shared_->answer, std::nullopt);
}

}  // namespace weft::cli
