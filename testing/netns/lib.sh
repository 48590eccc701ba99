# Helpers for tests with the real daemon in network namespaces. Source it; see README.md.
#
#   netns_begin PREFIX          checks the machine, makes a scratch folder ($SCRATCH), sets the clean-up trap
#   netns_add NAME...           namespaces PREFIX-NAME, loopback up
#   netns_link A B [MTU] [N]    veth pair between two (to-B in A, to-A in B): A has 10.77.N.1 and 2001:db8:77:N::1, B has .2 and ::2
#   in_ns NAME CMD...           runs a command there (in the background use `ip netns exec "$PREFIX-NAME" CMD &`: then $! is CMD)
#   node_config NAME [YAML]     writes $SCRATCH/NAME/weft.yaml; YAML is put behind the socket path
#   node_start NAME [ARG...]    starts weftd there with that file; waits for its control socket
#   node_stop NAME [SIGNAL]     ends it and waits; NODE_EXIT is its exit code
#   node_npub NAME, node_addr NAME     who it is (key made by the daemon at its first start)
#   node_keys NAME...           starts and stops each once, so that their keys exist
#   node_log NAME               path of its log
#   node_ask NAME COMMAND [PARAMS]     one control request (PARAMS: JSON object); prints the reply
#   dns_ask NAME HOST [SERVER]  AAAA of HOST from the responder; prints the address, or the rcode, or "no answer"
#   wait_ping A B [SECONDS]     until B's mesh address answers A
#   netns_end                   exit code of the script: 1 if a check failed
# check, wait_until, not, prints: testing/checks.sh.
set -u
. "$(dirname "${BASH_SOURCE[0]}")/../checks.sh"

: "${WEFTD:=build/release/daemon/weftd/weftd}"
NETNS_NAMES=()
declare -A NODE_PID=()

