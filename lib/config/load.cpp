#include "config/load.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/decode.h"
#include "config/scalar.h"
#include "config/tree.h"
#include "config/validate.h"

namespace weft::config {
namespace {

/// By file in the order given, then by line; stable, so that complaints about one line keep their order.
void sort_by_place(Complaints& c, std::span<const Source> files) {
  const auto rank = [&](const Complaint& x) {
    const auto it = std::ranges::find(files, x.place.file, &Source::name);
    return std::pair(it - files.begin(), x.place.line);
  };
  std::ranges::stable_sort(c, [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
}

bool same_address(const PeerAddress& a, const PeerAddress& b) {
  return a.transport == b.transport && a.addr == b.addr;
}

std::string yaml_text(std::string_view s) {
  std::string out = "\"";
  for (const char c : s) {
    if (c == '"' || c == '\\') out += fmt::format("\\{}", c);
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else out += c;
  }
  return out + "\"";
}

std::string_view policy_text(ConnectPolicy p) {
  return p == ConnectPolicy::manual ? "manual" : p == ConnectPolicy::on_demand ? "on_demand" : "auto_connect";
}

/// RUST_LOG and WEFT_LOG: "debug", or "warn,weft=debug,other=trace"; what names another program is passed
/// over.
std::optional<std::string> log_directive(std::string_view text) {
  std::optional<std::string> found;
  while (!text.empty()) {
    const auto comma = text.find(',');
    std::string_view part = text.substr(0, comma);
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
    const auto equals = part.find('=');
    if (equals != std::string_view::npos) {
      const auto target = part.substr(0, equals);
      if (target != "weft" && target != "weftd" && target != "fips") continue;
      part.remove_prefix(equals + 1);
    }
    if (level_of(part)) found = std::string(part);
  }
  return found;
}

}  // namespace

Loaded load(std::span<const Source> files, const NpubCheck& npub_ok) {
  Loaded out;
  Tree merged;
  bool warned_of_old_names = false;
  for (const auto& file : files) {
    auto tree = parse_tree(file);
    if (!tree) {
      out.complaints.push_back(tree.error());
      continue;
    }
    out.config.has_file = true;
    if (tree->find("weft") != nullptr) out.config.has_weft_section = true;
    Complaints old_names;
    modernize(*tree, old_names);
    if (!warned_of_old_names) out.complaints.insert(out.complaints.end(), old_names.begin(), old_names.end());
    warned_of_old_names = warned_of_old_names || !old_names.empty();
    if (merged.kind == Tree::Kind::null) merged = std::move(*tree);
    else merge_tree(merged, std::move(*tree));
  }
  decode_config(merged, out.config, out.places, out.complaints);
  auto more = validate(out.config, out.places, npub_ok);
  out.complaints.insert(out.complaints.end(), more.begin(), more.end());
  sort_by_place(out.complaints, files);
  return out;
}

LoadedPeers load_peers(const Source& file, const NpubCheck& npub_ok) {
  LoadedPeers out;
  auto tree = parse_tree(file);
  if (!tree) {
    out.complaints.push_back(tree.error());
    return out;
  }
  Config holder;
  Places places;
  if (tree->kind == Tree::Kind::map) {
    for (const auto& e : tree->entries) {
      if (e.key == "peers" && e.value.kind != Tree::Kind::null)
        decode_peers(e.value, "peers", holder.peers, places, out.complaints);
      else if (e.key != "peers")
        out.complaints.push_back(
            {Severity::warning, e.place, e.key.substr(0, 200), "unknown key, ignored", {}, "peers", {}});
    }
  } else if (tree->kind != Tree::Kind::null) {
    out.complaints.push_back(
        {Severity::error, tree->place, "", "wrong kind of value", {}, "a mapping with peers", {}});
  }
  drop_unusable_peers(holder, places, npub_ok, out.complaints);
  out.peers = std::move(holder.peers);
  return out;
}

std::string peers_text(std::span<const Peer> peers) {
  if (peers.empty()) return "peers: []\n";
  std::string out = "peers:\n";
  for (const auto& p : peers) {
    out += fmt::format("  - npub: {}\n", yaml_text(p.npub));
    if (p.alias) out += fmt::format("    alias: {}\n", yaml_text(*p.alias));
    if (!p.addresses.empty()) out += "    addresses:\n";
    for (const auto& a : p.addresses)
      out += fmt::format("      - {{ transport: {}, addr: {}, priority: {} }}\n", yaml_text(a.transport),
                         yaml_text(a.addr), a.priority);
    if (p.connect_policy != ConnectPolicy::auto_connect)
      out += fmt::format("    connect_policy: {}\n", policy_text(p.connect_policy));
    if (!p.auto_reconnect) out += "    auto_reconnect: false\n";
    if (p.via_nostr) out += "    via_nostr: true\n";
  }
  return out;
}

void add_peers(Config& config, std::span<const Peer> more) {
  for (const auto& p : more) {
    const auto known = std::ranges::find(config.peers, p.npub, &Peer::npub);
    if (known == config.peers.end()) {
      config.peers.push_back(p);
      continue;
    }
    for (const auto& a : p.addresses)
      if (std::ranges::none_of(known->addresses, [&](const auto& b) { return same_address(a, b); }))
        known->addresses.push_back(a);
  }
}

std::vector<std::string> search_path(const Surroundings& s) {
  std::vector<std::string> out{"/etc/weft/weft.yaml"};
  // A relative XDG_CONFIG_HOME is to be ignored (XDG base directory specification).
  if (s.xdg_config_home && s.xdg_config_home->starts_with('/'))
    out.push_back(*s.xdg_config_home + "/weft/weft.yaml");
  else if (s.home && !s.home->empty()) out.push_back(*s.home + "/.config/weft/weft.yaml");
  std::string here = (s.cwd.empty() ? "." : s.cwd) + "/weft.yaml";
  if (std::ranges::find(out, here) == out.end()) out.push_back(std::move(here));
  return out;
}

Complaints apply_environment(Config& config, const Getenv& getenv) {
  Complaints out;
  // Tries WEFT_X, then FIPS_X; the first that parses counts.
  const auto apply = [&](const std::string& ours, const std::string& theirs, std::string_view allowed,
                         auto&& set) {
    for (const auto& name : {ours, theirs}) {
      const auto text = getenv(name);
      if (!text || text->empty()) continue;
      if (set(std::string_view(*text))) return;
      out.push_back({Severity::warning,
                     {},
                     name,
                     "environment variable ignored",
                     shown(*text),
                     std::string(allowed),
                     {}});
    }
  };
  auto& dp = config.weft.dataplane;
  constexpr std::uint32_t kMaxWorkers = 1024;
  const auto workers = [](std::optional<std::uint32_t>& into, std::uint32_t min) {
    return [&into, min](std::string_view text) {
      const auto v = parse_number(text);
      if (!v || *v < min || *v > kMaxWorkers) return false;
      into = static_cast<std::uint32_t>(*v);
      return true;
    };
  };
  const auto flag = [](bool& into) {
    return [&into](std::string_view text) {
      const auto v = text == "1"   ? std::optional(true)
                     : text == "0" ? std::optional(false)
                                   : parse_bool(text);
      if (v) into = *v;
      return v.has_value();
    };
  };
  apply("WEFT_ENCRYPT_WORKERS", "FIPS_ENCRYPT_WORKERS", "1 to 1024", workers(dp.encrypt_workers, 1));
  apply("WEFT_DECRYPT_WORKERS", "FIPS_DECRYPT_WORKERS", "0 to 1024", workers(dp.decrypt_workers, 0));
  apply("WEFT_CONNECTED_UDP", "FIPS_CONNECTED_UDP", "1 or 0", flag(dp.connected_udp));
  apply("WEFT_OFFLOAD", "", "1 or 0", flag(dp.offload));
  apply("WEFT_PERF", "FIPS_PERF", "1 or 0", flag(dp.perf));
  apply("WEFT_LOG", "RUST_LOG", "trace, debug, info, warn or error", [&](std::string_view text) {
    const auto level = log_directive(text);
    if (level) config.node.log_level = *level;
    return level.has_value();
  });
  return out;
}

}  // namespace weft::config
