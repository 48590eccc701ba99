#include "config/tree.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

namespace weft::config {
namespace {

struct Refused {
  int line;  // from 0
  std::string problem;
};

/// A finished value and what a copy of it costs.
struct Built {
  Tree tree;
  std::size_t values = 1, bytes = 0, depth = 1;
};

class Builder final : public YAML::EventHandler {
 public:
  explicit Builder(std::string file) : file_(std::move(file)) {}
  Tree take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& m, YAML::anchor_t anchor) override {
    add(make(m, Tree::Kind::null), anchor, m);
  }
  void OnAlias(const YAML::Mark& m, YAML::anchor_t anchor) override {
    const auto it = anchors_.find(anchor);
    if (it == anchors_.end()) throw Refused{m.line, "alias of a value that is not complete"};
    spend(it->second.values, it->second.bytes, m);
    if (stack_.size() + it->second.depth > kMaxDepth) throw Refused{m.line, "nested too deeply"};
    place(Built(it->second), m);
  }
  void OnScalar(const YAML::Mark& m, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    Built b = make(m, Tree::Kind::scalar);
    b.tree.quoted = tag == "!" || tag == "tag:yaml.org,2002:str";
    b.tree.text = value;
    b.bytes = value.size();
    add(std::move(b), anchor, m);
  }
  void OnSequenceStart(const YAML::Mark& m, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(m, Tree::Kind::list, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& m, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(m, Tree::Kind::map, anchor);
  }
  void OnMapEnd() override {
    apply_merge_key(stack_.back());
    close();
  }

 private:
  struct Frame {
    Built built;
    YAML::anchor_t anchor = 0;
    YAML::Mark mark;
    bool has_key = false, key_quoted = false;
    std::string key;
    YAML::Mark key_mark;
    std::set<std::string> seen;
    std::vector<Tree> merges;
  };

  Built make(const YAML::Mark& m, Tree::Kind kind) const {
    Built b;
    b.tree.kind = kind;
    b.tree.place = {file_, static_cast<unsigned>(m.line) + 1};
    return b;
  }
  void spend(std::size_t values, std::size_t bytes, const YAML::Mark& m) {
    values_ += values;
    bytes_ += bytes;
    if (values_ > kMaxValues || bytes_ > kMaxExpanded)
      throw Refused{m.line, "too many values (aliases counted at every use)"};
  }
  void add(Built b, YAML::anchor_t anchor, const YAML::Mark& m) {
    spend(1, b.bytes, m);
    if (anchor != 0) anchors_[anchor] = b;
    place(std::move(b), m);
  }
  void open(const YAML::Mark& m, Tree::Kind kind, YAML::anchor_t anchor) {
    if (stack_.size() >= kMaxDepth) throw Refused{m.line, "nested too deeply"};
    if (!stack_.empty() && expects_key(stack_.back())) throw Refused{m.line, "a key must be plain text"};
    spend(1, 0, m);
    Frame f;
    f.built = make(m, kind);
    f.anchor = anchor;
    f.mark = m;
    stack_.push_back(std::move(f));
  }
  void close() {
    Frame f = std::move(stack_.back());
    stack_.pop_back();
    if (f.anchor != 0) {
      spend(f.built.values, f.built.bytes, f.mark);
      anchors_[f.anchor] = f.built;
    }
    place(std::move(f.built), f.mark);
  }
  static bool expects_key(const Frame& f) { return f.built.tree.kind == Tree::Kind::map && !f.has_key; }

  void place(Built b, const YAML::Mark& m) {
    if (stack_.empty()) {
      root_ = std::move(b.tree);
      return;
    }
    Frame& f = stack_.back();
    if (expects_key(f)) return take_key(f, b.tree, m);
    f.built.values += b.values;
    f.built.bytes += b.bytes;
    f.built.depth = std::max(f.built.depth, b.depth + 1);
    if (f.built.tree.kind == Tree::Kind::list) {
      f.built.tree.items.push_back(std::move(b.tree));
      return;
    }
    f.has_key = false;
    if (f.key == "<<" && !f.key_quoted) return take_merge(f, std::move(b.tree));
    const Place at{file_, static_cast<unsigned>(f.key_mark.line) + 1};
    f.built.tree.entries.push_back({std::move(f.key), at, std::move(b.tree)});
  }
  static void take_key(Frame& f, const Tree& key, const YAML::Mark& m) {
    if (key.kind != Tree::Kind::scalar) throw Refused{m.line, "a key must be plain text"};
    if (!f.seen.insert(key.text).second)
      throw Refused{m.line, "key written twice: " + key.text.substr(0, 64)};
    f.has_key = true;
    f.key = key.text;
    f.key_quoted = key.quoted;
    f.key_mark = m;
    f.built.bytes += key.text.size();
  }
  static void take_merge(Frame& f, Tree value) {
    std::vector<Tree> sources;
    if (value.kind == Tree::Kind::list) sources = std::move(value.items);
    else sources.push_back(std::move(value));
    for (Tree& t : sources) {
      if (t.kind != Tree::Kind::map)
        throw Refused{f.key_mark.line, "<< takes a mapping or a list of mappings"};
      f.merges.push_back(std::move(t));
    }
  }
  /// Keys written in the mapping itself win, then earlier sources.
  static void apply_merge_key(Frame& f) {
    for (Tree& source : f.merges)
      for (auto& entry : source.entries)
        if (f.seen.insert(entry.key).second) f.built.tree.entries.push_back(std::move(entry));
  }

  std::string file_;
  Tree root_;
  std::vector<Frame> stack_;
  std::map<YAML::anchor_t, Built> anchors_;
  std::size_t values_ = 0, bytes_ = 0;
};

/// The first line (from 0) with a byte that YAML text may not hold, or -1.
int bad_line(std::string_view text) {
  int line = 0;
  for (std::size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c == '\n') ++line;
    if ((c < 0x20 && c != '\n' && c != '\r' && c != '\t') || c == 0x7F) return line;
    const std::size_t n = c < 0x80                ? 1
                          : c >= 0xC2 && c < 0xE0 ? 2
                          : (c & 0xF0) == 0xE0    ? 3
                          : (c & 0xF8) == 0xF0    ? 4
                                                  : 0;
    if (n == 0 || n > text.size() - i) return line;
    for (std::size_t k = 1; k < n; ++k)
      if ((static_cast<unsigned char>(text[i + k]) & 0xC0) != 0x80) return line;
    i += n;
  }
  return -1;
}

Complaint refusal(const Source& file, int line, std::string problem) {
  Complaint c;
  c.place = {file.name, line < 0 ? 0U : static_cast<unsigned>(line) + 1};
  c.problem = std::move(problem);
  return c;
}

}  // namespace

