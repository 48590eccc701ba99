// Stand-in for <netinet6/in6_var.h> and <netinet6/nd6.h>: see ../../README.md.
#pragma once
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <cstdint>
#include <ctime>
struct in6_addrlifetime {
  std::time_t ia6t_expire;
  std::time_t ia6t_preferred;
  std::uint32_t ia6t_vltime;
  std::uint32_t ia6t_pltime;
};
struct in6_aliasreq {
  char ifra_name[16];
  sockaddr_in6 ifra_addr;
  sockaddr_in6 ifra_dstaddr;
  sockaddr_in6 ifra_prefixmask;
  int ifra_flags;
  in6_addrlifetime ifra_lifetime;
};
#define IN6_IFF_NODAD 0x0020
#define ND6_INFINITE_LIFETIME 0xffffffff
#define SIOCAIFADDR_IN6 _IOW('i', 26, struct in6_aliasreq)
