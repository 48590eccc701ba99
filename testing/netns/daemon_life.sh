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
# With a /run and an /etc/weft of its own, so that a weft of this machine is neither seen nor disturbed.
bare() { cd "$SCRATCH/empty" && exec ip netns exec "$PREFIX-a" env -i PATH="$PATH" HOME="$SCRATCH/empty" \
           STATE_DIRECTORY="$SCRATCH/state" unshare -m sh -c \
           'mount -t tmpfs tmpfs /run && { [ ! -d /etc/weft ] || mount -t tmpfs tmpfs /etc/weft; } && exec "$0"' "$WEFTD"; }
bare > "$SCRATCH/bare.log" 2>&1 &
NODE_PID[bare]=$!
bare_run=/proc/$!/root/run
check "no file: the interface is there" wait_until 10 in_ns a ip link show weft0
for table in udp udp6; do
  check "no file: UDP 2121 is open for IPv4 and IPv6 ($table)" wait_until 5 prints ':0849 ' in_ns a cat /proc/net/$table
done
check "no file: names are answered" wait_until 5 prints ::1 in_ns a ss -Huln sport = :5354
check "no file: the control socket is in /run/weft" wait_until 5 test -S "$bare_run/weft/control.sock"
node_stop bare
check "no file: ends with 0" test "$NODE_EXIT" = 0
check "no file: the key was kept" test -s "$SCRATCH/state/weft.key"

# ---- a peer by a name that only the system can resolve: link-local with an interface name ------------------------------
lladdr=$(in_ns b ip -6 -o addr show dev to-a scope link | awk '{ sub("/.*", "", $4); print $4 }')
b_peer() { printf '%s\n' "peers:" "  - { npub: $(node_npub b), alias: bee, addresses: [ { transport: udp, addr: '[$lladdr%to-b]:2121' } ] }"; }
node_config a "$(b_peer)"
wait_until 5 not prints tentative in_ns b ip -6 addr show dev to-a
node_start a
node_start b
check "link-local peer with an interface name" wait_ping a b

# ---- privileges and watchdog -------------------------------------------------------------------------------------------
# Every thread has at most CAP_NET_ADMIN (bit 12) of root's powers, and no way back to them.
capabilities() { grep -h "^$2:" /proc/"${NODE_PID[$1]}"/task/*/status | awk '{ print $2 }' | sort -u | tr '\n' ' '; }
check "threads have CAP_NET_ADMIN or nothing" test "$(capabilities a CapEff)" = "0000000000000000 0000000000001000 "
check "and cannot take more back" test "$(capabilities a CapPrm)" = "0000000000000000 0000000000001000 "
check "no thread gains privileges by what it runs" test "$(capabilities a NoNewPrivs)" = "1 "
node_stop a
check "it still could remove what it made" not grep -q fd00 <(in_ns a ip -6 rule; in_ns a ip -6 route)
check "and its socket" not test -e "$SCRATCH/a/control.sock"

# A service manager's ear: writes each message that comes, with the second since its start.
python3 - "$SCRATCH/notify" > "$SCRATCH/notify.log" <<'PY' &
import socket, sys, time
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.bind(sys.argv[1])
while True: print(s.recv(4096).decode().replace("\n", " "), flush=True)
PY
EAR=$!
wait_until 5 test -S "$SCRATCH/notify"
ip netns exec "$PREFIX-a" env -u JOURNAL_STREAM NOTIFY_SOCKET="$SCRATCH/notify" WATCHDOG_USEC=4000000 STATE_DIRECTORY="$SCRATCH/a" \
  "$WEFTD" --config "$SCRATCH/a/weft.yaml" >> "$(node_log a)" 2>&1 &
NODE_PID[a]=$!
check "ready is said" wait_until 5 grep -q '^READY=1' "$SCRATCH/notify.log"
pings() { grep -c '^WATCHDOG=1' "$SCRATCH/notify.log"; }
more_pings() { [ "$(pings)" -gt "$1" ]; }
check "and then, that it is alive" wait_until 5 more_pings 2
python3 testing/netns/freeze_thread.py "${NODE_PID[a]}" weft-dec-0,weft-work-0 60 > "$SCRATCH/freeze.log" 2>&1 &
FROZEN=$!
check "one worker made to hang" wait_until 5 grep -q "stands still" "$SCRATCH/freeze.log"
check "the log names it" wait_until 20 grep -q 'worker weft-[a-z]*-0 does not move' "$(node_log a)"
before=$(pings)
sleep 2
check "and the service manager hears nothing more" test "$(pings)" = "$before"
kill $FROZEN  # without whoever holds it, the thread goes on
wait $FROZEN 2> /dev/null
check "until it moves again" wait_until 5 more_pings "$before"
kill -STOP "${NODE_PID[a]}"
before=$(pings)
sleep 2
check "a stopped process says nothing either" test "$(pings)" = "$before"
kill -CONT "${NODE_PID[a]}"
node_stop a
check "the end is announced" grep -q '^STOPPING=1' "$SCRATCH/notify.log"
kill $EAR
wait $EAR 2> /dev/null
node_start a
check "back again after that" wait_ping a b

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
check "80 idle connections end by themselves" wait_until 15 prints '"status":"ok"' node_ask a show_status
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
check "and a new start takes it over" wait_until 5 prints '"status":"ok"' node_ask a show_status
check "and reaches its peer again" wait_ping a b
in_ns a ip link delete weft0
wait "${NODE_PID[a]}"
check "the interface taken away: ends with 1" test $? = 1
unset "NODE_PID[a]"
check "and says why" grep -q 'interface weft0 was taken away' "$(node_log a)"
for after in 0.005 0.02 0.05 0.1; do
  ip netns exec "$PREFIX-a" env STATE_DIRECTORY="$SCRATCH/a" "$WEFTD" -c "$SCRATCH/a/weft.yaml" > "$SCRATCH/early.log" 2>&1 &
  EARLY=$!
  # Until it is somebody else: a copy of this shell would take the signal for its own, and clean up.
  while [ "$(cat /proc/$EARLY/comm)" = "$(cat /proc/$$/comm)" ]; do :; done
  sleep $after
  kill -TERM $EARLY
  wait $EARLY 2> /dev/null
  check "a signal after $after s leaves nothing" not grep -q fd00 <(in_ns a ip -6 rule; in_ns a ip -6 route)
done
node_stop b
check "b ends with 0" test "$NODE_EXIT" = 0
netns_end
