#!/usr/bin/env bash
# The first ten minutes of somebody who has read the README and nothing else: its section "Use it", word by word, on two
# machines (a copy-on-write view of this system and a network namespace each). Only npub1… becomes the other's npub; it has
# the address that the README gives to it. Prints the time until the first ping by name.
#
# Usage: first_ten_minutes.sh      Needs root, the release build, and what scripts/setup installs.
# No systemd runs in such a view: what the unit starts is started as it says there; dnsmasq is the resolver.
self=$(realpath "$0")
cd "$(dirname "$self")/../.." || exit 1
[ "$(id -u)" = 0 ] || { echo "skipped: needs root"; exit 77; }
[ -c /dev/net/tun ] || { echo "skipped: no /dev/net/tun"; exit 77; }
command -v dh > /dev/null || { echo "skipped: debhelper is not installed"; exit 77; }
command -v dnsmasq > /dev/null || { echo "skipped: dnsmasq-base is not installed"; exit 77; }
unshare -m true 2> /dev/null || { echo "skipped: no mount namespaces"; exit 77; }
if [ -z "${WEFT_IN_NAMESPACE:-}" ]; then  # mounts made here go with the script
  export WEFT_IN_NAMESPACE=yes
  exec unshare -m --propagation private "$self"
fi
. testing/netns/lib.sh
netns_begin wd-ten
S=$SCRATCH
. packaging/scratch_root.sh
CHECK_OUT=$SCRATCH/check.out
PEER_ADDRESS=192.0.2.10  # as in the README
declare -A DAEMONS=() RESOLVERS=()
ten_cleanup() {
  local m
  for m in "${!DAEMONS[@]}"; do kill -KILL "${DAEMONS[$m]}"; done 2> /dev/null
  for m in "${!RESOLVERS[@]}"; do kill -KILL "$(cat "${RESOLVERS[$m]}")"; done 2> /dev/null
  for m in here friend; do umount -R -l "$SCRATCH/$m/root" "$SCRATCH/$m/layer"; done 2> /dev/null
  netns_cleanup
}
trap ten_cleanup EXIT

# ---- the README ----------------------------------------------------------------------------------------------------------
# Fenced block N of the section "Use it", without what is said about each line.
block() {
  awk -v n="$1" '/^## / { ours = ($0 == "## Use it") } ours && /^```/ { inside = !inside; i += inside; next }
    ours && inside && i == n' README.md | sed 's/ *#.*//' | grep .
}
mapfile -t INSTALL < <(block 1)
mapfile -t PAIR < <(block 2)
check "the README installs with apt and shows who one is" has "${INSTALL[*]}" "sudo apt install ./build/deb/weft_*.deb sudo weft status"
check "then adds a peer and pings it" has "${PAIR[*]}" "sudo weft ping friend"
check "and a program reaches it by name" grep -q '`ping friend.fips`' README.md
[ $failed = 0 ] || exit 1

# ---- machines ------------------------------------------------------------------------------------------------------------
machine() {  # MACHINE: what follows happens there
  M=$1 S=$SCRATCH/$1 R=$SCRATCH/$1/root
  ENTER=(nsenter "--net=/run/netns/$PREFIX-$M")
}
there() { "${ENTER[@]}" chroot "$R" env -C "$PWD" DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 "$@"; }
said() {  # COMMAND: a line of the README, with the npub put in
  there bash -c "${1//npub1…/$PEER}" < /dev/null
}
make_machine() {
  mkdir -p "$S"
  root_begin || exit $?
  if [ ! -e "$R$PWD/README.md" ]; then  # the sources are on another file system
    mkdir -p "$S/layer/sources" "$S/layer/sources-work" "$R$PWD"
    mount -t overlay overlay -o "lowerdir=$PWD,upperdir=$S/layer/sources,workdir=$S/layer/sources-work" "$R$PWD" || exit 77
  fi
  rm -rf "$R$PWD/build/deb" "$R/etc/resolv.conf"
  mkdir -p "$R/etc/dnsmasq.d"
  echo "nameserver 127.0.0.1" > "$R/etc/resolv.conf"
  [ -x "$R/usr/bin/sudo" ] || { printf '#!/bin/sh\nexec "$@"\n' > "$R/usr/bin/sudo"; chmod 755 "$R/usr/bin/sudo"; }
  # What weft-resolver asks of systemd.
  cat > "$R/usr/local/sbin/systemctl" << 'X'
#!/bin/sh
case "$*" in
  "is-active --quiet dnsmasq") exit 0 ;;
  "try-restart dnsmasq") kill "$(cat /run/dnsmasq.pid)"; while kill -0 "$(cat /run/dnsmasq.pid)"; do sleep 0.01; done 2> /dev/null; exec /run/dnsmasq ;;
