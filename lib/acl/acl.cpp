#include "acl/acl.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "crypto/identity.h"

namespace weft::acl {
namespace {

constexpr std::size_t kMaxWarnings = 50;
constexpr std::size_t kMaxToken = 255;  // longer than any name or npub

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }

std::string_view trim(std::string_view s) {
  while (!s.empty() && is_blank(s.front())) s.remove_prefix(1);
  while (!s.empty() && is_blank(s.back())) s.remove_suffix(1);
  return s;
}
/// Whether a token could be a name: no npub, and of the characters that names have.
bool may_be_name(std::string_view s) {
  constexpr std::size_t kMaxName = 63;
  const auto in_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
  };
  const bool npub = s.size() >= 5 && (s[0] | 0x20) == 'n' && (s[1] | 0x20) == 'p' && (s[2] | 0x20) == 'u' &&
                    (s[3] | 0x20) == 'b' && s[4] == '1';
  return s.size() <= kMaxName && !npub && std::ranges::all_of(s, in_name);
}
bool is_all(std::string_view s) {
  return s.size() == 3 && (s[0] | 0x20) == 'a' && (s[1] | 0x20) == 'l' && (s[2] | 0x20) == 'l';
}

}  // namespace

std::string Verdict::text() const {
  if (reason == Reason::by_default) return "allowed: in neither list";
  return fmt::format("{} by peers.{} line {} ({})", allowed ? "allowed" : "denied",
                     reason == Reason::allow_list ? "allow" : "deny", line, token);
}

std::vector<std::string> Acl::List::tokens() const {
  std::vector<std::string> out;
  for (const auto& [token, key] : said) out.push_back(token);
  return out;
}
std::vector<std::string> Acl::List::npubs() const {
  std::set<std::string> sorted;
  for (const auto& [key, entry] : keys) sorted.insert(crypto::npub_of(key));
  return {sorted.begin(), sorted.end()};
}

void Acl::read(std::string_view text, std::string_view file, List& into, const NameLookup& name) {
  if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);  // byte order mark
  const auto warn = [&](std::size_t line, std::string what) {
    if (warnings_.size() + 1 < kMaxWarnings) warnings_.push_back({file, line, std::move(what)});
    else if (warnings_.size() < kMaxWarnings)
      warnings_.push_back({file, line, "further lines skipped; their warnings are left out"});
  };
  for (std::size_t number = 1; !text.empty(); ++number) {
    const auto end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    line = trim(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    if (std::any_of(line.begin(), line.end(), is_blank)) {
      warn(number, "more than one entry on a line; skipped");
      continue;
    }
    if (is_all(line)) {
      if (!into.all) into.all = Entry{number, std::string(line)};
      continue;
    }
    std::optional<PublicKey> key;
    if (line.size() <= kMaxToken) {
      if (auto parsed = crypto::parse_npub(line)) key = *parsed;
      if (!key && name) key = name(line);
    }
    if (!key) {
      if (may_be_name(line))
        warn(number, "no node of this name is known; the line counts for nothing until there is");
      else warn(number, "neither an npub nor a name; skipped");
      continue;
    }
    into.keys.emplace(*key, Entry{number, std::string(line)});
    into.said.emplace(std::string(line), *key);
  }
}

Acl Acl::parse(std::string_view allow_text, std::string_view deny_text, const NameLookup& name) {
  Acl out;
  out.read(allow_text, "peers.allow", out.allow_, name);
  out.read(deny_text, "peers.deny", out.deny_, name);
  return out;
}

std::optional<Warning> first_malformed(std::string_view allow_text, std::string_view deny_text) {
  // Every name counts as known: unknown ones are no mistake, so what is left to warn about is.
  const auto a = Acl::parse(allow_text, deny_text, [](std::string_view name) {
    return may_be_name(name) ? std::optional(PublicKey{}) : std::nullopt;
  });
  return a.warnings().empty() ? std::nullopt : std::optional(a.warnings().front());
}

Verdict Acl::check(const PublicKey& key) const {
  const auto decide = [&](const List& list, bool allowed, Reason reason) -> std::optional<Verdict> {
    const auto it = list.keys.find(key);
    if (it != list.keys.end()) return Verdict{allowed, reason, it->second.line, it->second.token};
    if (list.all) return Verdict{allowed, reason, list.all->line, list.all->token};
    return std::nullopt;
  };
  if (auto v = decide(allow_, true, Reason::allow_list)) return *v;
  if (auto v = decide(deny_, false, Reason::deny_list)) return *v;
  return {};
}

std::string_view Acl::effective_mode() const {
  if (allow_.all) return "allow_all";
  if (!allow_.keys.empty() && deny_.all) return "allow_then_deny_all";
  if (!allow_.keys.empty() && !deny_.keys.empty()) return "allow_then_deny";
  if (!allow_.keys.empty()) return "allowlist";
  if (deny_.all) return "deny_all";
  if (!deny_.keys.empty()) return "denylist";
  return "default_open";
}

}  // namespace weft::acl
