#include "config/decode.h"

#include <fmt/format.h>

#include <map>

#include "config/scalar.h"
#include "config/table.h"

namespace weft::config {
namespace {

std::string join(const std::string& at, std::string_view key) {
  return at.empty() ? std::string(key) : at + "." + std::string(key);
}

std::string_view kind_name(const Tree& t) {
  switch (t.kind) {
    case Tree::Kind::null:
      return "nothing";
    case Tree::Kind::scalar:
      return "one value";
    case Tree::Kind::list:
      return "a list";
    case Tree::Kind::map:
      break;
  }
  return "a mapping";
}

Complaint wrong_kind(const Tree& t, const std::string& key, std::string_view wanted) {
  return {Severity::error,     t.place, key, "wrong kind of value", std::string(kind_name(t)),
          std::string(wanted), {}};
}

/// Where a key that nobody knows is a mistake rather than something to pass over, as in the reference; and
/// all of weft's own section.
bool is_strict(const std::string& at) { return at == "node.rendezvous.nostr" || at.rfind("weft", 0) == 0; }

/// Reads mappings against a set of rows.
class Decoder {
 public:
  Decoder(Fields fields, Places& places, Complaints& out)
      : fields_(std::move(fields)), places_(places), out_(out) {
    for (auto& f : fields_) index_.emplace(f.key, &f);
  }
  /// Keys below `at` that somebody else reads.
  void leave(std::vector<std::string> keys) { left_ = std::move(keys); }
  /// Every unknown key is an error.
  void strict() { strict_ = true; }

  void read(const Tree& map, const std::string& at) {
    walk(map, at);
    for (const auto& f : fields_) {
      if (!f.required || places_.written(f.key)) continue;
      out_.push_back({Severity::error, map.place, f.key, "key is missing", {}, allowed_of(f), {}});
    }
  }

 private:
  bool has_below(const std::string& key) const {
    const auto it = index_.lower_bound(key + ".");
    return it != index_.end() && it->first.rfind(key + ".", 0) == 0;
  }
  void walk(const Tree& map, const std::string& at) {
    for (const auto& e : map.entries) {
      const std::string key = join(at, e.key);
      if (std::find(left_.begin(), left_.end(), key) != left_.end()) continue;
      const auto it = index_.find(key);
      if (it != index_.end()) {
        if (e.value.kind == Tree::Kind::null) continue;  // as if it were not there
        places_.set(key, e.place);
        read_value(e.value, *it->second, out_);
      } else if (has_below(key)) {
        if (e.value.kind == Tree::Kind::null) continue;
        places_.set(key, e.place);
        if (e.value.kind == Tree::Kind::map) walk(e.value, key);
        else out_.push_back(wrong_kind(e.value, key, "a mapping"));
      } else {
        unknown(e, at, key);
      }
    }
  }
  void unknown(const Tree::Entry& e, const std::string& at, const std::string& key) {
    Complaint c;
    c.severity = strict_ || is_strict(at) ? Severity::error : Severity::warning;
    c.place = e.place;
    c.key = key.substr(0, 200);
    c.problem = c.severity == Severity::error ? "unknown key" : "unknown key, ignored";
    c.nearest = nearest(e.key, at);
    out_.push_back(std::move(c));
  }
  /// A sibling that is spelled much like it, else a key of exactly this name that belongs elsewhere.
  std::string nearest(const std::string& word, const std::string& at) const {
    std::vector<std::string> siblings;
    const std::string prefix = at.empty() ? "" : at + ".";
    const auto add = [&](const std::string& key) {
      if (key.rfind(prefix, 0) != 0) return;
      std::string name = key.substr(prefix.size());
      name = name.substr(0, name.find('.'));
      if (siblings.empty() || siblings.back() != name) siblings.push_back(std::move(name));
    };
    for (const auto& [key, field] : index_) add(key);
    for (const auto& key : left_) add(key);
    std::string best = nearest_of(word, siblings);
    if (!best.empty()) return best;
    for (const auto& f : fields_)
      if (f.key.size() > word.size() && f.key.ends_with("." + word)) return f.key;
    return {};
  }