netns_begin() {
  PREFIX=$1-$$  # two runs of one test at a time are two sets of namespaces
  [ "$(id -u)" = 0 ] || { echo "skipped: needs root"; exit 77; }
  [ -c /dev/net/tun ] || { echo "skipped: no /dev/net/tun"; exit 77; }
  WEFTD=$(realpath "$WEFTD") || exit 1
  [ -x "$WEFTD" ] || { echo "no daemon at $WEFTD; set WEFTD"; exit 1; }
  SCRATCH=$(mktemp -d)
  CHECK_OUT=$SCRATCH/check.out
  trap netns_cleanup EXIT
  trap 'exit 1' INT TERM HUP
  local old pid
  for old in $(ip netns list | awk -v p="$1-" 'index($1, p) == 1 { print $1 }'); do
    pid=${old#"$1-"}
    [ -d "/proc/${pid%%-*}" ] || ip netns delete "$old"
  done
}

netns_cleanup() {
  local name pid
  for name in "${!NODE_PID[@]}"; do kill -KILL "${NODE_PID[$name]}" 2>/dev/null && wait "${NODE_PID[$name]}" 2>/dev/null; done
  for name in "${NETNS_NAMES[@]}"; do
    for pid in $(ip netns pids "$PREFIX-$name" 2>/dev/null); do kill -KILL "$pid" 2>/dev/null; done
    ip netns delete "$PREFIX-$name" 2>/dev/null
  done
  [ -n "${KEEP_SCRATCH:-}" ] && echo "kept $SCRATCH" || rm -rf "$SCRATCH"
}

netns_add() {
  local name
  for name in "$@"; do
    ip netns add "$PREFIX-$name" || exit 1
    NETNS_NAMES+=("$name")
    ip -n "$PREFIX-$name" link set lo up
    mkdir -p "$SCRATCH/$name"
  done
}

netns_link() {
  local a=$1 b=$2 mtu=${3:-1500} n=${4:-1}
  ip link add name "to-$b" netns "$PREFIX-$a" mtu "$mtu" type veth peer name "to-$a" netns "$PREFIX-$b" mtu "$mtu" || exit 1
  ip -n "$PREFIX-$a" addr add "10.77.$n.1/24" dev "to-$b"
  ip -n "$PREFIX-$b" addr add "10.77.$n.2/24" dev "to-$a"
  ip -n "$PREFIX-$a" addr add "2001:db8:77:$n::1/64" dev "to-$b" nodad
  ip -n "$PREFIX-$b" addr add "2001:db8:77:$n::2/64" dev "to-$a" nodad
  ip -n "$PREFIX-$a" link set "to-$b" up
  ip -n "$PREFIX-$b" link set "to-$a" up
}

in_ns() {
  local name=$1
  shift
  ip netns exec "$PREFIX-$name" "$@"
}

node_config() {
  local name=$1
  {
    printf 'node:\n  control: { socket_path: "%s/%s/control.sock" }\n' "$SCRATCH" "$name"
    printf '%s\n' "${2:-}"
  } > "$SCRATCH/$name/weft.yaml"
}

node_start() {
  local name=$1
  shift
  # Each of these becomes the next by exec, so that $! is the daemon itself.
  ip netns exec "$PREFIX-$name" env -u JOURNAL_STREAM -u NOTIFY_SOCKET STATE_DIRECTORY="$SCRATCH/$name" \
    "$WEFTD" --config "$SCRATCH/$name/weft.yaml" "$@" >> "$(node_log "$name")" 2>&1 &
  NODE_PID[$name]=$!
  wait_until 10 test -S "$SCRATCH/$name/control.sock" || { echo "$name does not start:"; cat "$(node_log "$name")"; return 1; }
}

node_stop() {
  local name=$1 signal=${2:-TERM}
  kill "-$signal" "${NODE_PID[$name]}" 2>/dev/null
  wait "${NODE_PID[$name]}"
  NODE_EXIT=$?
  unset "NODE_PID[$name]"
}

node_log() { echo "$SCRATCH/$1/log"; }
node_npub() { cat "$SCRATCH/$1/weft.pub"; }
node_addr() { awk '$0 ~ /npub1/ && match($0, / fd[0-9a-f:]+/) { print substr($0, RSTART + 1, RLENGTH - 1); exit }' "$(node_log "$1")"; }

node_keys() {
  local name
  for name in "$@"; do
    [ -f "$SCRATCH/$name/weft.yaml" ] || node_config "$name"
    node_start "$name" || exit 1
    node_stop "$name"
  done
}

node_ask() {
  python3 - "$SCRATCH/$1/control.sock" "$2" "${3:-}" <<'PY'
import json, socket, sys
s = socket.socket(socket.AF_UNIX)
s.settimeout(5)
s.connect(sys.argv[1])
request = {"command": sys.argv[2]}
if sys.argv[3]:
    request["params"] = json.loads(sys.argv[3])
s.sendall(json.dumps(request).encode() + b"\n")
reply = b""
while part := s.recv(65536):
    reply += part
sys.stdout.write(reply.decode())
PY
}

dns_ask() {
  in_ns "$1" python3 - "$2" "${3:-::1}" <<'PY'
import ipaddress, socket, sys
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
s.settimeout(1)
labels = b"".join(bytes([len(p)]) + p.encode() for p in sys.argv[1].split(".")) + b"\0"
s.sendto(b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0" + labels + b"\0\x1c\0\x01", (sys.argv[2], 5354))
try:
    reply = s.recv(2048)
except OSError:
    sys.exit("no answer")
answers = int.from_bytes(reply[6:8], "big")
print(ipaddress.ip_address(reply[-16:]) if answers else f"rcode {reply[3] & 15}")
PY
}

wait_ping() { wait_until "${3:-15}" in_ns "$1" ping -6 -c 1 -W 1 "$(node_addr "$2")"; }

netns_end() { exit "$failed"; }
