// What <sys/socket.h> of macOS has and this system's has not: see ../../README.md.
#pragma once
#include_next <sys/socket.h>
#define AF_SYSTEM 32
#define PF_SYSTEM AF_SYSTEM
#define AF_LINK 18
#define SO_NOSIGPIPE 0x1022