  Fields fields_;
  Places& places_;
  Complaints& out_;
  std::map<std::string, const Field*> index_;
  std::vector<std::string> left_;
  bool strict_ = false;
};

Tree renamed_discovery(const Tree& map, Complaints& out) {
  Tree copy = map;
  for (auto& e : copy.entries) {
    if (e.key != "discovery") continue;
    std::erase_if(copy.entries, [](const auto& x) { return x.key == "listen"; });
    for (auto& x : copy.entries)
      if (x.key == "discovery") {
        x.key = "listen";
        out.push_back({Severity::warning,
                       x.place,
                       "transports.ethernet.discovery",
                       "old name of this key",
                       {},
                       {},
                       "listen"});
      }
    break;
  }
  return copy;
}

template <class T>
void decode_instance(const Tree& map, std::string_view type, std::optional<std::string> name,
                     std::vector<Instance<T>>& into, Places& places, Complaints& out) {
  Instance<T> made{std::move(name), {}};
  const std::string at = instance_key(type, made.name);
  if (map.kind != Tree::Kind::map) {
    out.push_back(wrong_kind(map, at, "a mapping: one instance, or names with an instance each"));
    return;
  }
  Decoder d(fields_of(made.config, at), places, out);
  d.strict();
  d.read(type == "ethernet" ? renamed_discovery(map, out) : map, at);
  into.push_back(std::move(made));
}

void decode_transports(const Tree& map, TransportsSection& into, Places& places, Complaints& out) {
  into = {};
  std::vector<std::string> types;
  for_each_transport(into, [&](std::string_view type, auto& list) {
    types.emplace_back(type);
    for (const auto& e : map.entries) {
      if (e.key != type || e.value.kind == Tree::Kind::null) continue;
      places.set("transports." + e.key, e.place);
      if (!is_named_form(type, e.value)) {
        decode_instance(e.value, type, std::nullopt, list, places, out);
        continue;
      }
      for (const auto& instance : e.value.entries) {
        places.set("transports." + e.key + "." + instance.key, instance.place);
        decode_instance(instance.value, type, instance.key, list, places, out);
      }
    }
  });
  for (const auto& e : map.entries)
    if (std::find(types.begin(), types.end(), e.key) == types.end())
      out.push_back({Severity::warning,
                     e.place,
                     join("transports", e.key).substr(0, 200),
                     "unknown transport, ignored",
                     {},
                     fmt::format("{}", fmt::join(types, ", ")),
                     nearest_of(e.key, types)});
}

void decode_gateway(const Tree& map, std::optional<GatewaySection>& into, Places& places, Complaints& out) {
  GatewaySection g;
  Decoder d(fields_of(g, "gateway"), places, out);
  d.leave({"gateway.port_forwards"});
  d.read(map, "gateway");
  if (const Tree* list = map.find("port_forwards"); list != nullptr && list->kind != Tree::Kind::null) {
    if (list->kind != Tree::Kind::list) out.push_back(wrong_kind(*list, "gateway.port_forwards", "a list"));
    for (std::size_t i = 0; i < list->items.size(); ++i) {
      const std::string at = fmt::format("gateway.port_forwards[{}]", i);
      if (list->items[i].kind != Tree::Kind::map) {
        out.push_back(wrong_kind(list->items[i], at, "a mapping"));
        continue;
      }
      places.set(at, list->items[i].place);
      PortForward f;
      Decoder(fields_of(f, at), places, out).read(list->items[i], at);
      g.port_forwards.push_back(std::move(f));
    }
  }
  into = std::move(g);
}

/// The mapping under `key`, for moving things into; made when absent, nullptr when something else is there.
Tree* mapping_in(Tree& map, const std::string& key, const Place& place) {
  Tree* t = map.find(key);
  if (t == nullptr) {
    Tree fresh;
    fresh.kind = Tree::Kind::map;
    fresh.place = place;
    map.entries.push_back({key, place, std::move(fresh)});
    return &map.entries.back().value;
  }
  if (t->kind == Tree::Kind::null) t->kind = Tree::Kind::map;
  return t->kind == Tree::Kind::map ? t : nullptr;
}

void move_entry(Tree& into, Tree::Entry e, bool replace) {
  for (auto& old : into.entries) {
    if (old.key != e.key) continue;
    if (replace) old = std::move(e);
    return;
  }
  into.entries.push_back(std::move(e));
}

/// Empty ones are taken too.
std::optional<Tree::Entry> take_mapping(Tree& map, std::string_view key) {
  for (auto it = map.entries.begin(); it != map.entries.end(); ++it) {
    if (it->key != key || (it->value.kind != Tree::Kind::map && it->value.kind != Tree::Kind::null)) continue;
    Tree::Entry e = std::move(*it);
    map.entries.erase(it);
    return e;
  }
  return std::nullopt;
}

/// `tcp/22`, or a mapping with `port` and `from`, where `from` may be one word.
void decode_allow(Tree item, const std::string& at, FirewallSection& into, Places& places, Complaints& out) {
  places.set(at, item.place);
  FirewallAllow& a = into.allow.emplace_back();
  if (item.kind == Tree::Kind::scalar) {
    a.port = item.text;
    return;
  }
  if (item.kind != Tree::Kind::map) {
    out.push_back(wrong_kind(item, at, "a port like tcp/22, or a mapping with port and from"));
    return;
  }
  if (Tree* from = item.find("from"); from != nullptr && from->kind == Tree::Kind::scalar) {
    Tree list;
    list.kind = Tree::Kind::list;
    list.place = from->place;
    list.items.push_back(std::move(*from));
    *from = std::move(list);
  }
  Decoder d(fields_of(a, at), places, out);
  d.strict();
  d.read(item, at);
}

void decode_firewall(const Tree& document, FirewallSection& into, Places& places, Complaints& out) {
  const Tree* list = &document;
  for (const auto* key : {"weft", "firewall", "allow"}) {
    list = list->kind == Tree::Kind::map ? list->find(key) : nullptr;
    if (list == nullptr || list->kind == Tree::Kind::null) return;
  }
  constexpr const char* kAt = "weft.firewall.allow";
  places.set(kAt, list->place);
  if (list->kind != Tree::Kind::list) {
    out.push_back(wrong_kind(*list, kAt, "a list: [tcp/22, udp/5000-5010]"));
    return;
  }
  for (std::size_t i = 0; i < list->items.size(); ++i)
    decode_allow(list->items[i], fmt::format("{}[{}]", kAt, i), into, places, out);
}

void decode_address(const Tree& t, const std::string& at, Peer& peer, Places& places, Complaints& out) {
  if (t.kind != Tree::Kind::map) {
    out.push_back(wrong_kind(t, at, "a mapping with transport and addr"));
    peer.addresses.emplace_back();
    return;
  }
  places.set(at, t.place);
  PeerAddress& a = peer.addresses.emplace_back();
  Decoder d(fields_of(a, at), places, out);
  d.strict();
  d.read(t, at);
}

}  // namespace

void modernize(Tree& document, Complaints& out) {
  Tree* node = document.find("node");
  if (node == nullptr || node->kind != Tree::Kind::map) return;
  // The reference's packaged file has the section with nothing in it but remarks.
  if (auto old = take_mapping(*node, "discovery"); old && old->value.kind == Tree::Kind::map) {
    out.push_back({Severity::warning,
                   old->place,
                   "node.discovery",
                   "old name; still read",
                   {},
                   "node.lookup and node.rendezvous",
                   {}});
    for (auto& e : old->value.entries) {
      const bool rendezvous = e.key == "nostr" || e.key == "lan";
      if (e.value.kind == Tree::Kind::null) continue;
      if (Tree* to = mapping_in(*node, rendezvous ? "rendezvous" : "lookup", old->place))
        move_entry(*to, std::move(e), true);
    }
  }
  if (auto moved = take_mapping(*node, "dataplane")) {
    Tree* weft = mapping_in(document, "weft", moved->place);
    Tree* to = weft == nullptr ? nullptr : mapping_in(*weft, "dataplane", moved->place);
    for (auto& e : moved->value.entries)
      if (to != nullptr) move_entry(*to, std::move(e), false);
  }
}

void decode_peers(const Tree& list, const std::string& at, std::vector<Peer>& into, Places& places,
                  Complaints& out) {
  if (list.kind != Tree::Kind::list) {
    out.push_back(wrong_kind(list, at, "a list"));
    return;
  }
  for (std::size_t i = 0; i < list.items.size(); ++i) {
    const Tree& t = list.items[i];
    const std::string here = fmt::format("{}[{}]", at, i);
    Peer& p = into.emplace_back();
    if (t.kind != Tree::Kind::map) {
      out.push_back(wrong_kind(t, here, "a mapping with npub and addresses"));
      continue;
    }
    places.set(here, t.place);
    Decoder d(fields_of(p, here), places, out);
    d.strict();
    d.leave({here + ".addresses"});
    d.read(t, here);
    const Tree* a = t.find("addresses");
    if (a == nullptr || a->kind == Tree::Kind::null) continue;
    places.set(here + ".addresses", a->place);
    if (a->kind != Tree::Kind::list) out.push_back(wrong_kind(*a, here + ".addresses", "a list"));
    for (std::size_t k = 0; k < a->items.size(); ++k)
      decode_address(a->items[k], fmt::format("{}.addresses[{}]", here, k), p, places, out);
  }
}

void decode_config(const Tree& document, Config& into, Places& places, Complaints& out) {
  if (document.kind == Tree::Kind::null) return;
  if (document.kind != Tree::Kind::map) {
    out.push_back(wrong_kind(document, "", "a mapping of sections"));
    return;
  }
  Decoder d(fields_of(into), places, out);
  d.leave({"transports", "peers", "gateway", "weft.firewall.allow"});
  d.read(document, "");
  decode_firewall(document, into.weft.firewall, places, out);
  for (const auto& e : document.entries) {
    if (e.value.kind == Tree::Kind::null) continue;
    const bool is_map = e.value.kind == Tree::Kind::map;
    if (e.key != "transports" && e.key != "peers" && e.key != "gateway") continue;
    places.set(e.key, e.place);
    if (e.key == "peers") decode_peers(e.value, "peers", into.peers, places, out);
    else if (!is_map) out.push_back(wrong_kind(e.value, e.key, "a mapping"));
    else if (e.key == "transports") decode_transports(e.value, into.transports, places, out);
    else decode_gateway(e.value, into.gateway, places, out);
  }
}

}  // namespace weft::config
