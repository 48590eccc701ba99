#include <fmt/format.h>

#include "docs/pages.h"

namespace weft::docs {
namespace {

/// Text that roff shows as it is.
std::string plain(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') out += "\\e";
    else if (c == '-') out += "\\-";
    else if (c == '\n') out += "\n";
    else if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n')) out += std::string("\\&") + c;
    else if (c == '`') out += "\\(ga";
    else if (c == '~') out += "\\(ti";
    else if (c == '^') out += "\\(ha";
    else out += c;
  }
  return out;
}

std::string bold(std::string_view text) { return "\\fB" + plain(text) + "\\fR"; }
std::string slanted(std::string_view text) { return "\\fI" + plain(text) + "\\fR"; }

std::string heading(const char* page, int section, const char* what) {
  return fmt::format(".TH {} {} \"\" \"weft {}\" \"{}\"\n", page, section, WEFT_VERSION, what);
}
std::string section(std::string_view title) { return fmt::format(".SH {}\n", title); }
std::string item(const std::string& term, const std::string& text) {
  return fmt::format(".TP\n{}\n{}\n", term, text);
}

std::string meaning_of(const Option& o) {
  std::string text = o.meaning;
  if (!o.choices.empty()) text += fmt::format(": {}", fmt::join(o.choices, ", "));
  std::string out = plain(sentence(text));
  if (!o.by_default.empty()) out += plain(fmt::format(" Default: {}.", o.by_default));
  return out;
}

std::string option_term(const Option& o) {
  std::string out;
  for (const auto& n : o.names) out += (out.empty() ? "" : ", ") + bold(n);
  return o.value.empty() ? out : out + " " + slanted(o.value);
}

std::string usage_line(const Command& c) {
  std::string out = bold(c.name());
  if (c.has_own_options()) out += " [" + slanted("OPTIONS") + "]";
  for (const auto& a : c.arguments) {
    const std::string text = slanted(a.names.front()) + (a.many ? "..." : "");
    out += a.required ? " " + text : " [" + text + "]";
  }
  return c.commands.empty() ? out : out + " " + slanted("COMMAND");
}

std::string options_of(const Command& c, bool help) {
  std::string out;
  for (const auto& a : c.arguments) out += item(slanted(a.names.front()), meaning_of(a));
  for (const auto& o : c.options)
    if (help || !o.is_help()) out += item(option_term(o), meaning_of(o));
  return out;
}

std::string items(const std::vector<Item>& all) {
  std::string out;
  for (const auto& i : all) out += item(bold(i.term), plain(i.text));
  return out;
}

}  // namespace

std::string man_weft(const Command& weft) {
  std::string out = heading("WEFT", 1, "User commands");
  out += section("NAME") + "weft \\- ask and steer the mesh daemon of this machine\n";
  out += section("SYNOPSIS") + usage_line(weft) + "\n";
  out += section("DESCRIPTION") + "Asks " + bold("weftd") +
         "(8) over its control socket, and prints tables for people or JSON for programs. "
         "Using the socket takes root or the group weft. A node is named by npub, by a name of the hosts "
         "file, or by "
         "the alias of a configured peer.\n";
  out += section("OPTIONS") + "These are good before and after every command.\n" + options_of(weft, true);
  out += section("COMMANDS");
  for (const Command* c : all_of(weft)) {
    if (c == &weft) continue;
    out += ".SS " + usage_line(*c) + "\n" + plain(sentence(c->meaning)) + "\n" + options_of(*c, false);
    if (!c->footer.empty()) out += ".PP\n" + plain(c->footer) + "\n";
  }
  out += section("EXIT STATUS") + plain(weft.footer) + "\n";
  out += section("FILES") + items(files());
  out += section("EXAMPLES") + items(examples());
  out += section("SEE ALSO") + bold("weftd") + "(8), " + bold("weft.yaml") + "(5)\n";
  return out;
}

std::string man_weftd(const Command& weftd) {
  std::string out = heading("WEFTD", 8, "System administration");
  out += section("NAME") + "weftd \\- the mesh daemon\n";
  out += section("SYNOPSIS") + usage_line(weftd) + "\n";
  out += section("DESCRIPTION") + plain(weftd.meaning) + "\n.PP\n" +
         plain(
             "It opens the mesh interface, the UDP ports and the control socket, gives up every privilege "
             "that it "
             "does not need any more, and then keeps links to its neighbours. As a service it has a user of "
             "its own "
             "and CAP_NET_ADMIN; started by root it keeps that capability only. Whatever it made on the "
             "system goes "
             "when it stops.") +
         "\n";
  out += section("OPTIONS") + options_of(weftd, true);
  out += section("SIGNALS") +
         item(bold("SIGHUP"),
              "Read the configuration, the hosts file and the peer lists again. Peers, names, lists and "
              "the log level change at once; the rest takes a restart. A wrong file changes nothing.") +
         item(bold("SIGTERM, SIGINT"), "Say goodbye to the peers and end. A second one ends at once.");
  out += section("ENVIRONMENT") + items(environment());
  out += section("FILES") + items(files());
  out += section("EXIT STATUS") + plain(weftd.footer) + "\n";
  out += section("SEE ALSO") + bold("weft") + "(1), " + bold("weft.yaml") + "(5)\n";
  return out;
}

std::string man_weft_resolver(const Command& resolver) {
  std::string out = heading("WEFT-RESOLVER", 8, "System administration");
  out += section("NAME") + "weft\\-resolver \\- names under .fips for the programs of this machine\n";
  out += section("SYNOPSIS") + usage_line(resolver) + "\n";
  out += section("DESCRIPTION") + plain(resolver.meaning) +
         "\n.PP\nThe service runs it after its start and after its end. It needs root.\n";
  out += section("OPTIONS") + options_of(resolver, true) + ".PP\n" + plain(resolver.footer) + "\n";
  out += section("EXIT STATUS") + "0 done, or nothing to do; 1 could not be done; 2 used wrongly.\n";
  out += section("SEE ALSO") + bold("weftd") + "(8), " + bold("weft.yaml") + "(5)\n";
  return out;
}

std::string man_weft_yaml(const std::vector<config::KeyRow>& keys) {
  std::string out = heading("WEFT.YAML", 5, "File formats");
  out += section("NAME") + "weft.yaml \\- configuration of the mesh daemon\n";
  out +=
      section("DESCRIPTION") +
      plain(
          "YAML. Every key may be left out; an empty file is a node with an interface, names and UDP port "
          "2121. "
          "Below, dots stand for nesting: node.limits.max_peers is max_peers in limits in node; [] stands "
          "for "
          "each entry of a list. Units are in the names of the keys. \"weftd --check\" reports every mistake "
          "with its line; \"weft config reference\" prints this list.") +
      "\n";
  out += section("KEYS");
  std::string at;
  for (const auto& k : keys) {
    if (const auto s = section_of(k.key); s != at) {
      at = s;
      out += ".SS " + plain(s) + "\n" + plain(section_meaning(s)) + "\n";
    }
    const std::string value = k.default_ == "required" ? "It is required" : "Default: " + k.default_;
    out += item(bold(k.key), plain(fmt::format("{} Allowed: {}. {}.", k.meaning, k.allowed, value)));
  }
  out += section("FILES") + items(files());
  out += section("SEE ALSO") + bold("weftd") + "(8), " + bold("weft") + "(1)\n";
  return out;
}

}  // namespace weft::docs
