// Stand-in for <sys/sys_domain.h>: see ../../README.md.
#pragma once
#include <cstdint>
#define SYSPROTO_CONTROL 2
#define AF_SYS_CONTROL 2
