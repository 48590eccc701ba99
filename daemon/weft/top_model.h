/// What `weft top` knows and is asked to show: pages, order, filter, place, and the daemon's last answers. Pure: keys and
/// answers go in, the next question comes out.
#pragma once

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.h"

namespace weft::cli {

using Json = nlohmann::json;

enum class TopPage : std::uint8_t { peers, tree, sessions, traffic, workers, refusals, peer };
inline constexpr std::size_t kTopPages = 6;  // that have a number; a single peer's is reached from the peers
std::string_view name_of(TopPage p);

enum class TopKey : std::uint8_t {
  character,
  up,
  down,
  left,
  right,
  page_up,
  page_down,
  home,
  end,
  enter,
  escape,
  backspace,
  tab,
  back_tab
};

class TopModel {
 public:
  enum class Act : std::uint8_t { nothing, redraw, ask, quit };

  /// False: no such page.
  bool start(std::string_view page, double interval_s);
  /// `rows` of the page that fit, `points` of its curves.
  void set_room(std::size_t rows, std::size_t points);
  Act on_key(TopKey key, char32_t c = 0);
  /// Parameters of the next show_top.
  Json question() const;
  /// An answer that belongs to another page than the one shown by now is left out.
  void on_answer(Result<Json, std::string> answer, std::int64_t now_ms);

  // ---- for the view --------------------------------------------------------------------------------------------------

  TopPage page() const { return page_; }
  const Json& data() const { return data_; }  // null before the first answer of this page
  const Json& head() const { return head_; }
  /// Why the daemon does not answer; empty while it does.
  const std::string& trouble() const { return trouble_; }
  std::int64_t trouble_since_ms() const { return trouble_since_ms_; }
  bool paused() const { return paused_; }
  bool helping() const { return helping_; }
  bool typing() const { return typing_; }
  const std::string& filter() const { return filter_; }
  const std::string& sort() const { return sorts_[index()]; }
  bool reversed() const { return reversed_[index()]; }
  std::size_t offset() const { return offset_; }      // of the first row shown
  std::size_t selected() const { return selected_; }  // among all rows
  std::int64_t interval_ms() const { return interval_ms_; }
  std::int64_t window_s() const { return kWindows[window_]; }
  /// A counter's rise per second since the answer before, of the row whose `id` column says so; NaN if not known.
  double rate(const Json& row, std::string_view column, std::string_view id) const;
  /// A row's value by its column's name; null when there is none.
  const Json& field(const Json& row, std::string_view column) const;

 private:
  static constexpr std::int64_t kWindows[] = {600, 3600, 86'400};

  std::size_t index() const { return static_cast<std::size_t>(page_); }
  Act go_to(TopPage page);
  Act move(std::ptrdiff_t by);
  Act type(TopKey key, char32_t c);
  Act command(char32_t c);
  std::size_t total() const;

  TopPage page_ = TopPage::peers;
  std::string peer_;  // whose page is shown
  std::string sorts_[kTopPages + 1] = {"rate", "name", "received", "", "", "minute", ""};
  bool reversed_[kTopPages + 1] = {};
  std::string filter_;
  std::size_t offset_ = 0, selected_ = 0, rows_ = 10, points_ = 30, window_ = 0;
  std::int64_t interval_ms_ = 1000;
  bool paused_ = false, helping_ = false, typing_ = false;
  Json data_, head_, before_;
  std::string trouble_;
  std::int64_t trouble_since_ms_ = 0;
};

/// Names of the orders that a page can have, in the order in which `s` goes through them.
const std::vector<std::string>& orders_of(TopPage p);

}  // namespace weft::cli
