# In a copy-on-write view of this system; sourced by test.

test_begin() {
  R=$S/root
  mkdir -p "$S/layer" "$R"
  mount -t tmpfs tmpfs "$S/layer" && mkdir "$S/layer/upper" "$S/layer/work" &&
    mount -t overlay overlay -o "lowerdir=/,upperdir=$S/layer/upper,workdir=$S/layer/work" "$R" ||
    { echo "skipped: no overlay file system"; exit 77; }
  mount -t proc proc "$R/proc" && mount -t tmpfs tmpfs "$R/run" && mount -t tmpfs tmpfs "$R/tmp" && mount --rbind /dev "$R/dev" &&
    mount --bind "$TUN" "$R/dev/net/tun" || return 1
  cp "$NEW" "$R/tmp/new.deb" && cp "$OLD" "$R/tmp/old.deb"
  if [ -e "$R/var/lib/dpkg/info/weft.list" ]; then in_root dpkg --purge weft > /dev/null; fi
  in_root getent passwd weft > /dev/null && in_root userdel weft
  in_root getent group weft > /dev/null && in_root groupdel weft
  rm -rf "$R/etc/weft" "$R/var/lib/weft"
  true
}
test_end() { umount -R -l "$S/root" "$S/layer" 2> /dev/null; }

in_root() { chroot "$R" env DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 "$@"; }
dpkg_in() { in_root dpkg "$@"; }
owner() { stat -c '%U:%G %a' "$R/$1" 2> /dev/null || in_root stat -c '%U:%G %a' "/$1"; }
owner_in() { in_root stat -c '%U:%G %a' "/$1"; }

# As the unit would: user, capability, folders.
start_daemon() {
  in_root install -d -o weft -g weft -m 0750 /run/weft
  chroot "$R" unshare -n sh -c 'ip link set lo up && exec setpriv --reuid weft --regid weft --init-groups --inh-caps +net_admin \
    --ambient-caps +net_admin --bounding-set -all,+net_admin --no-new-privs env -i PATH=/usr/bin:/usr/sbin STATE_DIRECTORY=/var/lib/weft \
    /usr/sbin/weftd --config /etc/weft/weft.yaml' > "$S/daemon.log" 2>&1 &
  DAEMON=$!
  wait_until 10 in_root test -S /run/weft/control.sock
}
stop_daemon() {
  kill -TERM "$DAEMON"
  wait "$DAEMON"
}

test_run() {
  local npub words
  traces "$R" > "$S/before"
  check "it installs" dpkg_in -i /tmp/old.deb
  check "the service is verified by systemd" systemd-analyze verify --root="$R" --man=no "$R/lib/systemd/system/weft.service"
  words=$(systemd-analyze security --offline=true "$R/lib/systemd/system/weft.service" | tail -1)
  echo "        $words"
  check "its exposure is 1.9 or less" test "$(systemd-analyze security --offline=true --threshold=19 "$R/lib/systemd/system/weft.service" > /dev/null; echo $?)" = 0
  check "the service has a user and a group" in_root getent passwd weft
  check "the service may read its configuration, others may not" test "$(owner_in etc/weft/weft.yaml)" = "root:weft 640"
  check "its state is its own" test "$(owner_in var/lib/weft)" = "weft:weft 700"
  check "the configuration is good as it comes" in_root weftd --check -c /etc/weft/weft.yaml
  check "the manual opens" in_root man -P cat weft

  check "weftd starts as the unit starts it" start_daemon || cat "$S/daemon.log"
  check "weft status answers" has "$(in_root weft status)" "npub1"
  check "the interface is up" has "$(in_root weft status)" "weft0 (active)"
  check "the socket is for the group" test "$(owner_in run/weft/control.sock)" = "weft:weft 770"
  words=$(in_root setpriv --reuid nobody --regid nogroup --clear-groups weft status 2>&1)
  check "who is not in the group is told so" has "$words" "usermod -aG weft"
  npub=$(in_root cat /var/lib/weft/weft.pub)
  check "it ends with 0" stop_daemon
  check "it leaves its socket folder empty" test -z "$(ls -A "$R/run/weft")"
  words=$(in_root weft status 2>&1)
  check "weft then says how to start it" has "$words" "systemctl start weft"

  echo '# a line of mine' >> "$R/etc/weft/weft.yaml"
  check "it is upgraded, $OLD_VERSION to $NEW_VERSION" dpkg_in --force-confold -i /tmp/new.deb
  check "what I wrote is still there" grep -q '# a line of mine' "$R/etc/weft/weft.yaml"
  check "with owner and mode" test "$(owner_in etc/weft/weft.yaml)" = "root:weft 640"
  check "the key too" test "$(in_root cat /var/lib/weft/weft.pub)" = "$npub"
  check "it is removed" dpkg_in -r weft
  check "configuration and key stay" in_root test -s /var/lib/weft/weft.key -a -s /etc/weft/weft.yaml
  check "the programs do not" not in_root test -e /usr/sbin/weftd
  check "it is installed again" dpkg_in --force-confold -i /tmp/new.deb
  check "and is who it was" test "$(in_root cat /var/lib/weft/weft.pub)" = "$npub"
  check "it is purged" dpkg_in --purge weft
  rm -rf "$R/run/weft"
  traces "$R" > "$S/after"
  check "nothing is left" diff "$S/before" "$S/after"
  check "user and group neither" not in_root getent passwd weft
}
