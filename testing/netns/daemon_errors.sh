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
config() { printf '%s\n' "node: { control: { socket_path: '$SCRATCH/a/control.sock' } }" "$@" > "$C"; }
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
printf 'node:\n  limits: { max_peers: many }\ntransports:\n  udp: { bind_adr: 1 }\n' > "$C"
try "two mistakes in one file" 1 "try.yaml:2" -c "$C"
for words in max_peers try.yaml:4 bind_adr bind_addr; do
  check "two mistakes in one file: says \"$words\" too" grep -qF "$words" "$SCRATCH/out"
done
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
wait_until 5 prints :0849 in_ns a cat /proc/net/udp6  # the second of the two
try "port taken" 1 "holds this port" -c "$C"
config "transports: { udp: { bind_addr: '0.0.0.0:2121' } }"
try "port of one address taken" 1 "2121" -c "$C"
kill "$HOLDER"
wait "$HOLDER" 2> /dev/null

config "tun: { name: much-too-long-a-name }"
try "interface name too long" 1 "1 to 15" -c "$C"
config
for kind in veth TAP; do
  case $kind in
    veth) in_ns a ip link add weft0 type veth peer name other ;;
    TAP) in_ns a ip tuntap add dev weft0 mode tap ;;
  esac
  in_ns a env STATE_DIRECTORY="$SCRATCH/a" timeout 10 "$WEFTD" -c "$C" > "$SCRATCH/out" 2>&1
  check "name taken by a $kind: exit code 1" test $? = 1
  check "name taken by a $kind: says so" grep -qF "is no TUN interface" "$SCRATCH/out"
  check "name taken by a $kind: says which" grep -qF weft0 "$SCRATCH/out"
  check "name taken by a $kind: it is still there" in_ns a ip link show weft0
  in_ns a ip link delete weft0
done
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

# ---- what is a warning: the daemon runs, and says it once ---------------------------------------------------------------
# runs TEXT WORDS ARG...: starts it like try, expects WORDS in its log and that it ends with 0 when asked
runs() {
  local text=$1 words=$2
  shift 2
  ip netns exec "$PREFIX-a" env -u JOURNAL_STREAM "STATE_DIRECTORY=${STATE:-$SCRATCH/a}" ${WRAP:-} "$WEFTD" "$@" > "$SCRATCH/out" 2>&1 &
  NODE_PID[run]=$!
  check "$text: says \"$words\"" wait_until 5 grep -qF -- "$words" "$SCRATCH/out" || cat "$SCRATCH/out"
  wait_until 5 grep -q "running as user" "$SCRATCH/out"
  node_stop run
  check "$text: runs, and ends with 0" test "$NODE_EXIT" = 0
  check "$text: leaves nothing" nothing_left
}
mkdir -m 755 "$SCRATCH/c"  # a folder without a key, so that the state folder's counts
C=$SCRATCH/c/try.yaml
config
mkdir -m 700 "$SCRATCH/ro"
wrapped() {  # COMMAND... with a mount of its own, made by the first argument
  local mount=$1
  shift
  printf '#!/bin/sh\nexec unshare -m sh -c '"'"'%s && exec "$@"'"'"' sh "$@"\n' "$mount" > "$SCRATCH/wrap"
  chmod +x "$SCRATCH/wrap"
}
wrapped "mount -t tmpfs -o ro tmpfs $SCRATCH/ro"
STATE=$SCRATCH/ro WRAP=$SCRATCH/wrap runs "state folder read-only" "the new key cannot be kept" -c "$C"
wrapped "mount -t tmpfs -o size=4k,mode=700 tmpfs $SCRATCH/ro && head -c 4096 /dev/zero > $SCRATCH/ro/full"
STATE=$SCRATCH/ro WRAP=$SCRATCH/wrap runs "disk full" "No space left on device" -c "$C"
STATE=$SCRATCH/none/below runs "state folder missing: made" "(key in $SCRATCH/none/below/weft.key)" -c "$C"
check "state folder missing: for nobody else" test "$(stat -c %a "$SCRATCH/none/below")" = 700
chmod 644 "$SCRATCH/none/below/weft.key"
STATE=$SCRATCH/none/below runs "key file open to others" "chmod 600" -c "$C"
chmod 600 "$SCRATCH/none/below/weft.key"
echo "peers: [ { npub: nonsense" > "$SCRATCH/none/below/peers.yaml"
STATE=$SCRATCH/none/below runs "added peers half-written" "peers.yaml:" -c "$C"
mkdir "$SCRATCH/c/hosts"
runs "hosts file is a folder" "hosts: not a regular file" -c "$C"
rmdir "$SCRATCH/c/hosts"
in_ns a python3 -c 'import socket, time
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM); s.bind(("::1", 5354)); time.sleep(60)' &
HOLDER=$!
wait_until 5 prints :14EA in_ns a cat /proc/net/udp6
runs "name responder's port taken" "names under .fips are not answered" -c "$C"
for pid in $(ip netns pids "$PREFIX-a"); do kill "$pid"; done
wait "$HOLDER" 2> /dev/null
printf '%s\n' "node: { control: { socket_path: '$SCRATCH/nowhere/at/all/control.sock' } }" > "$C"
runs "folder of the control socket missing" "going on without control socket" -c "$C"
echo precious > "$SCRATCH/a/file"
printf '%s\n' "node: { control: { socket_path: '$SCRATCH/a/file' } }" > "$C"
runs "control socket is a file" "something that is no socket is there" -c "$C"
check "control socket is a file: it is still there" grep -q precious "$SCRATCH/a/file"
config "peers: [ { npub: npub10xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqpkge6d, addresses: [ { transport: udp, addr: 'host.example:2121' } ] } ]"
wrapped "mount --bind /dev/null /etc/resolv.conf"
WRAP=$SCRATCH/wrap runs "resolver gone" "host.example" -c "$C"

