#include "resolver/hookup.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace weft::resolver {
namespace {

using config::ResolverHook;

/// A machine with some services, whose programs do what they are known to do.
class Machine final : public System {
 public:
  std::set<std::string> active, folders{"/etc/dnsmasq.d"}, links, interfaces{"weft0"};
  std::map<std::string, std::string> files{{"/etc/resolv.conf", "nameserver 192.0.2.1\n"}};
  std::string nm_config, link_domain;
  std::vector<std::string> ran;
  std::string breaks;  // commands that begin so fail

  std::optional<Ran> run(const std::vector<std::string>& argv) override {
    std::string line;
    for (const auto& a : argv) line += (line.empty() ? "" : " ") + a;
    ran.push_back(line);
    if (!breaks.empty() && line.starts_with(breaks)) return Ran{1, "it\nfailed\n"};
    if (line.starts_with("busctl"))
      return Ran{0, active.contains("systemd-resolved") ? "b true\n" : "b false\n"};
    if (line.starts_with("systemctl is-active")) return Ran{active.contains(argv.back()) ? 0 : 3, ""};
    if (line == "NetworkManager --print-config") return Ran{0, nm_config};
    if (line.starts_with("resolvectl domain") && argv.size() == 3)
      return Ran{0, "Link 3 (weft0): " + link_domain + "\n"};
    if (line.starts_with("resolvectl domain")) link_domain = argv.back();
    if (line.starts_with("resolvectl revert")) link_domain.clear();
    return Ran{0, ""};
  }
  std::optional<std::string> read(const std::string& path) override {
    const auto it = files.find(path);
    return it == files.end() ? std::nullopt : std::optional(it->second);
  }
  Result<void, std::string> write(const std::string& path, const std::string& text) override {
    files[path] = text;
    return {};
  }
  Result<void, std::string> remove(const std::string& path) override {
    files.erase(path);
    return {};
  }
  bool is_folder(const std::string& path) override { return folders.contains(path); }
  bool is_link(const std::string& path) override { return links.contains(path); }
  bool has_interface(const std::string& name) override { return interfaces.contains(name); }

