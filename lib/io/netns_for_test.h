/// A network namespace for one test, empty but for a loopback interface that is up.
#pragma once

#include <gtest/gtest.h>
#include <sched.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "io/interface_setup.h"

namespace weft::io {

/// Empty when the calling thread is now in a fresh namespace, else the reason to skip.
inline std::string enter_fresh_netns() {
  if (unshare(CLONE_NEWNET) != 0)
    return std::string("needs root for a network namespace: ") + std::strerror(errno);
  const auto up = set_interface_up("lo", true);
  return up ? "" : up.error().text;
}

}  // namespace weft::io

#define WEFT_FRESH_NETNS() \
  if (const auto weft_why = weft::io::enter_fresh_netns(); !weft_why.empty()) GTEST_SKIP() << weft_why
