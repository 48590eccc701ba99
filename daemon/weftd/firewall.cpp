#include "weftd/firewall.h"

#include <fmt/format.h>

#include "base/endpoint.h"
#include "config/schema.h"
#include "crypto/identity.h"
#include "io/file.h"
#include "weftd/startup.h"

namespace weft::daemon {
namespace {

using Row = control::FirewallView::Row;
constexpr std::int64_t kLookEvery = 10;  // seconds

MeshAddr addr_of(const PublicKey& key) { return mesh_addr_of(crypto::node_addr_of(key)); }

std::optional<MeshAddr> addr_of(std::string_view who, const Firewall::KeyOf& key_of) {
  if (const auto ip = parse_ip6(who)) {
    MeshAddr a;
    a.bytes = *ip;
    return a;
  }
  const auto key = key_of ? key_of(who) : std::nullopt;
  return key ? std::optional(addr_of(*key)) : std::nullopt;
}

firewall::Opening opening_of(const firewall::Entry& e) {
  return {e.ports, e.from ? std::optional(addr_of(*e.from)) : std::nullopt};
}

}  // namespace

Firewall::Wanted Firewall::wanted_by(const config::Config& config, const config::Places& places) {
  Wanted w{config::firewall_on(config), config.weft.firewall, {}};
  for (std::size_t i = 0; i < w.section.allow.size(); ++i) {
    const auto place = places.find(fmt::format("weft.firewall.allow[{}]", i));
    w.sources.push_back(place.file.empty() ? "configuration" : fmt::format("{}:{}", place.file, place.line));
  }
  return w;
}

Firewall::Firewall(std::string interface, std::string kept_file)
    : interface_(std::move(interface)), kept_file_(std::move(kept_file)) {}

void Firewall::read_kept(std::vector<std::string>& warnings) {
  std::optional<std::string> trouble;
  std::vector<firewall::Kept::Complaint> complaints;
  kept_ = firewall::Kept::parse(read_side_file(kept_file_, &trouble), &complaints);
  if (trouble) warnings.push_back(*trouble + "; nothing that weft allow opened is open");
  for (const auto& c : complaints)
    warnings.push_back(fmt::format("{}:{}: {}; this line counts for nothing", kept_file_, c.line, c.text));
}

Firewall::Made Firewall::make(const Wanted& wanted, const firewall::Kept& kept, std::int64_t now_unix) const {
  Made out;
  out.policy.interface = interface_;
  out.policy.forward = wanted.section.forward;
  const auto allow = [&](const config::PortRule& ports, const std::string& from, const std::string& source) {
    Row row{.ports = ports, .from = from, .source = source};
    if (!from.empty()) row.from_addr = addr_of(from, key_of_);
    if (!from.empty() && !row.from_addr) row.trouble = "no node of this name is known, so nobody is let in";
    else out.policy.allow.push_back({ports, row.from_addr});
    out.rows.push_back(std::move(row));
  };
  for (std::size_t i = 0; i < wanted.section.allow.size(); ++i) {
    const auto& a = wanted.section.allow[i];
    const auto ports = config::parse_port_rule(a.port);
    if (!ports) continue;  // cannot be: such a file is refused
    const std::string source = i < wanted.sources.size() ? wanted.sources[i] : "configuration";
    if (a.from.empty()) allow(*ports, "", source);
    for (const auto& from : a.from) allow(*ports, from, source);
  }
  for (const auto& e : kept.entries()) {
    if (e.until && *e.until <= now_unix) continue;
    Row row{
        .allow = e.allow, .ports = e.ports, .until = e.until, .source = e.allow ? "weft allow" : "weft deny"};
    if (e.from) {
      row.from = crypto::npub_of(*e.from);
      row.from_addr = addr_of(*e.from);
    }
    (e.allow ? out.policy.allow : out.policy.deny).push_back(opening_of(e));
    out.rows.push_back(std::move(row));
  }
  return out;
}

Result<void, std::string> Firewall::load(const firewall::Policy& policy, bool on) {
  if (!filter_) {
    auto opened = io::PacketFilter::open();
    if (!opened && on) return bad(opened.error().text);
    if (!opened) return {};
    filter_.emplace(std::move(*opened));
  }
  if (!on) {
    const auto gone = filter_->remove();
    const bool was = loaded_;
    if (gone) loaded_ = false;
    // A table that is not there, or not ours, is none of our business while the firewall is off.
    if (!gone && was) return bad(gone.error().text);
    return {};
  }
  if (const auto done = filter_->load(firewall::compile(policy)); !done) return bad(done.error().text);
  loaded_ = true;
  return {};
}

Result<void, std::string> Firewall::apply(Wanted wanted, KeyOf key_of, std::int64_t now_unix) {
  std::swap(key_of_, key_of);
  auto made = make(wanted, kept_, now_unix);
  if (!wanted.on || !loaded_ || made.policy != policy_)
    if (auto done = load(made.policy, wanted.on); !done) {
      std::swap(key_of_, key_of);
      return done;
    }
  wanted_ = std::move(wanted);
  policy_ = std::move(made.policy);
  rows_ = std::move(made.rows);
  trouble_.clear();
  return {};
}

std::string Firewall::refresh(std::int64_t now_unix) {
  // A file that cannot be written only means that ended openings are read, and passed over, at the next start.
  if (kept_.expire(now_unix)) (void)keep(kept_);
  auto made = make(wanted_, kept_, now_unix);
  rows_ = std::move(made.rows);
  if (!wanted_.on) {
    policy_ = std::move(made.policy);
    return {};
  }
  bool missing = false;
  if (now_unix - looked_ >= kLookEvery || now_unix < looked_) {
    looked_ = now_unix;
    missing = loaded_ && !filter_->loaded();
  }
  if (loaded_ && !missing && made.policy == policy_) return {};
  if (const auto done = load(made.policy, true); !done) {
    const bool said = trouble_ == done.error();
    trouble_ = done.error();
    return said ? std::string() : "the firewall stays as it was: " + trouble_;
  }
  policy_ = std::move(made.policy);
  trouble_.clear();
  return missing ? "somebody had taken the table away; it is back"
                 : "openings changed (names, or times that ended)";
}

Result<void, std::string> Firewall::keep(const firewall::Kept& kept) const {
  constexpr unsigned kMode = 0640;
  if (const auto done = io::write_text_file(kept_file_, kept.text(), kMode); !done)
    return bad("nothing was changed, because it could not be kept across restarts: " + done.error().text +
               "; to open a port for good, write it into the configuration (weft.firewall.allow)");
  return {};
}

Result<control::ShellActions::Changed, std::string> Firewall::change(const firewall::Entry& e,
                                                                     std::int64_t now_unix) {
  control::ShellActions::Changed out;
  auto kept = kept_;
  kept.expire(now_unix);
  if (e.allow) {
    if (const auto done = kept.allow(e); !done) return bad(done.error());
  } else {
    const auto taken = kept.deny(e, false);
    out.taken_back = taken.value_or(0);
    out.refusal_kept = firewall::opens(make(wanted_, kept, now_unix).policy.allow, opening_of(e));
    if (out.refusal_kept)
      if (const auto done = kept.deny(e, true); !done) return bad(done.error());
  }
  auto made = make(wanted_, kept, now_unix);
  if (const auto done = keep(kept); !done) return bad(done.error());
  if (wanted_.on)
    if (const auto done = load(made.policy, true); !done) {
      [[maybe_unused]] const auto ignored = keep(kept_);
      return bad(done.error());
    }
  if (e.allow && firewall::opens(made.policy.deny, opening_of(e)))
    out.still = "weft deny closed it, or a part of it; weft allow --list shows where";
  kept_ = std::move(kept);
  policy_ = std::move(made.policy);
  rows_ = std::move(made.rows);
  return out;
}

control::FirewallPackets Firewall::packets() const {
  return on() ? filter_->packets() : control::FirewallPackets{};
}

std::uint64_t Firewall::refused() const {
  const auto n = packets();
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < n.size(); ++i) {
    const auto t = firewall::kTallies[i];
    if (t == firewall::Tally::refused || t == firewall::Tally::closed ||
        t == firewall::Tally::forward_refused)
      sum += n[i];
  }
  return sum;
}

control::FirewallView Firewall::view() const {
  control::FirewallView v;
  v.on = on();
  v.interface = interface_;
  v.policy = policy_;
  v.rows = rows_;
  return v;
}

}  // namespace weft::daemon
