/// A probe's outcome as sentences: what was found, what it means, what to do.
///
/// Pure. The texts are for people and may change; scripts read verdict and reason.
#pragma once

#include <functional>

#include "probe/report.h"

namespace weft::probe {

struct Words {
  std::string text;                   // what is, or what is waited for
  std::vector<std::string> remedies;  // what to do, most likely first
};
using NameOf = std::function<std::string(const NodeAddr&)>;

Words words_of(const Report& r, Stage stage, const NameOf& name);
/// One sentence on the whole.
std::string conclusion_of(const Report& r);
/// "0.42 ms", "12 ms", "1.5 s".
std::string duration_text(Duration d);

}  // namespace weft::probe
