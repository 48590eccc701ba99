// Stand-in for <net/route.h> and the messages of <net/if.h>: see ../../README.md.
#pragma once
#include <sys/types.h>
#include <cstdint>
struct rt_metrics {
  std::uint32_t rmx_locks, rmx_mtu, rmx_hopcount;
  std::int32_t rmx_expire;
  std::uint32_t rmx_recvpipe, rmx_sendpipe, rmx_ssthresh, rmx_rtt, rmx_rttvar, rmx_pksent, rmx_state, rmx_filler[3];
};
struct rt_msghdr {
  unsigned short rtm_msglen;
  unsigned char rtm_version;
  unsigned char rtm_type;
  unsigned short rtm_index;
  int rtm_flags;
  int rtm_addrs;
  pid_t rtm_pid;
  int rtm_seq;
  int rtm_errno;
  int rtm_use;
  std::uint32_t rtm_inits;
  rt_metrics rtm_rmx;
};
struct if_msghdr {
  unsigned short ifm_msglen;
  unsigned char ifm_version;
  unsigned char ifm_type;
  int ifm_addrs;
  int ifm_flags;
  unsigned short ifm_index;
};
struct ifa_msghdr {
  unsigned short ifam_msglen;
  unsigned char ifam_version;
  unsigned char ifam_type;
  int ifam_addrs;
  int ifam_flags;
  unsigned short ifam_index;
  int ifam_metric;
};
#define RTM_VERSION 5
#define RTM_ADD 0x1
#define RTM_DELETE 0x2
#define RTM_CHANGE 0x3
#define RTM_NEWADDR 0xc
#define RTM_DELADDR 0xd
#define RTM_IFINFO 0xe
#define RTF_UP 0x1
#define RTF_STATIC 0x800
#define RTA_DST 0x1
#define RTA_GATEWAY 0x2
#define RTA_NETMASK 0x4
