#include "weftd/workers.h"

#include <time.h>

#include <algorithm>
#include <cstring>

namespace weft::daemon {
namespace {

constexpr std::uint32_t kMostWorkers = 256;
constexpr std::uint32_t kMostByDefault = 16;
constexpr std::uint32_t kFewCpus = 2;  // where a thread more only takes turns with the others

std::uint64_t stage_clock() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(t.tv_nsec);
}

}  // namespace

WorkerCounts worker_counts(const config::Config& c) {
  const std::uint32_t cpus = std::clamp(std::thread::hardware_concurrency(), 1U, kMostByDefault);
  const auto pick = [&](std::optional<std::uint32_t> n) {
    return std::clamp(n.value_or(cpus), 1U, kMostWorkers);
  };
  return {c.tun.enabled ? pick(c.weft.dataplane.encrypt_workers) : 1U, pick(c.weft.dataplane.decrypt_workers),
          c.weft.dataplane.shared_threads.value_or(cpus <= kFewCpus)};
}

Workers::Workers(const WorkerCounts& counts, const NodeAddr& self, io::TunDevice* tun,
                 std::vector<UdpPort>& ports, bool timed, Rng& rng)
    : counts_(counts), strays_(counts.decrypt), tun_strays_(counts.encrypt) {
  const auto options = [&](std::uint32_t number) {
    ShardOptions o;
    o.self = self;
    o.id = WorkerId{number};
    o.decrypt_workers = counts.decrypt;
    o.encrypt_workers = counts.encrypt;
    o.aead = crypto::make_aead();
    o.fragment_seed = rng.u64();
    o.tun_tcp = tun != nullptr && tun->features().tcp;
    o.tun_udp = tun != nullptr && tun->features().udp;
    if (timed) o.stage_clock = stage_clock;
    return o;
  };
  const std::size_t queues = tun != nullptr ? tun->queues().size() : 0;
  const auto thread = [&](const std::string& name) -> ShardThread& {
    return *threads_.emplace_back(std::make_unique<ShardThread>(name));
  };
  const auto add = [&]<class Pump>(ShardThread& t, std::vector<Pump*>& kind, std::unique_ptr<Pump> pump) {
    kind.push_back(pump.get());
    all_.push_back(pump.get());
    t.add(std::move(pump));
  };
  // Decrypt first: an answer to what it writes to the interface is read in the same turn.
  for (std::uint32_t i = 0; i < counts.decrypt; ++i) {
    auto& t = thread((counts.shared_threads ? "weft-work-" : "weft-dec-") + std::to_string(i));
    auto* queue = queues > 0 ? &tun->queues()[i % queues] : nullptr;
    add(t, decrypt_,
        std::make_unique<DecryptPump>(options(i), queue, ports, strays_, t.poll(), t.next_tag(), t.waker(),
                                      control_));
  }
  for (std::uint32_t i = 0; i < counts.encrypt; ++i) {
    const bool joins = counts.shared_threads && i < counts.decrypt;
    auto& t = joins ? *threads_[i] : thread("weft-enc-" + std::to_string(i));
    auto* queue = i < queues ? &tun->queues()[i] : nullptr;
    add(t, encrypt_,
        std::make_unique<EncryptPump>(options(i), queue, ports, tun_strays_, t.poll(), t.next_tag(),
                                      t.waker(), control_));
  }
}

void Workers::start() {
  for (auto& t : threads_) t->start();
}

void Workers::stop() {
  for (auto& t : threads_) t->stop();
}

void Workers::to_all(const Broadcast& command) {
  for (auto* t : all_) t->inbox().push(std::visit([](const auto& c) -> Command { return c; }, command));
}

void Workers::to_home(WorkerId home, Command&& command) {
  decrypt_[home.value % decrypt_.size()]->inbox().push(std::move(command));
}

void Workers::to_encrypt(Command&& command) { encrypt_[0]->inbox().push(std::move(command)); }

bool Workers::flush() {
  bool all = true;
  for (auto* t : all_)
    if (t->inbox().waiting()) all = t->inbox().flush() && all;
  return all;
}

bool Workers::broken() const {
  return std::ranges::any_of(all_, [](const auto& t) { return t->broken(); });
}

control::ShardTotals Workers::totals() const {
  control::ShardTotals sum;
  for (const auto& t : all_) sum.add(t->stats());
  return sum;
}

std::vector<control::WorkerView> Workers::views() const {
  std::vector<control::WorkerView> out;
  for (const auto& t : threads_) {
    control::WorkerView w;
    w.name = t->name();
    w.cpu = t->cpu_time();
    for (const auto& p : t->pumps()) {
      const ShardStats& s = p->stats();
      // An encrypt worker's packets come from here, a decrypt worker's from outside.
      w.packets += s.forwarding.received.packets.get() + s.forwarding.originated.packets.get();
      w.bytes += s.forwarding.received.bytes.get() + s.forwarding.originated.bytes.get();
      for (std::size_t i = 0; i < kDropCount; ++i) w.drops += s.drops.get(static_cast<Drop>(i));
      w.strays += s.strays.get();
      w.broken = w.broken || p->broken();
    }
    out.push_back(std::move(w));
  }
  return out;
}

Duration Workers::cpu_time() const {
  Duration sum{};
  for (const auto& t : threads_) sum += t->cpu_time();
  return sum;
}

void Workers::add_port_stats(std::size_t port, control::TransportView& view) const {
  for (const auto& t : all_) {
    const auto& s = t->port_stats()[port];
    view.packets_sent += s.packets_sent.get();
    view.bytes_sent += s.bytes_sent.get();
    view.packets_recv += s.packets_recv.get();
    view.bytes_recv += s.bytes_recv.get();
    view.send_errors += s.send_errors.get();
    view.recv_errors += s.recv_errors.get();
    view.mtu_exceeded += s.mtu_exceeded.get();
    view.kernel_drops += s.kernel_drops.get();
  }
  for (std::size_t i = 0; i < kSendCauses; ++i) {
    const auto t = send_trouble(port, static_cast<SendCause>(i));
    view.send_troubles.push_back(
        {name_of(static_cast<SendCause>(i)), t.count, t.error == 0 ? std::string() : std::strerror(t.error)});
  }
}

Workers::Trouble Workers::send_trouble(std::size_t port, SendCause cause) const {
  Trouble sum;
  for (const auto& t : all_) {
    const auto& s = t->port_stats()[port].troubles[static_cast<std::size_t>(cause)];
    if (s.count.get() == 0) continue;
    sum.count += s.count.get();
    sum.error = static_cast<int>(s.error.get());
    sum.link = LinkId{s.link.get()};
  }
  return sum;
}

std::uint64_t Workers::kernel_drops() const {
  std::uint64_t sum = 0;
  for (const auto& t : all_)
    for (const auto& s : t->port_stats()) sum += s.kernel_drops.get();
  return sum;
}

}  // namespace weft::daemon
