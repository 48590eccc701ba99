/// A key made before the daemon's first start: weft.key and weft.pub in a folder, or on standard output.
#pragma once

#include <string>

#include "base/result.h"
#include "base/rng.h"

namespace weft::cli {

struct KeygenResult {
  std::string out;  // for standard output
  std::string err;  // for standard error
};
/// An existing key (a dangling link counts) is replaced only with `force`; a link is never written through.
/// Errors: a sentence.
Result<KeygenResult, std::string> keygen(const std::string& dir, bool force, Rng& rng);
/// The secret, then the npub, a line each; nothing is written.
KeygenResult keygen_to_stdout(Rng& rng);

}  // namespace weft::cli
