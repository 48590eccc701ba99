/// The mesh-side firewall of this daemon: the configuration's openings and those of the run time, in the kernel.
///
/// Errors   a sentence. What was in force before stays in force, and stays written down.
/// Thread   control thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "config/complaint.h"
#include "control/shell_actions.h"
#include "io/packet_filter.h"

namespace weft::daemon {

class Firewall {
 public:
  /// Which key a name or npub means, if any.
  using KeyOf = std::function<std::optional<PublicKey>(std::string_view)>;
  struct Wanted {
    bool on = false;
    config::FirewallSection section;
    std::vector<std::string> sources;  // where each entry of section.allow was written, "FILE:LINE"
  };
  static Wanted wanted_by(const config::Config& config, const config::Places& places);

  /// `kept_file`: where run-time openings are kept. Nothing happens before apply().
  Firewall(std::string interface, std::string kept_file);
  /// Reads what was kept; what does not count becomes a warning.
  void read_kept(std::vector<std::string>& warnings);
  /// Loads, changes or takes away the table. Names that nobody knows open nothing until somebody does.
  Result<void, std::string> apply(Wanted wanted, KeyOf key_of, std::int64_t now_unix);
  /// Once a second: ends what has ended, follows names that moved, puts back a table that went missing. A sentence for
  /// the log when something was done or is wrong, each once; empty otherwise.
  std::string refresh(std::int64_t now_unix);
  Result<control::ShellActions::Changed, std::string> change(const firewall::Entry& e, std::int64_t now_unix);

  bool on() const { return wanted_.on && filter_.has_value(); }
  const firewall::Policy& policy() const { return policy_; }
  /// What the last refresh() could not do; empty: nothing.
  const std::string& trouble() const { return trouble_; }
  control::FirewallView view() const;
  /// Asks the kernel.
  control::FirewallPackets packets() const;
  /// Packets that did not come in.
  std::uint64_t refused() const;

 private:
  struct Made {
    firewall::Policy policy;
    std::vector<control::FirewallView::Row> rows;
  };
  Made make(const Wanted& wanted, const firewall::Kept& kept, std::int64_t now_unix) const;
  Result<void, std::string> load(const firewall::Policy& policy, bool on);
  Result<void, std::string> keep(const firewall::Kept& kept) const;

  std::string interface_, kept_file_;
  Wanted wanted_;
  KeyOf key_of_;
  firewall::Kept kept_;
  firewall::Policy policy_;
  std::vector<control::FirewallView::Row> rows_;
  std::optional<io::PacketFilter> filter_;
  bool loaded_ = false;
  std::string trouble_;
  std::int64_t looked_ = 0;  // Unix seconds: when the table was last seen
};

}  // namespace weft::daemon
