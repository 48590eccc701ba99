#!/bin/bash
# The mesh-side firewall between two real nodes: closed by default, opened by file and by command, and never in the way of
# other tables. The commands of docs/howto/firewall.md are run here.
. "$(dirname "$0")/lib.sh"
command -v nft > /dev/null || { echo "skipped: needs nft"; exit 77; }
netns_begin wd-fw
WEFT=${WEFT:-$(dirname "$(dirname "$WEFTD")")/weft/weft}
netns_add a b c
netns_link a b
netns_link b c 1500 2
node_config a
node_config b
node_config c
node_keys a b c
peer() { printf '  - { npub: %s, alias: %s, addresses: [ { transport: udp, addr: "%s" } ] }\n' "$(node_npub "$1")" "$1" "$2"; }
node_config a "peers: [ { npub: $(node_npub b), alias: b, addresses: [ { transport: udp, addr: '10.77.1.2:2121' } ] } ]
weft: { firewall: { allow: [ tcp/8001, { port: udp/5000-5010, from: c } ] } }"
node_config b
node_config c "peers:
$(peer b 10.77.2.1:2121)"
printf 'c %s\n' "$(node_npub c)" > "$SCRATCH/a/hosts"
printf "a %s\n" "$(node_npub a)" > "$SCRATCH/c/hosts"
w() { in_ns "$1" "$WEFT" -s "$SCRATCH/$1/control.sock" "${@:2}"; }

in_ns a nft 'add table inet other; add chain inet other c; add rule inet other c counter accept; add table inet weft; add chain inet weft left_by_a_crash'
other=$(in_ns a nft list table inet other)
node_start a
node_start b
node_start c
ip netns exec "$PREFIX-a" python3 - <<'PY' &
import select, socket
tcp = [socket.create_server(("::", p), family=socket.AF_INET6) for p in (8001, 8080)]
udp = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM); udp.bind(("::", 5005))
while True:
    for s in select.select(tcp + [udp], [], [])[0]:
        if s is udp:
            data, who = s.recvfrom(100); s.sendto(data, who)
        else:
            c, _ = s.accept(); c.sendall(b"hello\n"); c.close()
PY
SERVER=$!
ip netns exec "$PREFIX-b" python3 -c '
import socket
s = socket.create_server(("::", 9000), family=socket.AF_INET6)
while True: s.accept()[0].close()' &
SERVER_B=$!
trap 'kill $SERVER $SERVER_B 2> /dev/null; netns_cleanup' EXIT
check "the nodes reach each other" wait_ping c a
check "ping comes in" in_ns b ping -6 -c 3 -i 0.2 -W 2 "$(node_addr a)"
A=$(node_addr a)
tcp() { in_ns "$1" python3 -c 'import socket, sys
socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=float(sys.argv[3])).close()' "${4:-$A}" "$2" "${3:-1}"; }
udp() { in_ns "$1" python3 -c 'import socket, sys
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM); s.settimeout(1)
s.sendto(b"x", (sys.argv[1], int(sys.argv[2]))); s.recv(10)' "$A" "$2"; }

# ---- closed by default, opened by the file -----------------------------------------------------------------------------
check "what a crash left was replaced" not grep -q left_by_a_crash <(in_ns a nft list table inet weft)
check "a listening port is closed" not tcp b 8080
check "a port in the file is open" tcp b 8001 5
check "a port for one node is open for it" udp c 5005
check "and closed for others" not udp b 5005
check "answers come in" tcp a 9000 5 "$(node_addr b)"
check "the machine reaches itself" tcp a 8080 5
check "the node without a weft section is open" tcp a 9000 5 "$(node_addr b)"
status_says() { w "$1" status | grep -q -- "$2"; }
check "status: what is reachable" status_says a 'firewall *on: mesh peers reach tcp/8001, udp/5000-5010 from c; ping'
check "status: off, in one line" status_says b 'firewall *off: mesh peers reach every open port here'
check "status: and why" status_says b 'the file has no `weft` section'
check "refused packets are counted" grep -q 'firewalled' <(w a drops)

