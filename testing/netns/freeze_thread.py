"""Stops one thread of a process for some seconds, as if it hung: freeze_thread.py PID NAME SECONDS.

NAME is the thread's name as in /proc/PID/task/*/comm, or several with commas: the first that there is. Prints one line when it stands still.
"""
import ctypes
import os
import sys
import time

PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_DETACH = 0x4206, 0x4207, 17
WALL = 0x40000000


def main() -> int:
    pid, names, seconds = int(sys.argv[1]), sys.argv[2].split(","), float(sys.argv[3])
    threads = {}
    for tid in map(int, os.listdir(f"/proc/{pid}/task")):
        with open(f"/proc/{pid}/task/{tid}/comm") as f:
            threads[f.read().strip()] = tid
    name = next((n for n in names if n in threads), None)
    if name is None:
        print(f"process {pid} has none of these threads: {sys.argv[2]}", file=sys.stderr)
        return 1
    tid = threads[name]
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    for request in (PTRACE_SEIZE, PTRACE_INTERRUPT):
        if libc.ptrace(request, tid, None, None) != 0:
            print(f"ptrace: {os.strerror(ctypes.get_errno())}", file=sys.stderr)
            return 1
    os.waitpid(tid, WALL)
    print(f"thread {name} stands still", flush=True)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if os.waitpid(tid, WALL | os.WNOHANG)[0] == tid:  # it was killed; its process ends only when we know
            return 0
        time.sleep(0.1)
    libc.ptrace(PTRACE_DETACH, tid, None, None)
    return 0


if __name__ == "__main__":
    sys.exit(main())
