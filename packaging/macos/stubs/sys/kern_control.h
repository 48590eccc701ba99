// Stand-in for <sys/kern_control.h>: see ../../README.md.
#pragma once
#include <sys/ioctl.h>
#include <cstdint>
struct ctl_info {
  std::uint32_t ctl_id;
  char ctl_name[96];
};
struct sockaddr_ctl {
  unsigned char sc_len;
  unsigned char sc_family;
  std::uint16_t ss_sysaddr;
  std::uint32_t sc_id;
  std::uint32_t sc_unit;
  std::uint32_t sc_reserved[5];
};
#define CTLIOCGINFO _IOWR('N', 3, struct ctl_info)