# ---- opened and closed by command --------------------------------------------------------------------------------------
check "weft allow" grep -q 'tcp/8080 is open for every node of the mesh, also after a restart' <(w a allow tcp/8080)
check "opens a port" tcp b 8080 5
check "weft allow --list" grep -q 'tcp/8080.*open.*everybody.*yes.*weft allow' <(w a allow --list)
node_stop a
check "stopped: the table is gone" not in_ns a nft list table inet weft
node_start a
check "a restart keeps it" wait_until 15 tcp b 8080 1
check "weft deny closes it" grep -q 'tcp/8080 is closed again' <(w a deny tcp/8080)
check "closed" not tcp b 8080
w a allow tcp/8080 --from c > /dev/null
check "weft allow --from: for that node" wait_until 60 tcp c 8080 2
check "and for no other" not tcp b 8080
w a deny tcp/8080 > /dev/null
w a allow tcp/8080 --for 6s > /dev/null
check "weft allow --for: open" tcp b 8080 5
check "and closed after it" wait_until 15 not tcp b 8080 0.3
w a deny tcp/8001 > /dev/null
check "weft deny closes what the file opens" not tcp b 8001
w a allow tcp/8001 > /dev/null
check "and weft allow takes that back" tcp b 8001 5
check "no such port: says what one looks like" grep -q 'tcp/22, udp/5000-5010' <(w a allow ssh 2>&1)
check "no such node: says so" grep -q 'neither an npub nor a name' <(w a allow tcp/1 --from nobody 2>&1)

# ---- reloads -----------------------------------------------------------------------------------------------------------
cp "$SCRATCH/a/weft.yaml" "$SCRATCH/a/good.yaml"
sed 's|tcp/8001|tcp/8001, tcp/8080|' "$SCRATCH/a/good.yaml" > "$SCRATCH/a/weft.yaml"
kill -HUP "${NODE_PID[a]}"
check "a reload opens" wait_until 5 tcp b 8080 1
sed 's|tcp/8001|tcp/80o1|' "$SCRATCH/a/good.yaml" > "$SCRATCH/a/weft.yaml"
kill -HUP "${NODE_PID[a]}"
check "a wrong rule is refused with its line" wait_until 5 grep -q 'weft.yaml:4: error: weft.firewall.allow.0.: not a port' "$(node_log a)"
check "and what was open stays open" tcp b 8080 5
sed 's|firewall: {|firewall: { enabled: false,|' "$SCRATCH/a/good.yaml" > "$SCRATCH/a/weft.yaml"
kill -HUP "${NODE_PID[a]}"
check "a reload turns it off" wait_until 5 not in_ns a nft list table inet weft
check "status says so" status_says a 'weft.firewall.enabled: false'
cp "$SCRATCH/a/good.yaml" "$SCRATCH/a/weft.yaml"
kill -HUP "${NODE_PID[a]}"
check "and on again" wait_until 5 in_ns a nft list table inet weft
check "closed again" not tcp b 8080
sed -i '/^c /d' "$SCRATCH/a/hosts"
check "a name that goes takes its opening along" wait_until 5 not udp c 5005
printf 'c %s\n' "$(node_npub c)" > "$SCRATCH/a/hosts"
check "and brings it back" wait_until 5 udp c 5005

# ---- neighbours in the packet filter, and ends -------------------------------------------------------------------------
check "other tables are as they were" test "$other" = "$(in_ns a nft list table inet other)"
in_ns a nft flush ruleset
check "another program's flush does not open it" not tcp b 8080
kill -KILL "${NODE_PID[a]}"
wait "${NODE_PID[a]}" 2> /dev/null
node_start a
check "after kill -9 it is closed" wait_ping b a
check "closed" not tcp b 8080
check "and open where it was" tcp b 8001 5
node_stop a
check "ends with 0" test "$NODE_EXIT" = 0
check "nothing of ours is left" not grep -q weft <(in_ns a nft list tables)

mkfifo "$SCRATCH/nft"
ip netns exec "$PREFIX-a" nft -i < "$SCRATCH/nft" > /dev/null 2>&1 &
exec 9> "$SCRATCH/nft"
echo 'add table inet weft { flags owner; }' >&9
check "(the table has another owner)" wait_until 5 in_ns a nft list table inet weft
in_ns a env STATE_DIRECTORY="$SCRATCH/a" timeout 10 "$WEFTD" -c "$SCRATCH/a/weft.yaml" > "$SCRATCH/out" 2>&1
check "cannot be loaded: weftd does not start" test $? = 1
check "and says why" grep -q 'another program owns the table' "$SCRATCH/out"
check "and leaves no interface" not in_ns a ip link show weft0
exec 9>&-
netns_end
