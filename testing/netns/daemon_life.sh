#!/bin/bash
# A daemon's life: no configuration at all, control socket, names, reloads, host names as peers, signals, crashes.
. "$(dirname "$0")/lib.sh"
netns_begin wd-life
netns_add a b
netns_link a b
node_config a
node_config b "dns: { bind_addr: '::' }"
node_keys a b

# ---- nothing configured ------------------------------------------------------------------------------------------------
mkdir -p "$SCRATCH/empty" "$SCRATCH/state" "$SCRATCH/run"
bare() { cd "$SCRATCH/empty" && exec ip netns exec "$PREFIX-a" env -i PATH="$PATH" HOME="$SCRATCH/empty" \
           STATE_DIRECTORY="$SCRATCH/state" "$WEFTD"; }
if [ -e /etc/weft/weft.yaml ] || [ -e /run/weft/control.sock ]; then
  echo "skipped no file at all: this machine has a weft of its own"
else
  bare > "$SCRATCH/bare.log" 2>&1 &
  NODE_PID[bare]=$!
  check "no file: the interface is there" wait_until 10 in_ns a ip link show weft0
  check "no file: UDP 2121 is open for IPv4 and IPv6" wait_until 5 test 2 = "$(in_ns a cat /proc/net/udp /proc/net/udp6 | grep -c ':0849 ' | sed 's/[2-9][0-9]*/2/')"
  check "no file: names are answered" wait_until 5 grep -qF ::1 <(in_ns a ss -Huln sport = :5354)
  check "no file: the control socket is in /run/weft" wait_until 5 test -S /run/weft/control.sock
  node_stop bare
  check "no file: ends with 0" test "$NODE_EXIT" = 0
  check "no file: the key was kept" test -s "$SCRATCH/state/weft.key"
  check "no file: the socket is gone" not test -e /run/weft/control.sock
fi

# ---- a peer by a name that only the system can resolve: link-local with an interface name ------------------------------
lladdr=$(in_ns b ip -6 -o addr show dev to-a scope link | awk '{ sub("/.*", "", $4); print $4 }')
b_peer() { printf '%s\n' "peers:" "  - { npub: $(node_npub b), alias: bee, addresses: [ { transport: udp, addr: '[$lladdr%to-b]:2121' } ] }"; }
node_config a "$(b_peer)"
wait_until 5 not grep -q tentative <(in_ns b ip -6 addr show dev to-a)
node_start a
node_start b
check "link-local peer with an interface name" wait_ping a b

# ---- names -------------------------------------------------------------------------------------------------------------
check "an alias resolves" test "$(dns_ask a bee.fips)" = "$(node_addr b)"
check "an npub resolves" test "$(dns_ask a "$(node_npub b).fips")" = "$(node_addr b)"
check "an unknown name does not" test "$(dns_ask a nobody.fips)" = "rcode 3"
check "the mesh side gets no answer" test "$(dns_ask a "$(node_npub a).fips" "$(node_addr b)" 2>&1)" = "no answer"
check "the local side does, on the mesh address too" test "$(dns_ask b "$(node_npub a).fips" "$(node_addr b)")" = "$(node_addr a)"
echo "cee $(node_npub b)" > "$SCRATCH/a/hosts"
resolves() { test "$(dns_ask a "$1.fips")" = "$(node_addr b)"; }
check "a new line of the hosts file counts soon" wait_until 8 resolves cee

# ---- control socket ----------------------------------------------------------------------------------------------------
check "show_status answers" grep -q '"status":"ok"' <(node_ask a show_status)
check "show_peers names the peer" grep -q "$(node_npub b)" <(node_ask a show_peers)
check "an unknown command is an error" grep -q '"status":"error"' <(node_ask a nonsense)
raw_ask() { python3 - "$SCRATCH/a/control.sock" "$1" 2> /dev/null <<'PY'
import socket, sys
kind = sys.argv[2]
s = socket.socket(socket.AF_UNIX); s.settimeout(8); s.connect(sys.argv[1])
try:
    if kind == "empty": s.shutdown(socket.SHUT_WR)
    elif kind == "large": s.sendall(b"x" * 5000)
    elif kind == "junk": s.sendall(bytes(range(256)) * 4 + b"\n")
    elif kind == "eof": s.sendall(b'{"command":"show_status"}'); s.shutdown(socket.SHUT_WR)
    elif kind == "split":
        for part in (b'{"comm', b'and":"show_', b'status"}\n'): s.sendall(part)
except BrokenPipeError: pass
out = b""
while part := s.recv(65536): out += part
print(out.decode()[:4000])
PY
}
check "connect and close: empty request" grep -q 'empty request' <(raw_ask empty)
check "more than 4096 bytes" grep -q 'request too large' <(raw_ask large)
check "binary junk" grep -q 'invalid request' <(raw_ask junk)
check "end of file instead of a newline" grep -q '"status":"ok"' <(raw_ask eof)
check "a line in pieces" grep -q '"status":"ok"' <(raw_ask split)
check "silence: read timeout" grep -q 'read timeout' <(raw_ask silence)
python3 - "$SCRATCH/a/control.sock" <<'PY' &
import socket, sys, time
held = []
for _ in range(80):
    s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); held.append(s)