# ---- two at a time ------------------------------------------------------------------------------------------------------
node_config a "transports: { udp: { bind_addr: '0.0.0.0:2122' } }"
node_start a
config
in_ns a env "STATE_DIRECTORY=$SCRATCH/none/below" timeout 10 "$WEFTD" -c "$C" > "$SCRATCH/out" 2>&1
check "another daemon has the interface: exit code 1" test $? = 1
check "another daemon has the interface: says so" grep -qF "a running program has it open" "$SCRATCH/out"
config "tun: { enabled: false }"
ip netns exec "$PREFIX-a" env -u JOURNAL_STREAM "STATE_DIRECTORY=$SCRATCH/none/below" "$WEFTD" -c "$C" > "$SCRATCH/out" 2>&1 &
NODE_PID[run]=$!
check "another daemon has the control socket: says so" wait_until 5 grep -qF "is in use by a running weftd" "$SCRATCH/out"
node_stop run
check "another daemon has the control socket: which still answers" grep -q '"status":"ok"' <(node_ask a show_status)
node_stop a

# ---- a user of its own, as the service has ------------------------------------------------------------------------------
config
chmod 755 "$SCRATCH"
mkdir -m 700 "$SCRATCH/mine"
chown 65533:65533 "$SCRATCH/mine"
printf '%s\n' "node: { control: { socket_path: '$SCRATCH/mine/control.sock' } }" > "$C"
as_service="setpriv --reuid 65533 --regid 65533 --clear-groups --inh-caps +net_admin --ambient-caps +net_admin --bounding-set -all,+net_admin"
tun_for_all="true"
[ "$(stat -c %a /dev/net/tun)" = 666 ] || { mknod -m 666 "$SCRATCH/tun" c 10 200; tun_for_all="mount --bind $SCRATCH/tun /dev/net/tun"; }
wrapped "$tun_for_all"
STATE=$SCRATCH/mine WRAP="$SCRATCH/wrap $as_service" runs "a user with CAP_NET_ADMIN only" "running as user 65533 with capabilities net_admin" -c "$C"
chown 0:0 "$SCRATCH/mine/weft.key"
STATE=$SCRATCH/mine WRAP="$SCRATCH/wrap $as_service" try "key file of root" 1 "chown 65533" -c "$C"
chown 65532 "$SCRATCH/mine/weft.key"
chmod 644 "$SCRATCH/mine/weft.key"
STATE=$SCRATCH/mine WRAP="$SCRATCH/wrap $as_service" try "key file of somebody else" 1 "chown 65533" -c "$C"
chown 65533 "$SCRATCH/mine/weft.key"
install -m 600 "$SCRATCH/none/below/weft.key" "$SCRATCH/c/weft.key"
STATE=$SCRATCH/mine WRAP="$SCRATCH/wrap $as_service" runs "a key beside the configuration that it may not read" "weft.key is not used" -c "$C"
chmod 600 "$C"
STATE=$SCRATCH/mine WRAP="$SCRATCH/wrap $as_service" try "configuration that it may not read" 1 "try.yaml: Permission denied" -c "$C"
netns_end
