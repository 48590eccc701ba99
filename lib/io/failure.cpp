#include "io/failure.h"

#include <system_error>

namespace weft::io {

Failure os_failure(int code, std::string what, std::string_view remedy) {
  Failure f{code, std::move(what)};
  if (code != 0) f.text += ": " + std::generic_category().message(code);
  if (!remedy.empty()) f.text.append("; ").append(remedy);
  return f;
}

}  // namespace weft::io