esac
exit 1
X
  cat > "$R/run/dnsmasq" << 'X'
#!/bin/sh
exec dnsmasq --conf-file=/dev/null --conf-dir=/etc/dnsmasq.d --no-resolv --no-hosts --listen-address=127.0.0.1 --bind-interfaces \
  --pid-file=/run/dnsmasq.pid --user=root
X
  chmod 755 "$R/run/dnsmasq" "$R/usr/local/sbin/systemctl"
  there /run/dnsmasq
  RESOLVERS[$M]=$R/run/dnsmasq.pid
}
unit() { sed -n "s/^$1=[-+]*//p" "$R/lib/systemd/system/weft.service"; }
run_unit() {
  local start
  start=$(unit ExecStart)
  [ "$start" = "/usr/sbin/weftd --config /etc/weft/weft.yaml" ] || { echo "the unit starts $start"; return 1; }
  start_daemon /usr/sbin/weftd || return 1
  DAEMONS[$M]=$DAEMON
  there $(unit ExecStartPost)
}
now() { date +%s%N; }
seconds_since() { awk -v a="$1" -v b="${2:-$(now)}" 'BEGIN { printf "%.2f", (b - a) / 1e9 }'; }
ping_by_name() {  # COMMAND, which goes on until somebody presses Ctrl-C, as ping does; $SCRATCH/pinged: when the first reply came
  said "timeout -s INT 3 $1" 2>&1 | while IFS= read -r line; do
    case "$line" in *" ms"*) [ -e "$SCRATCH/pinged" ] || now > "$SCRATCH/pinged" ;; esac
    echo "$line"
  done
  test -e "$SCRATCH/pinged"
}
status() { said "$1"; [ $? = "$2" ]; }  # 3: not linked

netns_add here friend
netns_link here friend
ip -n "$PREFIX-friend" addr add "$PEER_ADDRESS/24" dev to-here
ip -n "$PREFIX-here" addr add 192.0.2.1/24 dev to-friend
TUN=$SCRATCH/tun
mknod -m 0666 "$TUN" c 10 200 || { echo "skipped: no device files"; exit 77; }
for m in here friend; do machine $m; make_machine; done

# ---- install, on the one and on the other ----------------------------------------------------------------------------------
PEER=
machine here
BEGIN=$(now)
for line in "${INSTALL[@]}"; do
  case "$line" in *"apt install"*) APT=$(now) ;; esac
  case "$line" in
    *"weft status"*) check "(the unit's programs start)" run_unit; check "$line" status "$line" 3 ;;
    *) check "$line" said "$line" ;;
  esac
done
machine friend
mkdir -p "$R$PWD/build/deb"
cp "$SCRATCH/here/root$PWD"/build/deb/weft_*.deb "$R$PWD/build/deb/"
for line in "${INSTALL[@]}"; do
  case "$line" in
    *"apt install"*) check "friend: $line" said "$line" ;;
    *"weft status"*) check "(friend: the unit's programs start)" run_unit; check "friend: $line" status "$line" 3 ;;
  esac
done
PEER=$(there weft status | grep -o 'npub1[a-z0-9]*' | head -1)

# ---- one peer, by name -----------------------------------------------------------------------------------------------------
machine here
PAIRED=
for line in "${PAIR[@]}"; do
  case "$line" in
    *"weft ping"*) check "$line" ping_by_name "$line" ;;
    *"weft status"*) check "$line" status "$line" "$([ -n "$PAIRED" ] && echo 0 || echo 3)" ;;
    *"peer add"*) PAIRED=$(now); check "$line" said "$line" ;;
    *) check "$line" said "$line" ;;
  esac
done
PINGED=$(cat "$SCRATCH/pinged")
check "ping friend.fips" said "ping -c 1 -W 5 friend.fips"
check "nothing but ping comes in, as it says" has "$(there weft status)" "firewall   on"
check "weft status begins as it says" has "$(there weft status)" "linked: 1 peer"
echo "        first ping by name: $(seconds_since "$PAIRED" "$PINGED") s after weft peer add," \
  "$(seconds_since "$APT" "$PINGED") s after apt install, $(seconds_since "$BEGIN" "$PINGED") s after the first command"
check "that is less than five minutes" test "$(((PINGED - BEGIN) / 1000000000))" -lt 300

for m in here friend; do machine $m; DAEMON=${DAEMONS[$m]}; check "($m ends)" stop_daemon; unset "DAEMONS[$m]"; done
machine here
there $(unit ExecStopPost) > /dev/null 2>&1
check "and programs find the name no more" not there getent ahosts friend.fips
netns_end