Tree* Tree::find(std::string_view key) {
  const auto it = std::ranges::find_if(entries, [&](const Entry& e) { return e.key == key; });
  return it == entries.end() ? nullptr : &it->value;
}

Result<Tree, Complaint> parse_tree(const Source& file) {
  if (file.text.size() > kMaxText) return bad(refusal(file, -1, "larger than 1 MiB"));
  if (const int line = bad_line(file.text); line >= 0)
    return bad(refusal(file, line, "not text: a control character, or not UTF-8"));
  try {
    // yaml-cpp takes the end of the text for the end of an open quote; a document's end inside one it
    // refuses.
    std::istringstream in(file.text + "\n...\n");
    YAML::Parser parser(in);
    Builder first(file.name);
    if (!parser.HandleNextDocument(first)) return Tree{};
    Builder second(file.name);
    if (parser.HandleNextDocument(second))
      return bad(refusal(file, static_cast<int>(second.take().place.line) - 1, "a second YAML document"));
    return first.take();
  } catch (const Refused& r) {
    return bad(refusal(file, r.line, r.problem));
  } catch (const YAML::Exception& e) {
    if (e.msg != YAML::ErrorMsg::DOC_IN_SCALAR)
      return bad(refusal(file, e.mark.line, "not valid YAML: " + e.msg));
    // yaml-cpp names the end; the last quotation mark is the likely beginning.
    const auto last = std::string_view(file.text).find_last_of("\"'");
    const auto line =
        std::count(file.text.begin(), file.text.begin() + static_cast<std::ptrdiff_t>(last + 1), '\n');
    return bad(refusal(file, static_cast<int>(line), "not valid YAML: a quote is not closed"));
  }
}

namespace {

void lay_over(Tree& base, Tree over, const std::string& path) {
  if (over.kind == Tree::Kind::null) return;
  const bool instance_list = path.rfind("transports.", 0) == 0 && path.find('.', 11) == std::string::npos;
  const bool changes_form =
      instance_list && is_named_form(path.substr(11), base) != is_named_form(path.substr(11), over);
  if (base.kind != Tree::Kind::map || over.kind != Tree::Kind::map || changes_form) {
    base = std::move(over);
    return;
  }
  base.place = over.place;
  std::map<std::string, std::size_t> index;
  for (std::size_t i = 0; i < base.entries.size(); ++i) index.emplace(base.entries[i].key, i);
  for (auto& entry : over.entries) {
    const auto it = index.find(entry.key);
    if (it == index.end()) {
      base.entries.push_back(std::move(entry));
      continue;
    }
    auto& mine = base.entries[it->second];
    if (entry.value.kind != Tree::Kind::null) mine.place = entry.place;
    lay_over(mine.value, std::move(entry.value), path.empty() ? entry.key : path + "." + entry.key);
  }
}

}  // namespace

void merge_tree(Tree& base, Tree over) { lay_over(base, std::move(over), ""); }

bool is_named_form(std::string_view type, const Tree& t) {
  if (t.kind != Tree::Kind::map || t.entries.empty()) return false;
  const bool all_maps =
      std::ranges::all_of(t.entries, [](const auto& e) { return e.value.kind == Tree::Kind::map; });
  if (!all_maps) return false;
  // The one instance key that takes a mapping; a mapping under any other known key can only be an instance's
  // name.
  return !(type == "tor" && t.entries.size() == 1 && t.entries[0].key == "directory_service");
}

}  // namespace weft::config
