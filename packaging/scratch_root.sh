# A copy-on-write view of this system, to install things in; sourced by the tests of the packages. Needs a mount namespace
# of its own, $S (a scratch folder) and $TUN (a device file of /dev/net/tun with mode 666).
#
#   root_begin         $R is the view; a weft of this system is taken out of it. Returns 77 where that is impossible
#   root_end
#   in_root CMD...     runs a command there
#   owner_in PATH      "user:group mode" of a path there
#   start_daemon FILE  runs weftd FILE as the unit would: user, capability, folders; no network but a loopback, or that which
#                      $ENTER, a command that runs another one, leads to
#   stop_daemon        its exit code
#   traces             what there is of weft in the view
#   has TEXT WORDS
# check, wait_until, not, prints: testing/checks.sh. Run in the top folder of the sources.

. testing/checks.sh
CHECK_OUT=$S.out
ENTER=(unshare -n)
has() { case "$1" in *"$2"*) ;; *) echo "\"$2\" is not in:"; echo "$1"; return 1 ;; esac; }

root_begin() {
  R=$S/root
  mkdir -p "$S/layer" "$R"
  mount -t tmpfs tmpfs "$S/layer" && mkdir "$S/layer/upper" "$S/layer/work" &&
    mount -t overlay overlay -o "lowerdir=/,upperdir=$S/layer/upper,workdir=$S/layer/work" "$R" ||
    { echo "skipped: no overlay file system"; return 77; }
  mount -t proc proc "$R/proc" && mount -t tmpfs tmpfs "$R/run" && mount -t tmpfs tmpfs "$R/tmp" && mount --rbind /dev "$R/dev" &&
    mount --bind "$TUN" "$R/dev/net/tun" || return 1
  if [ -e "$R/var/lib/dpkg/info/weft.list" ]; then in_root dpkg --purge weft > /dev/null; fi
  in_root getent passwd weft > /dev/null && in_root userdel weft
  in_root getent group weft > /dev/null && in_root groupdel weft
  rm -rf "$R/etc/weft" "$R/var/lib/weft" "$R/usr/local/bin/weft" "$R/usr/local/sbin/weftd"
  true
}
root_end() { umount -R -l "$S/root" "$S/layer" 2> /dev/null; }

in_root() { chroot "$R" env DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 "$@"; }
owner_in() { in_root stat -c '%U:%G %a' "/$1"; }

start_daemon() {
  in_root install -d -o weft -g weft -m 0750 /run/weft
  "${ENTER[@]}" chroot "$R" sh -c 'ip link set lo up && exec setpriv --reuid weft --regid weft --init-groups --inh-caps +net_admin \
    --ambient-caps +net_admin --bounding-set -all,+net_admin --no-new-privs env -i PATH=/usr/bin:/usr/sbin STATE_DIRECTORY=/var/lib/weft \
    "$0" --config /etc/weft/weft.yaml' "$1" > "$S/daemon.log" 2>&1 &
  DAEMON=$!
  wait_until 10 in_root test -S /run/weft/control.sock || { cat "$S/daemon.log"; return 1; }
}
stop_daemon() {
  kill -TERM "$DAEMON"
  wait "$DAEMON"
}

# All that has its name, but for this source tree, logs and caches.
traces() {
  find "$R" -xdev \( -path "$R$(pwd)" -o -path "$R/proc" -o -path "$R/root" -o -path "$R/home" -o -path "$R/tmp" -o -path "$R/work" \
    -o -path "$R/var/cache/*" -o -path "$R/var/log/*" -o -path "$R/usr/src" \) -prune -o -iname '*weft*' -print | sort
}
