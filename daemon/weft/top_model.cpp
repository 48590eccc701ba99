#include "weft/top_model.h"

#include <algorithm>

#include "weft/reply.h"

namespace weft::cli {
namespace {

using reply::at, reply::list;

constexpr std::int64_t kShortest = 250, kLongest = 60'000;
constexpr std::size_t kMostFilter = 64;

void append_utf8(std::string& to, char32_t c) {
  const auto tail = [&](unsigned shift) { to += static_cast<char>(0x80U | ((c >> shift) & 0x3FU)); };
  if (c < 0x80) {
    to += static_cast<char>(c);
  } else if (c < 0x800) {
    to += static_cast<char>(0xC0U | (c >> 6));
    tail(0);
  } else if (c < 0x10000) {
    to += static_cast<char>(0xE0U | (c >> 12));
    tail(6), tail(0);
  } else {
    to += static_cast<char>(0xF0U | (c >> 18));
    tail(12), tail(6), tail(0);
  }
}

const Json& field_of(const Json& data, const Json& row, std::string_view column) {
  static const Json kNone;
  const Json& columns = list(data, "columns");
  if (!row.is_array()) return kNone;
  for (std::size_t i = 0; i < columns.size() && i < row.size(); ++i)
    if (columns[i].is_string() && columns[i].get_ref<const std::string&>() == column) return row[i];
  return kNone;
}

}  // namespace

std::string_view name_of(TopPage p) {
  constexpr std::string_view kNames[] = {"peers",   "tree",     "sessions", "traffic",
                                         "workers", "refusals", "peer"};
  return kNames[static_cast<std::size_t>(p)];
}

const std::vector<std::string>& orders_of(TopPage p) {
  static const std::vector<std::string> kNone;
  static const std::map<TopPage, std::vector<std::string>> kOrders{
      {TopPage::peers,
       {"rate", "name", "rtt", "loss", "cost", "in", "out", "received", "sent", "up", "role", "state"}},
      {TopPage::tree, {"name", "role", "depth", "distance", "cost", "nodes"}},
      {TopPage::sessions, {"received", "sent", "name", "state", "rtt", "loss", "idle", "up"}},
      {TopPage::refusals, {"minute", "count", "name"}}};
  const auto it = kOrders.find(p);
  return it == kOrders.end() ? kNone : it->second;
}

bool TopModel::start(std::string_view page, double interval_s) {
  interval_ms_ = std::clamp(static_cast<std::int64_t>(interval_s * 1000), kShortest, kLongest);
  for (std::size_t i = 0; i < kTopPages; ++i)
    if (name_of(static_cast<TopPage>(i)) == page) {
      page_ = static_cast<TopPage>(i);
      return true;
    }
  return false;
}

void TopModel::set_room(std::size_t rows, std::size_t points) {
  rows_ = std::max<std::size_t>(1, rows);
  points_ = points;
  move(0);
}

std::size_t TopModel::total() const {
  const Json& n = at(data_, "total");
  return n.is_number_unsigned() ? n.get<std::size_t>() : 0;
}

TopModel::Act TopModel::go_to(TopPage page) {
  if (page == page_) return Act::nothing;
  page_ = page;
  offset_ = selected_ = 0;
  data_ = before_ = nullptr;
  return Act::ask;
}

TopModel::Act TopModel::move(std::ptrdiff_t by) {
  const auto n = static_cast<std::ptrdiff_t>(total());
  const auto before = offset_;
  selected_ = static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(selected_) + by,
                                                                  0, std::max<std::ptrdiff_t>(0, n - 1)));
  if (selected_ < offset_) offset_ = selected_;
  if (selected_ >= offset_ + rows_) offset_ = selected_ - rows_ + 1;
  // No empty rows below while there are rows above.
  if (total() > 0) offset_ = std::min(offset_, total() > rows_ ? total() - rows_ : 0);
  return offset_ == before ? Act::redraw : Act::ask;
}

TopModel::Act TopModel::type(TopKey key, char32_t c) {
  if (key == TopKey::enter) {
    typing_ = false;
    return Act::redraw;
  }
  if (key == TopKey::escape) {
    typing_ = false;
    filter_.clear();
  } else if (key == TopKey::backspace) {
    while (!filter_.empty() && (static_cast<unsigned char>(filter_.back()) & 0xC0U) == 0x80U)
      filter_.pop_back();
    if (!filter_.empty()) filter_.pop_back();
  } else if (key == TopKey::character && c >= 0x20 && filter_.size() < kMostFilter) {
    append_utf8(filter_, c);
  } else {
    return Act::nothing;
  }
  offset_ = selected_ = 0;
  return Act::ask;
}

