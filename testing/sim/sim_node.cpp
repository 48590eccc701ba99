#include "sim/sim_node.h"

#include <cstdio>

#include "wire/link_frame.h"

namespace weft::sim {
namespace {

constexpr TransportId kUdp{1};
constexpr std::size_t kBurstFrames = 16;

Traffic kind_of(const Command& c) {
  if (std::holds_alternative<SendLinkReports>(c) || std::holds_alternative<SendSessionReports>(c))
    return Traffic::report;
  if (std::holds_alternative<SendSession>(c)) return Traffic::datagram;
  if (std::holds_alternative<InjectTun>(c)) return Traffic::data;
  const auto* send = std::get_if<SendLink>(&c);
  if (!send) return Traffic::other;
  const auto type = wire::link_msg_of(send->message);
  if (!type) return Traffic::other;
  switch (*type) {
    case wire::LinkMsg::tree_announce:
      return Traffic::tree;
    case wire::LinkMsg::filter_announce:
      return Traffic::filter;
    case wire::LinkMsg::lookup_request:
    case wire::LinkMsg::lookup_response:
      return Traffic::lookup;
    case wire::LinkMsg::heartbeat:
      return Traffic::heartbeat;
    case wire::LinkMsg::sender_report:
    case wire::LinkMsg::receiver_report:
      return Traffic::report;
    case wire::LinkMsg::envelope:
      return Traffic::datagram;
    case wire::LinkMsg::disconnect:
    case wire::LinkMsg::hello:
    case wire::LinkMsg::mtu_probe:
    case wire::LinkMsg::mtu_notice:
    case wire::LinkMsg::mtu_ack:
      break;
  }
  return Traffic::other;
}

bool is_own_message(Bytes message) { return !message.empty() && message[0] >= 0xe0; }

Buffer dns_query_for(std::string_view label) {
  Buffer q;
  Writer w(q);
  w.be<std::uint16_t>(1).be<std::uint16_t>(0x0100).be<std::uint16_t>(1);
  w.be<std::uint16_t>(0).be<std::uint16_t>(0).be<std::uint16_t>(0);
  w.u8(static_cast<std::uint8_t>(label.size())).raw(as_bytes(label));
  w.u8(4).raw(as_bytes("fips")).u8(0);
  w.be<std::uint16_t>(28).be<std::uint16_t>(1);  // AAAA, IN
  return q;
}

}  // namespace

std::string_view name_of(Traffic t) {
  switch (t) {
    case Traffic::handshake:
      return "handshake";
    case Traffic::tree:
      return "tree";
    case Traffic::filter:
      return "filter";
    case Traffic::lookup:
      return "lookup";
    case Traffic::heartbeat:
      return "heartbeat";
    case Traffic::report:
      return "report";
    case Traffic::datagram:
      return "datagram";
    case Traffic::other:
      return "other";
    case Traffic::data:
      return "data";
    case Traffic::count_:
      break;
  }
  return "";
}

void SimNode::NodeLog::line(Level, std::string_view topic, std::string_view text) {
  std::fprintf(stderr, "%9.4f  n%-4u %.*s: %.*s\n", static_cast<double>(net_.elapsed().count()) / 1e9, id_,
               static_cast<int>(topic.size()), topic.data(), static_cast<int>(text.size()), text.data());
}

SimNode::SimNode(NodeId id, const NodeParams& params, crypto::Identity identity, const Endpoint& endpoint,
                 Net& net, Underlay& underlay, Trace& trace, NonceOracle& nonces)
    : id_(id),
      params_(params),
      identity_(std::move(identity)),
      endpoint_(endpoint),
      net_(net),
      underlay_(underlay),
      trace_(trace),
      nonces_(nonces),
      log_(id, net, params.log_level),
      rng_(detail::mix(params.seed * 2 + 1) + id),
      pace_(detail::mix(params.seed * 2) ^ detail::mix(id + 1)) {}

SimNode::~SimNode() { kill(); }

// ---- life -----------------------------------------------------------------------------------------------------------

template <class F>
void SimNode::guarded_after(Duration d, F f) {
  net_.after(d, [this, run = run_, f = std::move(f)] {
    if (run == run_) f();
  });
}

void SimNode::start() {
  if (node_) return;
  ++run_;
  for (std::uint32_t i = 0; i < params_.shards; ++i) {
    const auto options = [&] {
      ShardOptions o;
      o.self = addr();
      o.id = WorkerId{i};
      o.decrypt_workers = params_.shards;
      o.aead = watched_aead(nonces_);
      o.fragment_seed = rng_.u64();
      o.burst_frames = kBurstFrames;
      return o;
    };
    encrypt_.emplace_back().shard = std::make_unique<EncryptShard>(options());
    decrypt_.emplace_back().shard = std::make_unique<DecryptShard>(options());
  }
  NodeOptions options = factory_ ? factory_(*this) : NodeOptions{};
  options.decrypt_workers = params_.shards;
  if (options.transports.empty())
    options.transports.push_back({.id = kUdp, .local = endpoint_, .mtu = params_.mtu});
  node_ = std::make_unique<Node>(std::move(options), identity_.clone(), rng_, log_, net_.clock());
  underlay_.bind(endpoint_, id_,
                 [this](const Endpoint& from, std::vector<Buffer>&& d) { on_wire(from, std::move(d)); });
  Outbox out;
  node_->start(net_.clock(), out);
  carry_out(out);
  if (params_.ticks) guarded_after(1s, [this] { tick(); });
}

void SimNode::kill() {
  if (!node_) return;
  ++run_;
  underlay_.unbind(endpoint_);
  node_.reset();
  encrypt_.clear();
  decrypt_.clear();
  for (auto& lane : lanes_) lane.clear();
  core_wake_set_ = false;
  armed_.reset();
}

void SimNode::stop() {
  if (!node_) return;
  act([](Node& n, Now now, Outbox& out) { n.drain(now, out); });
  for (auto& w : encrypt_) drain(w);
  for (auto& w : decrypt_) drain(w);
  kill();
}

void SimNode::move_to(const Endpoint& endpoint, bool noticed) {
  if (node_) underlay_.unbind(endpoint_);
  endpoint_ = endpoint;
  if (!node_) return;
  underlay_.bind(endpoint_, id_,
                 [this](const Endpoint& from, std::vector<Buffer>&& d) { on_wire(from, std::move(d)); });
  if (noticed) act([](Node& n, Now now, Outbox& out) { n.on_network_change(now, out); });
}

void SimNode::act(const std::function<void(Node&, Now, Outbox&)>& what) {
  if (!node_) return;
  Outbox out;
  what(*node_, net_.clock(), out);
  carry_out(out);
}

void SimNode::prime(const PublicKey& key) {
  act([&](Node& n, Now now, Outbox&) { (void)n.on_dns(now, dns_query_for(crypto::npub_of(key))); });
}

void SimNode::tick() {
  NodeSample s;
  for (const auto& w : decrypt_) {
    s.packets_in += w.shard->stats().forwarding.delivered.packets.get();
    s.bytes_in += w.shard->stats().forwarding.delivered.bytes.get();
  }
  for (const auto& w : encrypt_) {
    s.packets_out += w.shard->stats().forwarding.originated.packets.get();
    s.bytes_out += w.shard->stats().forwarding.originated.bytes.get();
  }
  node_->on_tick(net_.clock(), s);
  guarded_after(1s, [this] { tick(); });
}

// ---- core -----------------------------------------------------------------------------------------------------------

void SimNode::core_wake() {
  if (core_wake_set_) return;
  core_wake_set_ = true;
  guarded_after(Duration{pace_.between(0, params_.wake_up.count())}, [this] {
    core_wake_set_ = false;
    run_core();
  });
}

void SimNode::run_core() {
  for (;;) {
    std::size_t full[kLanes] = {};
    std::size_t n = 0;
    for (std::size_t i = 0; i < kLanes; ++i)
      if (!lanes_[i].empty()) full[n++] = i;
    if (n == 0) return;
    auto& lane = lanes_[full[n == 1 ? 0 : pace_.below(n)]];
    Punt p = std::move(lane.front());
    lane.pop_front();
    Outbox out;
    node_->on_punt(net_.clock(), std::move(p), out);
    carry_out(out);
  }
}

void SimNode::carry_out(Outbox& out) {
  for (Effect& effect : out.take()) {
    if (auto* raw = std::get_if<RawSend>(&effect)) {
      auto& t = traffic_[static_cast<std::size_t>(Traffic::handshake)];
      ++t.frames;
      t.bytes += raw->frame.size();
      const Bytes frame = raw->frame;
      underlay_.send(id_, endpoint_, raw->to, std::span(&frame, 1),
                     static_cast<std::uint8_t>(Traffic::handshake));
    } else if (auto* all = std::get_if<ToAll>(&effect)) {
      const auto give = [&](auto& workers) {
        for (std::size_t i = 0; i < workers.size(); ++i) {
          std::visit([&](const auto& c) { workers[i].commands.push_back(c); }, all->command);
          wake_soon(workers[i], i);
        }
      };
      give(encrypt_);
      give(decrypt_);
    } else if (auto* home = std::get_if<ToHome>(&effect)) {
      if (const auto* say = std::get_if<SendLink>(&home->command);
          say && params_.plain && is_own_message(say->message))
        continue;
      const std::size_t i = home->home.value % decrypt_.size();
      decrypt_[i].commands.push_back(std::move(home->command));
      wake_soon(decrypt_[i], i);
    } else if (auto* enc = std::get_if<ToEncrypt>(&effect)) {
      encrypt_[0].commands.push_back(std::move(enc->command));
      wake_soon(encrypt_[0], 0);
    } else if (auto* tun = std::get_if<WriteTun>(&effect)) {
      const Bytes piece = tun->packet;
      (void)write({}, std::span(&piece, 1));
    } else if (auto* resolve = std::get_if<Resolve>(&effect)) {
      guarded_after(1ms, [this, ticket = resolve->ticket] {
        act([&](Node& n, Now now, Outbox& o) { n.on_resolved(now, ticket, {}, "no such host", o); });
      });
    } else if (auto* keep = std::get_if<KeepPeers>(&effect)) {
      kept_peers_ = keep->text;
    }
  }
  arm();
}

void SimNode::arm() {
  const auto due = node_->deadline();
  if (!due || (armed_ && *armed_ <= *due)) return;  // an early wake-up sets the next one
  armed_ = std::max(*due, net_.now());
  net_.at(*armed_, [this, run = run_, generation = ++arm_generation_] {
    if (run == run_) on_deadline(generation);
  });
}

void SimNode::on_deadline(std::uint64_t generation) {
  if (generation != arm_generation_) return;
  armed_.reset();
  if (pace_.below(2) == 0) run_core();
  if (const auto due = node_->deadline(); due && *due <= net_.now()) {
    ++core_wakes_;
    wakes_at_once_ = net_.now() == last_wake_ ? wakes_at_once_ + 1 : 1;
    last_wake_ = net_.now();
    most_wakes_at_once_ = std::max(most_wakes_at_once_, wakes_at_once_);
    Outbox out;
    node_->on_deadline(net_.clock(), out);
    carry_out(out);
    if (wakes_at_once_ > 100)  // it spins; time goes on all the same, and the oracle has seen it
      if (const auto again = node_->deadline(); again && *again <= net_.now()) {
        armed_ = net_.now() + 1ms;
        net_.at(*armed_, [this, run = run_, g = ++arm_generation_] {
          if (run == run_) on_deadline(g);
        });
      }
  }
  arm();
}

// ---- workers --------------------------------------------------------------------------------------------------------

template <class W>
void SimNode::wake_soon(W& worker, std::size_t index) {
  if (worker.wake_set) return;
  worker.wake_set = true;
  guarded_after(Duration{pace_.between(0, params_.wake_up.count())}, [this, &worker, index] {
    (void)index;
    worker.wake_set = false;
    drain(worker);
  });
}

template <class W>
void SimNode::apply(W& worker, Command&& c) {
  current_ = kind_of(c);
  ShardIo lent = io();
  worker.shard->apply(net_.now(), std::move(c), lent);
  current_ = Traffic::data;
}

void SimNode::drain(Worker<EncryptShard>& w) {
  while (!w.commands.empty()) {
    Command c = std::move(w.commands.front());
    w.commands.pop_front();
    apply(w, std::move(c));
  }
}

void SimNode::drain(Worker<DecryptShard>& w) {
  while (!w.commands.empty()) {
    Command c = std::move(w.commands.front());
    w.commands.pop_front();
    apply(w, std::move(c));
  }
  while (!w.strays.empty()) {
    StrayBurst b = std::move(w.strays.front());
    w.strays.pop_front();
    ShardIo lent = io();
    w.shard->on_stray(net_.now(), std::move(b), lent);
  }
}

void SimNode::on_wire(const Endpoint& from, std::vector<Buffer>&& datagrams) {
  for (std::size_t i = 0; i < datagrams.size();) {  // one call per run that goes to one shard
    const auto shard_of = [&](Bytes d) -> std::size_t {
      const auto header = wire::decode_link_header(d);
      return header ? home_of(header->receiver, params_.shards).value : 0;
    };
    std::size_t shard = shard_of(datagrams[i]);
    std::vector<WireRead> reads;
    for (const std::size_t first = shard; i < datagrams.size() && shard_of(datagrams[i]) == first; ++i)
      reads.push_back({from, datagrams[i], 0, false});
    if (params_.missteer > 0 && static_cast<double>(pace_.below(1 << 20)) < params_.missteer * (1 << 20))
      shard = pace_.below(params_.shards);
    auto& w = decrypt_[shard];
    drain(w);
    ShardIo lent = io();
    w.shard->on_wire(net_.now(), kUdp, reads, lent);
  }
}

void SimNode::send_packet(Buffer packet) {
  if (!node_) return;
  // A kernel gives a flow to the queue that its replies were last written on; here, by destination.
  const std::size_t shard = packet.size() < 40 ? 0 : packet[39] % encrypt_.size();
  auto& w = encrypt_[shard];
  drain(w);
  const TunRead read{{}, packet};
  ShardIo lent = io();
  w.shard->on_tun(net_.now(), std::span(&read, 1), lent);
}

SendOutcome SimNode::send(const LinkSend& path, std::span<const Bytes> frames) {
  auto& t = traffic_[static_cast<std::size_t>(current_)];
  t.frames += frames.size();
  for (const Bytes f : frames) t.bytes += f.size();
  underlay_.send(id_, endpoint_, path.to, frames, static_cast<std::uint8_t>(current_));
  return {};
}

void SimNode::send_whole(const LinkSend& path, Bytes frame) {
  auto& t = traffic_[static_cast<std::size_t>(current_)];
  ++t.frames;
  t.bytes += frame.size();
  underlay_.send_whole(id_, endpoint_, path.to, frame, static_cast<std::uint8_t>(current_));
}

bool SimNode::write(const offload::VnetHeader&, std::span<const Bytes> pieces) {
  Buffer packet;
  for (const Bytes p : pieces) packet.insert(packet.end(), p.begin(), p.end());
  trace_.note(net_.now(), 2, id_, packet);
  if (on_packet_) on_packet_(*this, packet);
  return true;
}

bool SimNode::punt(Punt&& p) {
  if (const auto* m = std::get_if<PuntLinkMessage>(&p); m && is_own_message(m->message)) {
    ++own_messages_;
    if (params_.plain) return true;
  }
  auto& lane = lanes_[static_cast<std::size_t>(lane_of(p))];
  if (lane.size() >= params_.lane) return false;
  lane.push_back(std::move(p));
  deepest_ = std::max(deepest_, lane.size());
  core_wake();
  return true;
}

bool SimNode::hand_over(WorkerId home, StrayBurst&& burst) {
  auto& w = decrypt_[home.value];
  if (w.strays.size() >= params_.lane) return false;
  w.strays.push_back(std::move(burst));
  wake_soon(w, home.value);
  return true;
}

// ---- looking --------------------------------------------------------------------------------------------------------

std::uint64_t SimNode::drops(Drop d) const {
  if (!node_) return 0;
  std::uint64_t n = node_->drops().get(d);
  for (const auto& w : encrypt_) n += w.shard->stats().drops.get(d);
  for (const auto& w : decrypt_) n += w.shard->stats().drops.get(d);
  return n;
}

std::string SimNode::drops_text() const {
  std::string out;
  for (std::size_t i = 0; i < kDropCount; ++i)
    if (const auto n = drops(static_cast<Drop>(i)))
      out += std::string(weft::name_of(static_cast<Drop>(i))) + "=" + std::to_string(n) + " ";
  return out;
}

std::uint64_t SimNode::forwarded() const {
  std::uint64_t n = node_ ? node_->routes().stats().forwarded.packets.get() : 0;
  for (const auto& w : decrypt_) n += w.shard->stats().forwarding.forwarded.packets.get();
  return n;
}

std::uint64_t SimNode::fragmented() const {
  std::uint64_t n = 0;
  for (const auto& w : encrypt_) n += w.shard->stats().fragmented.get();
  return n;
}

}  // namespace weft::sim