time.sleep(20)
PY
HOLDER=$!
sleep 1
check "80 idle connections end by themselves" wait_until 10 grep -q '"status":"ok"' <(sleep 6; node_ask a show_status)
kill $HOLDER
wait $HOLDER 2> /dev/null
mode() { stat -c '%a' "$1"; }
check "the socket is for owner and group" test "$(mode "$SCRATCH/a/control.sock")" = 770
ip netns exec "$PREFIX-a" env STATE_DIRECTORY="$SCRATCH/state" "$WEFTD" -c "$SCRATCH/a/weft.yaml" > "$SCRATCH/second.log" 2>&1
check "a second daemon on the same port ends with 1" test $? = 1
check "and the first still answers" grep -q '"status":"ok"' <(node_ask a show_status)

# ---- reload ------------------------------------------------------------------------------------------------------------
cp "$SCRATCH/a/weft.yaml" "$SCRATCH/a/good.yaml"
echo 'node: { limits: { max_peers: minus } }' > "$SCRATCH/a/weft.yaml"
kill -HUP "${NODE_PID[a]}"
check "a wrong file is refused with its line" wait_until 5 grep -q 'weft.yaml:1: error: node.limits.max_peers' "$(node_log a)"
check "and the old one stays in force" resolves bee
sed 's/alias: bee/alias: dee/' "$SCRATCH/a/good.yaml" > "$SCRATCH/a/weft.yaml"
kill -HUP "${NODE_PID[a]}"
check "a new alias counts after a reload" wait_until 5 resolves dee
check "the link is still there" in_ns a ping -6 -c 1 -W 2 "$(node_addr b)"
check "a peer can be added at run time" grep -q '"status":"ok"' <(node_ask b peer_add "{\"npub\":\"$(node_npub a)\",\"address\":\"10.77.1.1:2121\",\"transport\":\"udp\"}")
check "and is kept in a file" wait_until 3 grep -q "$(node_npub a)" "$SCRATCH/b/peers.yaml"

# ---- ends --------------------------------------------------------------------------------------------------------------
node_stop a INT
check "SIGINT ends with 0" test "$NODE_EXIT" = 0
gone() { ! grep -q "$(node_npub a)" <(node_ask b show_peers); }
check "the peer heard the goodbye" wait_until 3 gone
node_start a
check "back again" wait_ping a b
kill -KILL "${NODE_PID[a]}"
wait "${NODE_PID[a]}" 2> /dev/null
check "a crash leaves its socket file" test -S "$SCRATCH/a/control.sock"
node_start a
check "and a new start takes it over" wait_until 5 grep -q '"status":"ok"' <(sleep 1; node_ask a show_status)
check "and reaches its peer again" wait_ping a b
in_ns a ip link delete weft0
wait "${NODE_PID[a]}"
check "the interface taken away: ends with 1" test $? = 1
unset "NODE_PID[a]"
check "and says why" grep -q 'interface weft0 was taken away' "$(node_log a)"
for after in 0.005 0.02 0.05 0.1; do
  ip netns exec "$PREFIX-a" env STATE_DIRECTORY="$SCRATCH/a" "$WEFTD" -c "$SCRATCH/a/weft.yaml" > "$SCRATCH/early.log" 2>&1 &
  EARLY=$!
  sleep $after
  kill -TERM $EARLY
  wait $EARLY 2> /dev/null
  check "a signal after $after s leaves nothing" not grep -q fd00 <(in_ns a ip -6 rule; in_ns a ip -6 route)
done
node_stop b
check "b ends with 0" test "$NODE_EXIT" = 0
netns_end