  bool has_run(const std::string& start) const {
    return std::ranges::any_of(ran, [&](const auto& r) { return r.starts_with(start); });
  }
};
const Responder kTo{"weft0", "::1", 5354};
bool has(const std::string& text, const std::string& what) { return text.find(what) != std::string::npos; }

TEST(Hookup, ResolvedIsToldPerLinkAndNothingIsWritten) {
  Machine m;
  m.active = {"systemd-resolved"};
  m.files["/etc/resolv.conf"] = "nameserver 127.0.0.53\n";
  const auto before = m.files;
  const auto done = up(m, ResolverHook::automatic, kTo);
  ASSERT_TRUE(done) << done.error();
  EXPECT_TRUE(m.has_run("resolvectl dns weft0 [::1]:5354"));
  EXPECT_TRUE(m.has_run("resolvectl domain weft0 ~fips"));
  EXPECT_TRUE(m.has_run("resolvectl dnssec weft0 no"));
  EXPECT_EQ(m.files, before);
  EXPECT_FALSE(has(*done, "but programs")) << *done;
  ASSERT_TRUE(down(m, kTo));
  EXPECT_TRUE(m.link_domain.empty());
}

TEST(Hookup, AutoPrefersWhatProgramsAsk) {
  Machine m;
  m.active = {"systemd-resolved", "dnsmasq"};
  ASSERT_TRUE(up(m, ResolverHook::automatic, kTo));
  EXPECT_TRUE(m.files.contains("/etc/dnsmasq.d/weft.conf"))
      << "resolv.conf names another server than resolved's";
  m.active = {"systemd-resolved"};
  const auto done = up(m, ResolverHook::automatic, kTo);
  ASSERT_TRUE(done) << done.error();
  EXPECT_FALSE(m.files.contains("/etc/dnsmasq.d/weft.conf")) << "what a former run left is taken back";
  EXPECT_TRUE(has(*done, "programs here do not ask systemd-resolved")) << *done;
}

TEST(Hookup, AutoNeverTouchesResolvConf) {
  Machine m;
  const auto before = m.files;
  const auto done = up(m, ResolverHook::automatic, {"weft0", "::1", 53});
  ASSERT_TRUE(done) << "nothing to hook up to is no failure";
  EXPECT_TRUE(has(*done, "install systemd-resolved")) << *done;
  EXPECT_EQ(m.files, before);
}

TEST(Hookup, DnsmasqGetsAFileAndARestartAndLosesBothAgain) {
  Machine m;
  m.active = {"dnsmasq"};
  ASSERT_TRUE(up(m, ResolverHook::dnsmasq, kTo));
  EXPECT_TRUE(has(m.files["/etc/dnsmasq.d/weft.conf"], "server=/fips/::1#5354\nrebind-domain-ok=/fips/\n"));
  EXPECT_TRUE(m.has_run("systemctl try-restart dnsmasq"));
  m.ran.clear();
  ASSERT_TRUE(up(m, ResolverHook::dnsmasq, kTo));
  EXPECT_FALSE(m.has_run("systemctl try-restart")) << "nothing changed";
  ASSERT_TRUE(down(m, kTo));
  EXPECT_FALSE(m.files.contains("/etc/dnsmasq.d/weft.conf"));
}

TEST(Hookup, AServiceThatDoesNotComeBackGetsItsOldFilesBack) {
  Machine m;
  m.active = {"dnsmasq"};
  m.breaks = "systemctl try-restart";
  const auto done = up(m, ResolverHook::dnsmasq, kTo);
  ASSERT_FALSE(done);
  EXPECT_TRUE(has(done.error(), "see its log")) << done.error();
  EXPECT_FALSE(m.files.contains("/etc/dnsmasq.d/weft.conf"));
}

TEST(Hookup, NetworkManagerOnlyWithItsDnsmasq) {
  Machine m;
  m.active = {"NetworkManager"};
  EXPECT_FALSE(up(m, ResolverHook::networkmanager, kTo));
  m.nm_config = "[main]\ndns=dnsmasq\n";
  ASSERT_TRUE(up(m, ResolverHook::automatic, kTo));
  EXPECT_TRUE(m.files.contains("/etc/NetworkManager/dnsmasq.d/weft.conf"));
  EXPECT_TRUE(m.has_run("nmcli general reload dns-full"));
  m.active.clear();  // it was stopped meanwhile
  ASSERT_TRUE(down(m, kTo));
  EXPECT_FALSE(m.files.contains("/etc/NetworkManager/dnsmasq.d/weft.conf"));
}

TEST(Hookup, ResolvConfWhenAskedWithPort53AndAFileOfItsOwn) {
  Machine m;
  const auto before = m.files["/etc/resolv.conf"];
  EXPECT_TRUE(has(up(m, ResolverHook::resolvconf, kTo).error(), "dns.port: 53"));
  const Responder to{"weft0", "127.0.0.1", 53};
  ASSERT_TRUE(up(m, ResolverHook::resolvconf, to));
  const auto text = m.files["/etc/resolv.conf"];
  EXPECT_TRUE(has(text, "nameserver 127.0.0.1\nnameserver 192.0.2.1\n")) << text;
  ASSERT_TRUE(up(m, ResolverHook::resolvconf, to)) << "after a crash";
  EXPECT_EQ(m.files["/etc/resolv.conf"], text) << "once only";
  ASSERT_TRUE(down(m, to));
  EXPECT_EQ(m.files["/etc/resolv.conf"], before);
  m.links = {"/etc/resolv.conf"};
  EXPECT_TRUE(has(up(m, ResolverHook::resolvconf, to).error(), "is a link"));
}

TEST(Hookup, ANamedWayThatIsNotThereIsAnErrorAndOffTakesBack) {
  Machine m;
  EXPECT_TRUE(has(up(m, ResolverHook::resolved, kTo).error(), "systemd-resolved is not running"));
  m.active = {"systemd-resolved", "dnsmasq"};
  m.interfaces.clear();
  EXPECT_TRUE(has(up(m, ResolverHook::resolved, kTo).error(), "is weftd running?"));
  ASSERT_TRUE(up(m, ResolverHook::dnsmasq, kTo));
  const auto done = up(m, ResolverHook::off, kTo);
  ASSERT_TRUE(done);
  EXPECT_TRUE(has(*done, "taken back: dnsmasq")) << *done;
  EXPECT_EQ(down(m, kTo).value(), "nothing to take back");
}

TEST(Hookup, AFailingResolvectlIsUndoneAndQuoted) {
  Machine m;
  m.active = {"systemd-resolved"};
  m.breaks = "resolvectl domain";
  const auto done = up(m, ResolverHook::resolved, kTo);
  ASSERT_FALSE(done);
  EXPECT_TRUE(has(done.error(), "failed")) << done.error();
  EXPECT_TRUE(m.has_run("resolvectl revert weft0"));
}

TEST(ResolvConf, OnlyOurOwnLinesGo) {
  const std::string theirs = "search lan\nnameserver ::1\n# weft is nice\noptions ndots:1\n";
  EXPECT_EQ(without_server(theirs), theirs);
  EXPECT_EQ(without_server(with_server(theirs, "::1")), theirs);
  const auto edited =
      with_server("", "::1").substr(0, with_server("", "::1").find("nameserver")) + "options x\n";
  EXPECT_EQ(without_server(edited), "options x\n") << "somebody changed the line after the mark";
}

TEST(Responder, AWildcardIsAskedOverLoopback) {
  config::Config c;
  c.dns.bind_addr = "::";
  EXPECT_EQ(responder_of(c).address, "::1");
  c.dns.bind_addr = "0.0.0.0";
  EXPECT_EQ(responder_of(c).address, "127.0.0.1");
  EXPECT_EQ(responder_of(c).interface, "weft0");
}

}  // namespace
}  // namespace weft::resolver
