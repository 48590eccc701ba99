// What <netinet/in.h> of macOS has and this system's has not, lengths of addresses above all: see ../../README.md.
#pragma once
#define sockaddr_in6 weft_system_sockaddr_in6
#include_next <netinet/in.h>
#undef sockaddr_in6
#include <cstdint>
struct sockaddr_in6 {
  unsigned char sin6_len;
  unsigned char sin6_family;
  in_port_t sin6_port;
  std::uint32_t sin6_flowinfo;
  in6_addr sin6_addr;
  std::uint32_t sin6_scope_id;
};
#define IP_DONTFRAG 28
#define IP_BOUND_IF 25
#define IPV6_BOUND_IF 125
