# In a copy-on-write view of this system; sourced by test.

test_begin() {
  root_begin || return
  cp "$NEW" "$R/tmp/new.deb" && cp "$OLD" "$R/tmp/old.deb"
}
test_end() { root_end; }
dpkg_in() { in_root dpkg "$@"; }

test_run() {
  local npub words
  traces > "$S/before"
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

  check "weftd starts as the unit starts it" start_daemon /usr/sbin/weftd
  check "weft status answers" has "$(in_root weft status)" "npub1"
  check "the interface is up" has "$(in_root weft status)" "weft0 (active)"
  check "the socket is for the group" test "$(owner_in run/weft/control.sock)" = "weft:weft 770"
  words=$(in_root setpriv --reuid nobody --regid nogroup --clear-groups weft status 2>&1)
  check "who is not in the group is told so" has "$words" "usermod -aG weft"
  words=$(in_root weft-resolver --config /etc/weft/weft.yaml up 2>&1) || words="failed: $words"
  check "without a resolver, names are not hooked up, which is said and is no failure" has "$words" "no resolver that can send .fips to weftd is running"
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
  traces > "$S/after"
  check "nothing is left" diff "$S/before" "$S/after"
  check "user and group neither" not in_root getent passwd weft
}
