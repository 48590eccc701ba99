#include <cap-ng.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "io/privileges.h"

namespace weft::io {
namespace {

constexpr unsigned kFileCapabilities[] = {CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER, CAP_CHOWN};

bool may(unsigned capability) { return capng_have_capability(CAPNG_PERMITTED, capability) != 0; }

/// As the plain user that is left when root's powers over files are gone.
bool reaches(const std::string& folder) {
  return faccessat(AT_FDCWD, folder.c_str(), R_OK | W_OK | X_OK, AT_EACCESS) == 0 || errno != EACCES;
}

bool reaches_all_without_powers(const std::vector<std::string>& folders) {
  for (const auto c : kFileCapabilities) capng_update(CAPNG_DROP, CAPNG_EFFECTIVE, c);
  if (capng_apply(CAPNG_SELECT_CAPS) != 0) return false;
  return std::ranges::all_of(folders, reaches);
}

std::string words(const std::vector<unsigned>& capabilities) {
  if (capabilities.empty()) return "no capabilities";
  std::string out = "capabilities";
  for (std::size_t i = 0; i < capabilities.size(); ++i)
    out += (i == 0 ? " " : ", ") + std::string(capng_capability_to_name(capabilities[i]));
  return out;
}

}  // namespace

Result<std::string, Failure> limit_privileges(const Needs& needs) {
  capng_clear(CAPNG_SELECT_ALL);
  if (capng_get_caps_process() != 0) return bad(os_failure(errno, "reading this process's capabilities"));
  std::vector<unsigned> keep;
  if (needs.net_admin && may(CAP_NET_ADMIN)) keep.push_back(CAP_NET_ADMIN);
  if (needs.net_raw && may(CAP_NET_RAW)) keep.push_back(CAP_NET_RAW);
  if (needs.low_ports && may(CAP_NET_BIND_SERVICE)) keep.push_back(CAP_NET_BIND_SERVICE);
  const bool may_bound = may(CAP_SETPCAP);
  if (may(CAP_DAC_OVERRIDE) && !reaches_all_without_powers(needs.folders)) keep.push_back(CAP_DAC_OVERRIDE);

  capng_clear(CAPNG_SELECT_ALL);
  auto sets = static_cast<unsigned>(CAPNG_EFFECTIVE) | CAPNG_PERMITTED;
  if (may_bound) sets |= CAPNG_BOUNDING_SET;
  for (const auto c : keep) capng_update(CAPNG_ADD, static_cast<capng_type_t>(sets), c);
  auto apply = static_cast<unsigned>(CAPNG_SELECT_CAPS) | CAPNG_SELECT_AMBIENT;
  if (may_bound) apply |= CAPNG_SELECT_BOUNDS;
  if (capng_apply(static_cast<capng_select_t>(apply)) != 0)
    return bad(os_failure(errno, "giving up capabilities"));
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return bad(os_failure(errno, "no_new_privs"));
  return words(keep);
}

void drop_thread_privileges() {
  capng_clear(CAPNG_SELECT_ALL);
  capng_apply(CAPNG_SELECT_CAPS);
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

}  // namespace weft::io
