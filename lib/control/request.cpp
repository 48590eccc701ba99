#include "control/request.h"

#include <algorithm>

#include "control/command.h"

namespace weft::control {
namespace {

constexpr int kMaxDepth = 16;

using Query = Answer (*)(const View&, const Params&);
using Change = Answer (*)(Node&, Now, Outbox&, const Params&);

struct QueryRow {
  std::string_view name;
  Query answer;
};
constexpr QueryRow kQueries[] = {
    {"acl_check", acl_check},
    {"show_acl", show_acl},
    {"show_bloom", show_bloom},
    {"show_cache", show_cache},
    {"show_connections", show_connections},
    {"show_dataplane", show_dataplane},
    {"show_drops", show_drops},
    {"show_firewall", show_firewall},
    {"show_identity_cache", show_identity_cache},
    {"show_links", show_links},
    {"show_listening_sockets", show_listening_sockets},
    {"show_metrics", show_metrics},
    {"show_mmp", show_mmp},
    {"show_names", show_names},
    {"show_native_flows", show_native_flows},
    {"show_peers", show_peers},
    {"show_refusals", show_refusals},
    {"show_routes", show_routes},
    {"show_routing", show_routing},
    {"show_sessions", show_sessions},
    {"show_stats_all_history", show_stats_all_history},
    {"show_stats_history", show_stats_history},
    {"show_stats_history_all_peers", show_stats_history_all_peers},
    {"show_stats_list", show_stats_list},
    {"show_stats_peers", show_stats_peers},
    {"show_stats_summary", show_stats_summary},
    {"show_status", show_status},
    {"show_top", show_top},
    {"show_transports", show_transports},
    {"show_tree", show_tree},
    {"show_wanted_peers", show_wanted_peers},
};
using Action = Answer (*)(const View&, ShellActions&, const Params&);
struct ActionRow {
  std::string_view name;
  Action act;
};
constexpr ActionRow kActions[] = {
    {"firewall_allow", firewall_allow},
    {"firewall_deny", firewall_deny},
    {"reload_lists", reload_lists},
};
struct ChangeRow {
  std::string_view name;
  Change apply;
};
constexpr ChangeRow kChanges[] = {
    {"connect", connect},         {"disconnect", disconnect}, {"peer_add", peer_add},
    {"peer_remove", peer_remove}, {"resolve", resolve},     {"probe_start", probe_start},
    {"probe_poll", probe_poll},   {"probe_cancel", probe_cancel},
};

std::string line_of(const Json& j) {
  // Names come from files and peers: what is not UTF-8 is replaced rather than thrown about.
  return j.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string reply_of(Answer&& a) {
  if (!a) return error_reply(a.error());
  return line_of(Json{{"data", std::move(*a)}, {"status", "ok"}});
}

bool is_utf8(std::string_view s) {
  std::size_t i = 0;
  const auto tail = [&](std::size_t at) {
    return at < s.size() && (static_cast<unsigned char>(s[at]) & 0xC0U) == 0x80U;
  };
  while (i < s.size()) {
    const auto c = static_cast<unsigned char>(s[i]);
    if (c < 0x80) {
      ++i;
      continue;
    }
    const std::size_t n = c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : 2;
    if (c < 0xC2 || c > 0xF4) return false;
    for (std::size_t k = 1; k < n; ++k)
      if (!tail(i + k)) return false;
    const auto d = static_cast<unsigned char>(s[i + 1]);
    if ((c == 0xE0 && d < 0xA0) || (c == 0xED && d > 0x9F) || (c == 0xF0 && d < 0x90) ||
        (c == 0xF4 && d > 0x8F))
      return false;
    i += n;
  }
  return true;
}

/// Brackets open at once, those in strings left out; counted before anything is built from them.
int depth_of(std::string_view s) {
  int depth = 0, most = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < s.size(); ++i) {
    const char c = s[i];
    if (in_string) {
      if (c == '\\') ++i;
      else if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      most = std::max(most, ++depth);
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return most;
}

/// The first line of a probe that is followed; always "running", so that follow() has the last.
Answer followed_probe(const Params& params, Context& c) {
  const auto id = start_followed(c.node, c.now, c.out, params);
  if (!id) return bad(id.error());
  c.followed = *id;
  const auto& jobs = c.node.probes().jobs();
  return Json{{"budget_ms", to_ms(jobs.budgets().total(true))},
              {"probe_id", *id},
              {"report", probe_json(c.node, c.now, *id, *jobs.find(*id))},
              {"state", "running"}};
}

std::string answer(std::string_view command, const Params& params, Context& c) {
  if (command == "probe") return reply_of(followed_probe(params, c));
  for (const auto& row : kChanges)
    if (row.name == command) return reply_of(row.apply(c.node, c.now, c.out, params));
  const View view{c.node, c.now, c.shell};
  for (const auto& row : kActions)
    if (row.name == command)
      return c.actions != nullptr ? reply_of(row.act(view, *c.actions, params))
                                  : error_reply("this daemon cannot do that: " + std::string(command));
  for (const auto& row : kQueries)
    if (row.name == command) return reply_of(row.answer(view, params));
  return error_reply("unknown command: " + std::string(command));
}

}  // namespace

std::string error_reply(std::string_view message) {
  return line_of(Json{{"message", message}, {"status", "error"}});
}

Followed follow(Node& node, Now now, std::uint64_t id, std::uint64_t& revision) {
  const auto* job = node.probes().jobs().find(id);
  if (job == nullptr) return {error_reply("unknown probe id: " + std::to_string(id)), true};
  if (job->probe.revision() == revision) return {};
  revision = job->probe.revision();
  const bool done = job->probe.finished();
  Followed f{reply_of(progress_json(node, now, id, *job)), done};
  if (done) node.probes().jobs().forget(id);
  return f;
}

void unfollow(Node& node, Now now, std::uint64_t id) {
  node.probes().jobs().cancel(id, now.mono);
  node.probes().jobs().forget(id);
}

std::string handle_request(std::string_view line, Context& context) {
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.remove_suffix(1);
  if (line.size() >= kMaxRequest) return error_reply("read error: request too large");
  if (std::ranges::all_of(line, [](char c) { return c == ' ' || c == '\t'; }))
    return error_reply("empty request");
  if (!is_utf8(line)) return error_reply("read error: the request is not UTF-8");
  if (depth_of(line) > kMaxDepth) return error_reply("invalid request: nested too deeply");
  const Json request = Json::parse(line, nullptr, false);
  if (request.is_discarded()) return error_reply("invalid request: not JSON");
  if (!request.is_object()) return error_reply("invalid request: not an object");
  const auto command = request.find("command");
  if (command == request.end()) return error_reply("invalid request: missing member \"command\"");
  if (!command->is_string()) return error_reply("invalid request: \"command\" is not a string");
  const auto params = request.find("params");
  return answer(command->get_ref<const std::string&>(), Params(params == request.end() ? nullptr : &*params),
                context);
}

}  // namespace weft::control
