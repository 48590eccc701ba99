"""Runs test functions one by one, says how each went, and closes with one line of counts."""
import os
import sys
import time
import traceback


class Skip(Exception):
    pass


TESTS = []


def test(fn=None, *, long=False):
    """Registers a test. `long`: only with --long."""
    def put(f):
        TESTS.append((f, long))
        return f
    return put(fn) if fn else put


def main(argv):
    if os.geteuid() != 0 or not os.path.exists("/dev/net/tun"):
        print("skipped: these tests make network namespaces, and need root and /dev/net/tun")
        print("0 passed, 0 failed, 1 skipped")
        return 0
    long_tier = "--long" in argv
    names = [a for a in argv if not a.startswith("-")]
    passed = failed = skipped = 0
    for fn, is_long in TESTS:
        if names and not any(n in fn.__name__ for n in names):
            continue
        if is_long and not long_tier and not names:
            continue
        start = time.monotonic()
        print(f"[ RUN  ] {fn.__name__}", flush=True)
        try:
            note = fn()
            passed += 1
            word = "  OK  "
        except Skip as s:
            note, word = str(s), " SKIP "
            skipped += 1
        except Exception:
            traceback.print_exc(file=sys.stdout)
            note, word = "", " FAIL "
            failed += 1
        print(f"[{word}] {fn.__name__} ({time.monotonic() - start:.1f} s){': ' + note if note else ''}", flush=True)
    print(f"{passed} passed, {failed} failed, {skipped} skipped", flush=True)
    return 1 if failed else 0
