#include "weft/guard_pages.h"

#include <fmt/format.h>

#include "weft/reply.h"

namespace weft::cli {
namespace {

using Json = nlohmann::json;
using reply::at, reply::integer, reply::list, reply::text, reply::truth;

std::string opening_text(const Json& r) {
  std::string out = text(at(r, "port"));
  if (at(r, "from_name").is_string()) out += " from " + text(at(r, "from_name"));
  if (!truth(at(r, "listening"))) out += " (nobody listens)";
  return out;
}

std::string until_text(const Json& until, std::int64_t now_ms) {
  if (!until.is_number_integer()) return "-";
  const auto left = integer(until) - now_ms / 1000;
  return left > 0 ? age_text(left) + " more" : "ended";
}

}  // namespace

std::string reachable_text(const Json& weft, bool has_interface) {
  if (!has_interface) return "not needed: no interface";
  if (!truth(at(weft, "firewall"))) return "off: mesh peers reach every open port here";
  std::string open;
  for (const auto& r : list(weft, "reachable")) open += (open.empty() ? "" : ", ") + opening_text(r);
  if (open.empty()) return "on: mesh peers reach nothing but ping; weft allow tcp/22 opens a port";
  return "on: mesh peers reach " + open + "; ping";
}

std::string firewall_page(const Json& d, const Style& style, std::int64_t now_ms) {
  std::string out;
  if (at(d, "interface").is_null()) return "no interface, so nothing here can be reached from the mesh\n";
  const bool on = truth(at(d, "on"));
  if (!on)
    out += style.paint(
               Colour::warn,
               "the firewall is off: mesh peers reach every port that listens on :: or the mesh address") +
           "\n";
  Table t({{"PORT"}, {"", Table::Align::left}, {"FROM"}, {"LISTENS"}, {"FOR"}, {"BY"}, {"NOTE"}});
  for (const auto& r : list(d, "rules")) {
    const bool allow = truth(at(r, "allow"));
    t.row({{text(at(r, "port")), Colour::bold},
           {allow ? "open" : "closed", allow ? Colour::good : Colour::warn},
           at(r, "from_name").is_string() ? text(at(r, "from_name")) : std::string("everybody"),
           truth(at(r, "listening")) ? "yes" : "no",
           until_text(at(r, "until_unix"), now_ms),
           text(at(r, "source")),
           at(r, "trouble").is_string() ? text(at(r, "trouble")) : std::string()});
  }
  out += t.text(style, on ? "no port is opened; from the mesh only ping and answers come in"
                          : "no port would stay open if it were on");
  const Json& p = at(d, "packets");
  if (on)
    out += fmt::format("\nrefused {} packets, forwarding refused {}; let in {} for open ports, {} pings\n",
                       integer(at(p, "refused")) + integer(at(p, "closed")),
                       integer(at(p, "forward_refused")), integer(at(p, "opened")), integer(at(p, "pings")));
  if (at(d, "trouble").is_string()) out += style.paint(Colour::bad, text(at(d, "trouble"))) + "\n";
  return out;
}

std::string firewall_changed(const Json& d, std::int64_t now_ms) {
  const bool allow = truth(at(d, "allow"));
  const std::string who = at(d, "from").is_string() ? text(at(d, "from")) : "every node of the mesh";
  std::string out = text(at(d, "port"));
  if (allow) {
    out += " is open for " + who;
    const Json& until = at(d, "until_unix");
    if (until.is_number_integer()) out += " for " + age_text(integer(until) - now_ms / 1000);
    else out += ", also after a restart";
  } else if (truth(at(d, "refusal_kept"))) {
    out += " is closed for " + who + ", although something else opens it (weft allow --list)";
  } else {
    out += integer(at(d, "taken_back")) > 0 ? " is closed again for " + who : " was not open for " + who;
  }
  out += "\n";
  if (at(d, "still").is_string()) out += "but " + text(at(d, "still")) + "\n";
  if (!allow) out += "connections that exist go on\n";
  if (!truth(at(d, "on")))
    out += "the firewall is off, so this changes nothing now: mesh peers reach every open port\n";
  return out;
}

std::string names_page(const Json& d, const Style& style) {
  Table t({{"NAME"}, {"ADDRESS"}, {"NPUB"}, {"FROM"}});
  for (const auto& r : list(d, "names"))
    t.row({{text(at(r, "name")) + ".fips", Colour::bold},
           text(at(r, "ipv6_addr")),
           text(at(r, "npub")),
           at(r, "source") == Json("hosts") ? text(at(d, "hosts_file")) : "alias of a peer"});
  return t.text(style, "no names: weft name set NAME NPUB gives one");
}

std::string verdict_page(const Json& d, const Style& style) {
  const bool yes = truth(at(d, "admitted"));
  std::string out = style.paint(yes ? Colour::good : Colour::bad, yes ? "admitted" : "refused") + ": " +
                    text(at(d, "display_name")) + " (" + text(at(d, "npub")) + ")\n";
  if (at(d, "line").is_number())
    out += fmt::format("  by {}:{}: {}\n", text(at(d, "file")), text(at(d, "line")), text(at(d, "token")));
  else out += "  it is in neither list, and who is in neither is admitted\n";
  for (const auto& n : list(d, "notes")) out += "  " + text(n) + "\n";
  return out;
}

}  // namespace weft::cli