TopModel::Act TopModel::command(char32_t c) {
  const auto& orders = orders_of(page_);
  const auto turn = [&](std::size_t by) {
    if (orders.empty()) return Act::nothing;
    const auto here = static_cast<std::size_t>(std::ranges::find(orders, sort()) - orders.begin());
    sorts_[index()] = orders[(here + by) % orders.size()];
    offset_ = selected_ = 0;
    return Act::ask;
  };
  switch (c) {
    case 'q':
    case 'Q':
      return Act::quit;
    case '?':
    case 'h':
      helping_ = true;
      return Act::redraw;
    case ' ':
    case 'p':
      paused_ = !paused_;
      return paused_ ? Act::redraw : Act::ask;
    case '/':
      typing_ = true;
      return Act::redraw;
    case 's':
      return turn(1);
    case 'S':
      return turn(orders.size() - std::min<std::size_t>(1, orders.size()));
    case 'r':
      reversed_[index()] = !reversed_[index()];
      return Act::ask;
    case 'w':
      window_ = (window_ + 1) % std::size(kWindows);
      return Act::ask;
    case '+':
      interval_ms_ = std::min(kLongest, interval_ms_ * 2);
      return Act::redraw;
    case '-':
      interval_ms_ = std::max(kShortest, interval_ms_ / 2);
      return Act::redraw;
    case 'j':
      return move(1);
    case 'k':
      return move(-1);
    case 'g':
      return on_key(TopKey::home);
    case 'G':
      return on_key(TopKey::end);
    default:
      break;
  }
  if (c >= '1' && c < '1' + kTopPages) return go_to(static_cast<TopPage>(c - '1'));
  return Act::nothing;
}

TopModel::Act TopModel::on_key(TopKey key, char32_t c) {
  if (helping_) {
    helping_ = false;
    return key == TopKey::character && (c == 'q' || c == 'Q') ? Act::quit : Act::redraw;
  }
  if (typing_) return type(key, c);
  const auto page = static_cast<std::ptrdiff_t>(rows_);
  const auto tabs = static_cast<std::ptrdiff_t>(kTopPages);
  const auto turn = [&](std::ptrdiff_t by) {
    const auto here = page_ == TopPage::peer ? 0 : static_cast<std::ptrdiff_t>(index());
    return go_to(static_cast<TopPage>((here + by + tabs) % tabs));
  };
  switch (key) {
    case TopKey::character:
      return command(c);
    case TopKey::up:
      return move(-1);
    case TopKey::down:
      return move(1);
    case TopKey::page_up:
      return move(-page);
    case TopKey::page_down:
      return move(page);
    case TopKey::home:
      return move(-static_cast<std::ptrdiff_t>(selected_));
    case TopKey::end:
      return move(static_cast<std::ptrdiff_t>(total()));
    case TopKey::right:
    case TopKey::tab:
      return turn(1);
    case TopKey::left:
    case TopKey::back_tab:
      return turn(-1);
    case TopKey::enter: {
      if (page_ != TopPage::peers || selected_ < offset_) return Act::nothing;
      const Json& rows = list(data_, "rows");
      if (selected_ - offset_ >= rows.size()) return Act::nothing;
      const Json& npub = field(rows[selected_ - offset_], "npub");
      if (!npub.is_string()) return Act::nothing;
      peer_ = npub.get<std::string>();
      return go_to(TopPage::peer);
    }
    case TopKey::escape:
    case TopKey::backspace:
      if (page_ == TopPage::peer) return go_to(TopPage::peers);
      if (filter_.empty()) return Act::nothing;
      filter_.clear();
      return Act::ask;
  }
  return Act::nothing;
}

Json TopModel::question() const {
  Json q = {{"page", name_of(page_)}, {"offset", offset_},    {"limit", rows_},
            {"points", points_},      {"window", window_s()}, {"reverse", reversed() ? 1 : 0}};
  if (!sort().empty()) q["sort"] = sort();
  if (!filter_.empty()) q["filter"] = filter_;
  if (page_ == TopPage::peer) q["peer"] = peer_;
  return q;
}

void TopModel::on_answer(Result<Json, std::string> answer, std::int64_t now_ms) {
  if (!answer) {
    if (trouble_.empty()) trouble_since_ms_ = now_ms;
    trouble_ = answer.error().substr(0, answer.error().find('\n'));
    before_ = nullptr;  // a daemon that comes back counts from 0
    return;
  }
  trouble_.clear();
  head_ = at(*answer, "head");
  const Json& page = at(*answer, "page");
  if (!page.is_string() || page.get_ref<const std::string&>() != name_of(page_)) return;
  before_ = std::move(data_);
  data_ = std::move(*answer);
  // The daemon knows better how far one can scroll.
  if (const Json& o = at(data_, "offset"); o.is_number_unsigned()) offset_ = o.get<std::size_t>();
  selected_ = std::min(selected_, total() > 0 ? total() - 1 : 0);
  selected_ = std::clamp(selected_, offset_, offset_ + rows_ - 1);
}

const Json& TopModel::field(const Json& row, std::string_view column) const {
  return field_of(data_, row, column);
}

double TopModel::rate(const Json& row, std::string_view column, std::string_view id) const {
  const Json &now = field(row, column), &who = field(row, id);
  const Json &at_now = at(data_, "at_ms"), &at_before = at(before_, "at_ms");
  if (!now.is_number() || !at_now.is_number() || !at_before.is_number()) return NAN;
  const double span = (at_now.get<double>() - at_before.get<double>()) / 1000;
  if (span <= 0) return NAN;
  for (const auto& r : list(before_, "rows")) {
    if (field_of(before_, r, id) != who) continue;
    const Json& then = field_of(before_, r, column);
    if (!then.is_number() || then.get<double>() > now.get<double>()) return NAN;
    return (now.get<double>() - then.get<double>()) / span;
  }
  return NAN;
}

}  // namespace weft::cli
