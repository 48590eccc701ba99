/// The known-answer files beside this header, for any *_test.cpp.
///
/// Errors  a missing or broken file throws: the test fails.
#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "base/bytes.h"
#include "base/ids.h"

namespace weft::vectors {

/// `load("mesh.json")`
inline nlohmann::json load(const std::string& name) {
  std::ifstream in(std::string(WEFT_SOURCE_DIR "/testing/vectors/") + name);
  if (!in) throw std::runtime_error("no vector file " + name);
  return nlohmann::json::parse(in);
}

/// The bytes that a hex string of a vector spells.
inline Buffer bytes(const nlohmann::json& hex) {
  const auto text = hex.get<std::string>();
  Buffer out(text.size() / 2);
  if (!from_hex(text, out)) throw std::runtime_error("not hex: " + text);
  return out;
}

/// `hex` as an id of N bytes, e.g. `id<NodeAddr>(v["node_addr"])`.
template <class Id>
Id id(const nlohmann::json& hex) {
  const Buffer b = bytes(hex);
  Id out;
  if (b.size() != out.bytes.size()) throw std::runtime_error("wrong length: " + hex.get<std::string>());
  return Id::from(b);
}

/// The file's node(v): first byte v, the rest zero.
inline NodeAddr node(unsigned v) {
  NodeAddr a;
  a.bytes[0] = static_cast<std::uint8_t>(v);
  return a;
}
/// The same from its text, "node(170)".
inline NodeAddr node(const std::string& text) {
  if (!text.starts_with("node(")) throw std::runtime_error("not a node: " + text);
  return node(static_cast<unsigned>(std::stoul(text.substr(5))));
}

}  // namespace weft::vectors
