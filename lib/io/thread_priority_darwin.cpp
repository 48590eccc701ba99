#include "io/thread_priority.h"

namespace weft::io {

RaisedPriority::RaisedPriority(bool) {}
void RaisedPriority::end() {}

}  // namespace weft::io
