#!/bin/bash
# Everything that can be wrong at the start: one clear message, the right exit code, and nothing left behind.
. "$(dirname "$0")/lib.sh"
netns_begin wd-err
netns_add a
node_config a
node_keys a

# try TEXT CODE WORDS ARG...: runs the daemon in the namespace of a and expects CODE and WORDS on standard error
try() {
  local text=$1 code=$2 words=$3 got
  shift 3
  in_ns a env -u JOURNAL_STREAM "STATE_DIRECTORY=${STATE:-$SCRATCH/a}" ${WRAP:-} timeout 10 "$WEFTD" "$@" > "$SCRATCH/out" 2>&1
  got=$?
  check "$text: exit code $code" test "$got" = "$code"
  check "$text: says \"$words\"" grep -qF -- "$words" "$SCRATCH/out" || cat "$SCRATCH/out"
  check "$text: leaves nothing" nothing_left
}
nothing_left() {
  ! in_ns a ip link show weft0 && ! in_ns a ip -6 rule | grep fd00 && ! in_ns a ip -6 route | grep fd00 &&
    [ ! -e "$SCRATCH/a/control.sock" ]
}
config() { printf '%s\n' "node: { control: { socket_path: '$SCRATCH/a/control.sock' } }" "$@" > "$SCRATCH/a/try.yaml"; }
C=$SCRATCH/a/try.yaml

try "no such option" 2 "--nonsense" --nonsense
try "no such file" 1 "$SCRATCH/none.yaml" -c "$SCRATCH/none.yaml"
printf 'node: { limits: [\n' > "$C"
try "broken YAML" 1 "try.yaml:" -c "$C"
config "tun: { mtu: 300 }"
try "a value out of range" 1 "try.yaml:2: error: tun.mtu" -c "$C"
try "the same with --check" 1 "try.yaml:2: error: tun.mtu" --check -c "$C"
config "transports: { udp: { bind_addres: '0.0.0.0:1' } }"
try "an unknown key of a transport" 1 "did you mean bind_addr" -c "$C"
config
try "a good file with --check" 0 "configuration ok" --check -c "$C"
config "transports: { tcp: {} }"
try "no transport that exists" 1 "no udp instance" -c "$C"
config "transports: { udp: { bind_addr: '192.0.2.77:2121' } }"
try "an address of nobody" 1 "no interface of this machine has that address" -c "$C"

config
ip netns exec "$PREFIX-a" python3 -c 'import socket, time
s = [socket.socket(f, socket.SOCK_DGRAM) for f in (socket.AF_INET, socket.AF_INET6)]
s[1].setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
s[0].bind(("0.0.0.0", 2121)); s[1].bind(("::", 2121)); time.sleep(60)' &
HOLDER=$!
wait_until 5 grep -q 0849 <(in_ns a cat /proc/net/udp)
try "port taken" 1 "holds this port" -c "$C"
kill "$HOLDER"
wait "$HOLDER" 2> /dev/null

config "tun: { name: much-too-long-a-name }"
try "interface name too long" 1 "1 to 15" -c "$C"
in_ns a ip link add weft0 type veth peer name other
config
in_ns a env STATE_DIRECTORY="$SCRATCH/a" timeout 10 "$WEFTD" -c "$C" > "$SCRATCH/out" 2>&1
check "name taken by another kind: exit code 1" test $? = 1
check "name taken by another kind: says so" grep -qF "is no TUN interface" "$SCRATCH/out"
check "name taken by another kind: it is still there" in_ns a ip link show weft0
in_ns a ip link delete weft0
in_ns a sysctl -qw net.ipv6.conf.all.disable_ipv6=1
config "transports: { udp: { bind_addr: '0.0.0.0:2121' } }"
try "IPv6 switched off" 1 "disable_ipv6=0" -c "$C"
in_ns a sysctl -qw net.ipv6.conf.all.disable_ipv6=0
config
WRAP="setpriv --bounding-set=-net_admin --inh-caps=-net_admin" \
  try "no CAP_NET_ADMIN" 1 "CAP_NET_ADMIN" -c "$C"
in_ns a unshare -m sh -c 'mount -t tmpfs tmpfs /dev/net && exec "$@"' sh env STATE_DIRECTORY="$SCRATCH/a" timeout 10 "$WEFTD" -c "$C" > "$SCRATCH/out" 2>&1
check "no /dev/net/tun: exit code 1" test $? = 1
check "no /dev/net/tun: says what to do" grep -qF "modprobe tun" "$SCRATCH/out"

mkdir "$SCRATCH/keys"
for kind in empty garbage folder; do
  rm -rf "$SCRATCH/keys/weft.key"
  case $kind in
    empty) : > "$SCRATCH/keys/weft.key" ;;
    garbage) echo nsec1nonsense > "$SCRATCH/keys/weft.key" ;;
    folder) mkdir "$SCRATCH/keys/weft.key" ;;
  esac
  mv "$SCRATCH/a/weft.key" "$SCRATCH/a/aside"
  STATE=$SCRATCH/keys try "key file: $kind" 1 "weft.key" -c "$C"
  mv "$SCRATCH/a/aside" "$SCRATCH/a/weft.key"
  check "key file: $kind: not replaced" not grep -q nsec1q "$SCRATCH/keys/weft.key"
done
netns_end
