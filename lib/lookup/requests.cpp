#include "lookup/requests.h"

#include "crypto/identity.h"

namespace weft {

Lookups::Lookups(const NodeAddr& own, const LookupLimits& limits)
    : own_(own),
      limits_(limits),
      transit_(limits.transit),
      backoff_(limits.backoff_base, limits.backoff_cap) {
  if (limits_.attempts.empty()) limits_.attempts = {1s};
}

Result<std::variant<Lookups::Answer, Lookups::Pass>, Drop> Lookups::on_request(const NodeAddr& from,
                                                                               Bytes message, Instant now) {
  ++counters_.req_received;
  auto request = wire::decode_lookup_request(message);
  if (!request) {
    ++counters_.req_decode_error;
    return bad(request.error());
  }
  // Were it recorded as transit, its answer would be passed on instead of used.
  if (request->origin == own_ || own_ids_.contains(request->id)) {
    ++counters_.req_duplicate;
    return bad(Drop::own_request);
  }
  if (const auto ok = transit_.record(request->id, from, request->target, now); !ok) {
    ++(ok.error() == Drop::duplicate_request ? counters_.req_duplicate : counters_.req_dedup_cache_full);
    return bad(ok.error());
  }
  if (request->target == own_) {
    ++counters_.req_target_is_us;
    auto& budget = answers_.try_emplace(from, limits_.answer_burst, limits_.answer_rate).first->second;
    if (!budget.take(now)) return bad(Drop::answer_rate);
    return Answer{std::move(*request)};
  }
  if (request->ttl == 0) {
    ++counters_.req_ttl_exhausted;
    return bad(Drop::ttl_spent);
  }
  if (!transit_.may_forward({request->target, request->origin}, now)) {
    ++counters_.req_forward_rate_limited;
    return bad(Drop::request_rate);
  }
  ++counters_.req_forwarded;
  --request->ttl;
  return Pass{std::move(*request)};
}

namespace {

struct Chosen {
  std::vector<NodeAddr> peers;
  bool fallback = false;
};

/// Tree peers; when there is none, the others.
Chosen choose(const std::vector<LookupPeer>& reaching, const NodeAddr* except) {
  Chosen tree;
  Chosen rest{{}, true};
  for (const auto& p : reaching)
    if (except == nullptr || p.addr != *except) (p.tree_peer ? tree : rest).peers.push_back(p.addr);
  return tree.peers.empty() ? rest : tree;
}

}  // namespace

Result<LookupSend, Drop> Lookups::fan_out(const Pass& pass, const NodeAddr& from,
                                          const std::vector<LookupPeer>& reaching) {
  auto chosen = choose(reaching, &from);
  if (chosen.peers.empty()) {
    ++counters_.req_no_tree_peer;
    return bad(Drop::no_filter_match);
  }
  if (chosen.fallback) ++counters_.req_fallback_forwarded;
  LookupSend send{std::move(chosen.peers), {}};
  wire::encode_lookup_request(send.message, pass.request);
  return send;
}

std::optional<Buffer> Lookups::answer(const Answer& a, const Path& own_path, std::uint16_t link_mtu,
                                      const Sign& sign) const {
  const auto proof = sign(crypto::sha256(wire::lookup_proof_preimage(a.request.id, own_, own_path)));
  if (!proof) return std::nullopt;
  Buffer out;
  wire::encode_lookup_response(out, {a.request.id, own_, link_mtu, own_path, *proof});
  return out;
}

Result<std::variant<Lookups::Relay, Lookups::Ours>, Drop> Lookups::on_response(Bytes message) {
  ++counters_.resp_received;
  auto response = wire::decode_lookup_response(message);
  if (!response) {
    ++counters_.resp_decode_error;
    return bad(response.error());
  }
  // No proof covers such an answer, so it must not use up the one way back.
  if (response->path.front() != response->target) return bad(Drop::target_mismatch);
  if (const auto mine = own_ids_.find(response->id); mine != own_ids_.end()) {
    if (mine->second != response->target) return bad(Drop::target_mismatch);
    return Ours{std::move(*response)};
  }
  const auto to = transit_.take_back(response->id, response->target);
  if (!to) return bad(to.error());
  ++counters_.resp_forwarded;
  return Relay{*to, std::move(*response)};
}

Result<void, Drop> Lookups::accept(const Ours& ours, const PublicKey& target_key) {
  const auto& r = ours.response;
  if (crypto::node_addr_of(target_key) != r.target) {
    ++counters_.resp_identity_miss;
    return bad(Drop::key_mismatch);
  }
  if (!crypto::verify(target_key, crypto::sha256(wire::lookup_proof_preimage(r.id, r.target, r.path)),
                      r.proof)) {
    ++counters_.resp_proof_failed;
    return bad(Drop::bad_proof);
  }
  ++counters_.resp_accepted;
  backoff_.on_success(r.target);
  cancel(r.target);
  return {};
}

Lookups::Started Lookups::start(const NodeAddr& target, const Path& own_path, const Reaching& reaching,
                                Rng& rng, Instant now) {
  if (pending_.contains(target)) {
    ++counters_.req_deduplicated;
    return {Start::already_pending, {}};
  }
  if (backoff_.suppresses(target, now)) {
    ++counters_.req_backoff_suppressed;
    return {Start::backoff, {}};
  }
  if (pending_.size() >= limits_.max_pending) return {Start::too_many, {}};
  PendingLookup p{target, now, now, 1, {}};
  auto send = ask(p, own_path, reaching, rng, now);
  if (!send) {
    due_.clear(target);
    ++counters_.req_bloom_miss;
    backoff_.on_failure(target, now);
    return {Start::unreachable, {}};
  }
  pending_.emplace(target, std::move(p));
  return {Start::sent, std::move(*send)};
}

std::optional<LookupSend> Lookups::ask(PendingLookup& p, const Path& own_path, const Reaching& reaching,
                                       Rng& rng, Instant now) {
  p.last_sent = now;
  due_.set(p.target, now + limits_.attempts[p.attempt - 1]);
  auto chosen = choose(reaching(p.target), nullptr);
  if (chosen.peers.empty()) return std::nullopt;
  ++counters_.req_initiated;
  std::uint64_t id = rng.u64();
  while (own_ids_.contains(id) || transit_.knows(id)) id = rng.u64();
  own_ids_.emplace(id, p.target);
  p.ids.insert(id);
  LookupSend send{std::move(chosen.peers), {}};
  wire::encode_lookup_request(send.message, {id, p.target, own_, limits_.ttl, 0, own_path});
  return send;
}

Lookups::Due Lookups::on_deadline(const Path& own_path, const Reaching& reaching, Rng& rng, Instant now) {
  Due out;
  while (const auto target = due_.pop_due(now)) {
    auto& p = pending_.at(*target);
    if (p.attempt >= limits_.attempts.size()) {
      ++counters_.resp_timed_out;
      backoff_.on_failure(*target, now);
      cancel(*target);
      out.failed.push_back(*target);
      continue;
    }
    ++p.attempt;
    if (auto send = ask(p, own_path, reaching, rng, now)) out.sends.push_back(std::move(*send));
  }
  return out;
}

void Lookups::cancel(const NodeAddr& target) {
  due_.clear(target);
  const auto it = pending_.find(target);
  if (it == pending_.end()) return;
  for (const auto id : it->second.ids) own_ids_.erase(id);
  pending_.erase(it);
}

}  // namespace weft
