/// Why something could not be set up: the system's number, and a sentence that says what to do about it.
#pragma once

#include <string>

#include "base/result.h"

namespace weft::io {

struct Failure {
  int code = 0;  // errno, or 0 when the refusal is ours
  std::string text;
};

/// "WHAT: the system's words for `code`" and, when given, "; REMEDY".
Failure os_failure(int code, std::string what, std::string_view remedy = {});

}  // namespace weft::io
