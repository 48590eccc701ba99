#include "firewall/kept.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "crypto/identity.h"

namespace weft::firewall {
namespace {

constexpr std::size_t kMostComplaints = 20;

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> out;
  constexpr std::string_view kBlank = " \t\r";
  for (auto at = line.find_first_not_of(kBlank); at != std::string_view::npos;) {
    const auto end = std::min(line.find_first_of(kBlank, at), line.size());
    out.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(kBlank, end);
  }
  return out;
}

std::optional<std::int64_t> number_of(std::string_view s) {
  std::int64_t v = 0;
  const auto r = std::from_chars(s.data(), s.data() + s.size(), v);
  if (r.ec != std::errc{} || r.ptr != s.data() + s.size() || v < 0) return std::nullopt;
  return v;
}

/// Errors: why the line does not count.
Result<Entry, std::string> entry_of(const std::vector<std::string_view>& w) {
  Entry e;
  if (w[0] != "allow" && w[0] != "deny") return bad(std::string("begins with neither allow nor deny"));
  e.allow = w[0] == "allow";
  const auto ports = w.size() > 1 ? config::parse_port_rule(w[1]) : std::nullopt;
  if (!ports) return bad(std::string("expected a port like tcp/22"));
  e.ports = *ports;
  for (std::size_t i = 2; i < w.size(); i += 2) {
    if (i + 1 == w.size()) return bad(fmt::format("nothing behind \"{}\"", w[i]));
    if (w[i] == "from") {
      const auto key = crypto::parse_npub(w[i + 1]);
      if (!key) return bad(std::string("not an npub behind from"));
      e.from = *key;
    } else if (w[i] == "until") {
      e.until = number_of(w[i + 1]);
      if (!e.until) return bad(std::string("not a time behind until"));
    } else {
      return bad(fmt::format("unknown word \"{}\"", w[i].substr(0, 40)));
    }
  }
  return e;
}

/// Whoever `inner` names, `outer` names too, with all its ports.
bool covers(const Entry& outer, const Entry& inner) {
  return outer.ports.covers(inner.ports) && (!outer.from || outer.from == inner.from);
}

Result<void, std::string> full() {
  return bad(
      fmt::format("{} entries were made with weft allow and weft deny already; write ports into the "
                  "configuration (weft.firewall.allow) instead",
                  kMostKept));
}

}  // namespace

Kept Kept::parse(std::string_view text, std::vector<Complaint>* complaints) {
  Kept out;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const auto end = text.find('\n');
    const auto words = words_of(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (words.empty() || words[0].front() == '#') continue;
    auto e = entry_of(words);
    if (e && out.entries_.size() < kMostKept) out.entries_.push_back(std::move(*e));
    else if (complaints != nullptr && complaints->size() < kMostComplaints)
      complaints->push_back({number, e ? fmt::format("more than {} entries", kMostKept) : e.error()});
  }
  return out;
}

std::string Kept::text() const {
  std::string out = "# Ports opened and closed with `weft allow` and `weft deny`; written by weftd.\n";
  for (const auto& e : entries_) {
    out += fmt::format("{} {}", e.allow ? "allow" : "deny", config::text_of(e.ports));
    if (e.from) out += " from " + crypto::npub_of(*e.from);
    if (e.until) out += fmt::format(" until {}", *e.until);
    out += '\n';
  }
  return out;
}

Result<void, std::string> Kept::allow(Entry e) {
  e.allow = true;
  auto next = entries_;
  std::erase_if(
      next, [&](const Entry& o) { return o.allow ? o.ports == e.ports && o.from == e.from : covers(e, o); });
  if (next.size() >= kMostKept) return full();
  next.push_back(std::move(e));
  entries_ = std::move(next);
  return {};
}

Result<std::size_t, std::string> Kept::deny(Entry e, bool keep_refusal) {
  e.allow = false;
  e.until.reset();
  auto next = entries_;
  const auto taken = std::erase_if(next, [&](const Entry& o) { return o.allow && covers(e, o); });
  std::erase_if(next, [&](const Entry& o) { return !o.allow && covers(e, o); });
  if (keep_refusal) {
    if (next.size() >= kMostKept) return bad(full().error());
    next.push_back(std::move(e));
  }
  entries_ = std::move(next);
  return static_cast<std::size_t>(taken);
}

bool Kept::expire(std::int64_t now_unix) {
  return std::erase_if(entries_, [&](const Entry& e) { return e.until && *e.until <= now_unix; }) > 0;
}

std::optional<std::int64_t> parse_span(std::string_view text) {
  constexpr std::int64_t kMost = 10LL * 365 * 86400;
  if (text.size() < 2) return std::nullopt;
  const auto n = number_of(text.substr(0, text.size() - 1));
  const auto unit = text.back() == 's'   ? 1
                    : text.back() == 'm' ? 60
                    : text.back() == 'h' ? 3600
                    : text.back() == 'd' ? 86400
                                         : 0;
  if (!n || unit == 0 || *n < 1 || *n > kMost / unit) return std::nullopt;
  return *n * unit;
}

}  // namespace weft::firewall
