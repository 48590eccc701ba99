# In a fresh Debian, booted in a namespace of its own beside a second node; sourced by test.

WEFTD=$build_dir/daemon/weftd/weftd
. testing/netns/lib.sh

test_begin() {
  command -v mmdebstrap > /dev/null && command -v systemd-nspawn > /dev/null ||
    { echo "skipped: mmdebstrap or systemd-container is not installed"; exit 77; }
  local packages base=${WEFT_BASE:-$S/base.tar}
  packages=$(dpkg-deb -f "$NEW" Depends | tr ',' '\n' | sed 's/[(|].*//; s/ //g' | paste -sd,)
  if [ ! -f "$base" ]; then
    echo "making a Debian"
    mmdebstrap --quiet --variant=minbase \
      --include="systemd,systemd-sysv,systemd-resolved,dbus,iproute2,iputils-ping,procps,libnss-systemd,$packages" bookworm "$base" > "$S/mmdebstrap.log" 2>&1 ||
      { cat "$S/mmdebstrap.log"; return 1; }
  fi
  R=$S/root
  mkdir "$R" && tar -C "$R" -xf "$base" || return 1
  cp "$NEW" "$R/var/tmp/weft-new.deb" && cp "$OLD" "$R/var/tmp/weft-old.deb"
  echo weft-test > "$R/etc/hostname"

  netns_begin wd-deb
  trap 'test_end; rm -rf "$S" "$S.out"' EXIT  # netns_begin's own would forget ours
  netns_add a b
  netns_link a b
  systemd-nspawn --quiet --directory="$R" --boot --register=no --keep-unit --resolv-conf=off --timezone=off \
    --network-namespace-path="/run/netns/$PREFIX-a" --capability=CAP_NET_ADMIN --bind="$TUN:/dev/net/tun" > "$S/boot.log" 2>&1 &
  NSPAWN=$!
  wait_until 60 leader_found && wait_until 60 booted || { tail -30 "$S/boot.log"; return 1; }
}

leader_found() { LEADER=$(pgrep -P "$NSPAWN" | head -1) && [ -n "$LEADER" ]; }
booted() { case "$(in_root systemctl is-system-running)" in running | degraded) ;; *) return 1 ;; esac; }
in_root() { nsenter -t "$LEADER" -m -u -i -n -p -- env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 "$@"; }
test_end() {
  [ -n "${LEADER:-}" ] && kill -RTMIN+4 "$LEADER" 2> /dev/null && wait_until 20 not kill -0 "$NSPAWN"
  [ -n "${NSPAWN:-}" ] && kill -KILL "$NSPAWN" 2> /dev/null
  [ -z "${SCRATCH:-}" ] || netns_cleanup
}

active() { [ "$(in_root systemctl is-active weft)" = active ]; }
main_pid() { in_root systemctl show -P MainPID weft; }
pid_outside() { pgrep --ns "$LEADER" --nslist pid -x weftd | head -1; }
starts_of() { in_root journalctl -u weft -o cat | grep -c "$1"; }
restarted_from() { [ "$(main_pid)" != "$1" ] && [ "$(main_pid)" != 0 ] && active; }
as_alice() { in_root setpriv --reuid alice --regid alice --init-groups "$@"; }
milliseconds_to_ready() {
  local from to
  from=$(in_root systemctl show -P ExecMainStartTimestampMonotonic weft)
  to=$(in_root systemctl show -P ActiveEnterTimestampMonotonic weft)
  echo $(((to - from) / 1000))
}
name_is_found() { prints "$(node_addr b)" in_root getent ahostsv6 bee.fips; }
node_is_reached() { in_root weft ping bee -c 1; }

