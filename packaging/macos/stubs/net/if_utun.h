// Stand-in for <net/if_utun.h>: see ../../README.md.
#pragma once
#define UTUN_CONTROL_NAME "com.apple.net.utun_control"
#define UTUN_OPT_IFNAME 2