test_run() {
  local npub words pid
  in_root useradd -m alice
  traces > "$S/before"
  in_root ip -6 rule > "$S/rules.before"
  check "it installs" in_root dpkg -i /var/tmp/weft-old.deb
  check "it runs at once" wait_until 10 active
  check "and will after the next boot" test "$(in_root systemctl is-enabled weft)" = enabled
  echo "        ready after $(milliseconds_to_ready) ms"
  pid=$(main_pid)
  check "as a user of its own" test "$(in_root stat -c %U "/proc/$pid")" = weft
  check "with one capability" has "$(in_root grep -h CapEff "/proc/$pid/status")" 0000000000001000
  check "that bounds what it could ever have" has "$(in_root grep -h CapBnd "/proc/$pid/status")" 0000000000001000
  check "no new privileges" has "$(in_root grep -h NoNewPrivs "/proc/$pid/status")" 1
  check "a filter of system calls" has "$(in_root grep -h '^Seccomp:' "/proc/$pid/status")" 2
  check "the socket folder is for the group" test "$(in_root stat -c '%U:%G %a' /run/weft)" = "weft:weft 750"
  check "the firewall is on" has "$(in_root weft status)" "firewall   on"
  check "names are hooked up to systemd-resolved" wait_until 5 prints "systemd-resolved asks weftd" in_root journalctl -u weft -o cat
  check "the log has no refusal" not has "$(in_root journalctl -u weft -o cat -p warning)" "not permitted"
  in_root journalctl -u weft -o cat -p warning | sed 's/^/        /'
  check "systemd counts it as hardened" in_root systemd-analyze security --threshold=25 weft

  words=$(as_alice weft status 2>&1)
  check "who is not in the group is told so" has "$words" "usermod -aG weft"
  in_root usermod -aG weft alice
  check "in the group, weft status works" has "$(as_alice weft status 2>&1)" npub1

  node_config b
  node_keys b
  node_start b
  check "a peer is added" in_root weft peer add "$(node_npub b)" 10.77.1.2:2121 --name bee
  check "and answers by name" wait_until 20 node_is_reached
  check "programs find the name" wait_until 5 name_is_found
  check "and reach it" in_root ping -c 1 -W 2 bee.fips
  npub=$(in_root cat /var/lib/weft/weft.pub)

  pid=$(main_pid)
  check "a reload is a reload" in_root systemctl reload weft
  check "of the configuration" wait_until 5 prints "configuration read again" in_root journalctl -u weft -o cat
  check "by the same process" test "$(main_pid)" = "$pid"
  python3 testing/netns/freeze_thread.py "$(pid_outside)" weft-dec-0,weft-work-0 60 > "$S/freeze.log" 2>&1 &
  check "one thread made to hang" wait_until 5 grep -q "stands still" "$S/freeze.log"
  check "the watchdog notices and starts it anew" wait_until 90 restarted_from "$pid"
  check "and says so" has "$(in_root journalctl -u weft -o cat)" "Watchdog timeout"
  pid=$(main_pid)
  in_root kill -KILL "$pid"
  check "after a crash it comes back" wait_until 20 restarted_from "$pid"
  check "and reaches its peer" wait_until 20 node_is_reached

  in_root sh -c 'echo "# a line of mine" >> /etc/weft/weft.yaml'
  pid=$(main_pid)
  check "it is upgraded, $OLD_VERSION to $NEW_VERSION" in_root dpkg --force-confold -i /var/tmp/weft-new.deb
  check "the new one runs" restarted_from "$pid"
  check "what I wrote is still there" in_root grep -q '# a line of mine' /etc/weft/weft.yaml
  check "with owner and mode" test "$(in_root stat -c '%U:%G %a' /etc/weft/weft.yaml)" = "root:weft 640"
  check "the key too" test "$(in_root cat /var/lib/weft/weft.pub)" = "$npub"
  check "the peer too" wait_until 20 node_is_reached

  check "it stops" in_root systemctl stop weft
  check "programs find the name no more" not name_is_found
  check "the interface is gone" not in_root ip link show weft0
  check "the rule is gone" diff "$S/rules.before" <(in_root ip -6 rule)
  check "the run-time folder is gone" not in_root test -e /run/weft
  check "weft says how to start it" has "$(as_alice weft status 2>&1)" "systemctl start weft"
  in_root systemctl stop systemd-resolved
  check "it starts again, with no resolver to hook up to" in_root systemctl start weft
  check "and says so" wait_until 5 prints "no resolver that can send .fips to weftd is running" in_root journalctl -u weft -o cat
  check "it is removed" in_root dpkg -r weft
  check "and stopped" not in_root pgrep -x weftd
  check "configuration and key stay" in_root test -s /var/lib/weft/weft.key -a -s /etc/weft/weft.yaml
  check "it is installed again" in_root dpkg --force-confold -i /var/tmp/weft-new.deb
  check "and is who it was" test "$(in_root cat /var/lib/weft/weft.pub)" = "$npub"
  check "it is purged" in_root dpkg --purge weft
  traces > "$S/after"
  check "nothing is left" diff "$S/before" "$S/after"
  check "user and group neither" not in_root getent passwd weft
  check "no unit either" not has "$(in_root systemctl list-units --all --no-legend 'weft*')" weft
}
