#!/bin/bash
# Names as programs and resolvers ask for them: dig, getent, TCP, bad queries, files that change, and the hook-up to what
# resolves names on a machine. The commands of docs/howto/names.md are run here.
# RESOLVED, DNSMASQ: those programs where they are not installed in their usual places.
. "$(dirname "$0")/lib.sh"
command -v dig > /dev/null || { echo "skipped: needs dig (bind9-dnsutils)"; exit 77; }
netns_begin wd-names
BUILD=$(dirname "$(dirname "$WEFTD")")
WEFT=${WEFT:-$BUILD/weft/weft}
RESOLVER=${RESOLVER:-$BUILD/resolver/weft-resolver}
: "${RESOLVED:=/lib/systemd/systemd-resolved}" "${RESOLVECTL:=resolvectl}" "${DNSMASQ:=dnsmasq}"
netns_add a b
netns_link a b
node_config a
node_config b
node_keys a b
node_config a "dns: { bind_addr: '::' }
peers: [ { npub: $(node_npub b), alias: bee, addresses: [ { transport: udp, addr: '10.77.1.2:2121' } ] } ]"
node_start a
node_start b
w() { in_ns a "$WEFT" -s "$SCRATCH/a/control.sock" "$@"; }
asks() { in_ns a dig @::1 -p 5354 +time=1 +tries=1 "$@"; }
B=$(node_addr b)
gives() { test "$(asks +short AAAA "$@")" = "$B"; }
rcode() { test "$(asks "${@:2}" | sed -n 's/.*status: \([A-Z]*\),.*/\1/p')" = "$1"; }
answers() { asks "${@:2}" | grep -q "ANSWER: $1,"; }

# ---- names that one chooses ----------------------------------------------------------------------------------------------
printf '# my machines\nold %s\n' "$(node_npub a)" > "$SCRATCH/a/hosts"
chmod 640 "$SCRATCH/a/hosts"
check "weft name set" grep -q "printer.fips is $B" <(w name set printer "$(node_npub b)")
check "counts at once" gives printer.fips
check "the file keeps its comment, its order and its mode" test "$(head -1 "$SCRATCH/a/hosts") $(stat -c %a "$SCRATCH/a/hosts")" = "# my machines 640"
w name set old "$(node_npub b)" > /dev/null
check "a name can be given to another node" gives old.fips
check "weft name list" grep -q 'printer.fips.*hosts' <(w name list)
check "lists aliases too" grep -q 'bee.fips.*alias of a peer' <(w name list)
check "weft name remove" grep -q 'old.fips is gone' <(w name remove old)
check "it is gone" rcode NXDOMAIN old.fips AAAA
check "a wrong name is refused in words" grep -q 'is not a name' <(w name set -- -x "$(node_npub b)" 2>&1)
check "a wrong npub too" grep -q 'is not an npub' <(w name set box npub1x 2>&1)
check "an alias is not in the file" grep -q 'removed in the configuration' <(w name remove bee 2>&1)

# ---- queries -------------------------------------------------------------------------------------------------------------
check "below a name" gives a.b.bee.fips
check "below an npub" gives "www.$(node_npub b).fips"
check "letter case and last dot" gives pRiNtEr.FIPS.
check "asked for IPv4: no error, no answer" rcode NOERROR bee.fips A
check "an empty one" answers 0 bee.fips A
check "other types too" answers 0 bee.fips MX
check "the zone itself exists" rcode NOERROR fips NS
check "other zones are refused" rcode REFUSED example.com AAAA
check "EDNS: answered with our size" grep -q 'udp: 1232' <(asks +bufsize=4096 bee.fips AAAA)
check "EDNS of a later version" rcode BADVERS +edns=1 +noednsnegotiation bee.fips AAAA
check "EDNS options are passed over" gives +subnet=192.0.2.0/24 +cookie bee.fips
check "TCP" gives +tcp bee.fips
check "TCP, several in one connection" test 3 = "$(asks +tcp +keepopen +short bee.fips AAAA printer.fips AAAA a.bee.fips AAAA | grep -c "$B")"
cat > "$SCRATCH/raw.py" <<'PY'
import socket, struct, sys, time
def query(name, qtype=28, ident=0x1234, tail=b""):
    labels = b"".join(bytes([len(p)]) + p.encode() for p in name.split(".")) + b"\0"
    return struct.pack("!6H", ident, 0x0100, 1, 0, 0, 0) + labels + struct.pack("!2H", qtype, 1) + tail
def tcp(n=0):
    s = socket.create_connection(("::1", 5354), timeout=5)
    return s
def take(s, n):
    out = b""
    while len(out) < n:
        part = s.recv(n - len(out))
        if not part: raise EOFError
        out += part
    return out
def reply(s): return take(s, struct.unpack("!H", take(s, 2))[0])
def framed(m): return struct.pack("!H", len(m)) + m
def udp(m, wait=1):
    s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM); s.settimeout(wait)
    s.sendto(m, ("::1", 5354))
    try: return s.recv(4096)
    except OSError: return None
what = sys.argv[1]
if what == "pipeline":
    s = tcp(); s.sendall(b"".join(framed(query("bee.fips", ident=i)) for i in range(500)))
    assert [struct.unpack("!H", reply(s)[:2])[0] for _ in range(500)] == list(range(500))
elif what == "pieces":
    s = tcp()
    for b in framed(query("bee.fips")): s.sendall(bytes([b])); time.sleep(0.002)
    assert reply(s)[7] == 1
elif what == "slow":
    held = [tcp() for _ in range(5)]
    for s in held:
        s.setblocking(False)
        try:
            for _ in range(20000): s.send(framed(query("bee.fips")))
        except BlockingIOError: pass
    s = tcp(); s.sendall(framed(query("bee.fips"))); assert reply(s)[7] == 1
elif what == "many":
    held = [tcp() for _ in range(80)]; time.sleep(0.5)
    s = tcp(); s.sendall(framed(query("bee.fips"))); assert reply(s)[7] == 1
elif what == "idle":
    s = tcp(); s.settimeout(14); begin = time.time(); s.sendall(b"\0\x40abc")
    assert s.recv(10) == b"" and 8 < time.time() - begin < 13
elif what == "tcp-large":
    s = tcp(); s.sendall(framed(query("bee.fips", tail=bytes(60000))))
    assert reply(s)[3] & 15 == 1
    s.sendall(framed(query("bee.fips"))); assert reply(s)[7] == 1
elif what == "malformed":
    for m in (query("bee.fips")[:-3], query("bee.fips", tail=bytes(2000)), b"\x12\x34" + bytes(10),
              query("bee.fips").replace(b"\0\1\0\0\0\0\0\0", b"\0\2\0\0\0\0\0\0", 1), b"\x12\x34\1\0\0\1\0\0\0\0\0\0\xc0\x0c\0\x1c\0\1"):
        r = udp(m); assert r is not None and len(r) == 12 and r[:2] == m[:2] and r[3] & 15 == 1, (m[:40], r)
    for m in (b"", b"x", bytes(11), query("bee.fips").replace(b"\1\0", b"\x81\x80", 1)):
        assert udp(m, 0.3) is None, m
PY
for what in pipeline pieces slow many tcp-large malformed; do
  check "raw: $what" in_ns a python3 "$SCRATCH/raw.py" $what
done
in_ns a python3 "$SCRATCH/raw.py" idle > "$SCRATCH/idle.out" 2>&1 &  # takes ten seconds; not beside those that make others go
IDLE=$!
check "still well" gives bee.fips

# ---- from the mesh -------------------------------------------------------------------------------------------------------
check "(the nodes are linked)" wait_ping b a
check "a query from the mesh is not answered" test "$(dns_ask b bee.fips "$(node_addr a)" 2>&1)" = "no answer"
check "over TCP neither" not in_ns b dig @"$(node_addr a)" -p 5354 +tcp +time=1 +tries=1 +short bee.fips AAAA
check "they are counted" grep -Eq 'dns_from_mesh +[2-9]' <(w drops)
check "the machine itself is answered on its mesh address" test "$(in_ns a dig @"$(node_addr a)" -p 5354 +tcp +time=1 +tries=1 +short bee.fips AAAA)" = "$B"

# ---- files that change -------------------------------------------------------------------------------------------------
says() { grep -qF -- "$1" "$(node_log a)"; }
printf 'printer %s\nscanner npub1half' "$(node_npub b)" > "$SCRATCH/a/hosts"
check "a half-written hosts file is named with its line" wait_until 5 says 'hosts:2: not an npub'
check "and the old names stay" gives printer.fips
check "weft status says so" grep -q 'hosts:2' <(w status)
printf 'scanner %s\n' "$(node_npub b)" > "$SCRATCH/a/hosts"
check "whole again, it counts" wait_until 5 gives scanner.fips
check "and the old name is gone" rcode NXDOMAIN printer.fips AAAA
check "weft acl check: in neither list" grep -q 'admitted: scanner' <(w acl check bee)
echo 'ALL # nobody else' > "$SCRATCH/a/peers.deny"
refused() { w acl check "$(node_npub b)" | grep -q -- "$1"; }
check "weft acl check: names file, line and entry" wait_until 5 refused "by $SCRATCH/a/peers.deny:1: ALL"
printf '# friends\nscanner\n' > "$SCRATCH/a/peers.allow"
check "weft acl check: allow comes first" wait_until 5 refused "by $SCRATCH/a/peers.allow:2: scanner"
printf 'npub1hal' > "$SCRATCH/a/peers.allow"
check "a half-written list is named with its line" wait_until 5 says 'peers.allow:1: neither an npub nor a name'
check "and the old one stays" refused 'peers.allow:2: scanner'
printf 'scanner two words\n' > "$SCRATCH/a/peers.allow"
check "so is a line of two words" wait_until 5 says 'more than one entry'
printf 'nobody-yet\n' > "$SCRATCH/a/peers.allow"
check "an unknown name only counts for nothing" wait_until 5 refused 'peers.deny:1'
echo "nobody-yet $(node_npub b)" >> "$SCRATCH/a/hosts"
check "until it is known" wait_until 5 refused 'peers.allow:1: nobody-yet'
rm "$SCRATCH/a/peers.deny" "$SCRATCH/a/peers.allow"
check "lists that go are empty" wait_until 5 refused 'in neither list'
check "weft acl check: ourselves" grep -q 'our own key' <(w acl check "$(node_npub a)")
idle_ended() { wait "$IDLE" || { cat "$SCRATCH/idle.out"; return 1; }; }
check "raw: idle" idle_ended

# ---- hook-up to the system -------------------------------------------------------------------------------------------------
# Inside: a private /etc over the machine's, a private /run, and our own PATH first.
private() {
  timeout 60 ip netns exec "$PREFIX-a" unshare -m --propagation private bash -c '
    set -e
    scratch=$1; shift
    mkdir -p "$scratch/bin"
    mount -t tmpfs tmpfs /run
    mkdir -p /run/etc-upper /run/etc-work
    mount -t overlay overlay -o lowerdir=/etc,upperdir=/run/etc-upper,workdir=/run/etc-work /etc
    trap "kill \$(jobs -p) 2> /dev/null || true" EXIT
    PATH=$scratch/bin:$PATH
    rm -f /etc/resolv.conf
    "$@"' private "$SCRATCH" bash -c "$1" < /dev/null
}
export RESOLVER RESOLVED RESOLVECTL DNSMASQ B SCRATCH
FILE="$SCRATCH/a/weft.yaml"
export FILE
finds='finds() { for i in $(seq 40); do test "$(getent ahostsv6 "$1" | awk "{ print \$1; exit }")" = "$B" && return; sleep 0.1; done; getent ahostsv6 "$1"; return 1; }'

cp "$FILE" "$SCRATCH/a/kept.yaml"
{ sed 's/bind_addr: .*/bind_addr: "127.0.0.1", port: 53 }/' "$SCRATCH/a/kept.yaml"; echo 'weft: { names: { resolver: resolvconf }, firewall: { enabled: false } }'; } > "$FILE"
node_stop a
node_start a
check "resolv.conf, when asked: getent finds names, and they go again" private "$finds"'
  set -e
  printf "search lan\nnameserver 192.0.2.1\n" > /etc/resolv.conf; cp /etc/resolv.conf /run/before
  $RESOLVER -c $FILE up
  finds scanner.fips; finds www.scanner.fips
  $RESOLVER -c $FILE up | grep -q "names weftd first"
  $RESOLVER -c $FILE down | grep -q "taken back: resolvconf"
  cmp /run/before /etc/resolv.conf'
cp "$SCRATCH/a/kept.yaml" "$FILE"
check "nothing to hook up to: says what to install, and is no failure" private 'echo "nameserver 192.0.2.1" > /etc/resolv.conf
  $RESOLVER -c $FILE up | grep -q "install systemd-resolved"; grep -c . /etc/resolv.conf | grep -qx 1'
node_stop a
node_start a
if command -v "$DNSMASQ" > /dev/null; then
  check "dnsmasq: getent finds names, and they go again" private "$finds"'
    set -e
    cat > $SCRATCH/bin/systemctl <<X
#!/bin/sh
case "\$*" in
  "is-active --quiet dnsmasq") exit 0 ;;
  "try-restart dnsmasq") kill \$(cat /run/dnsmasq.pid); sleep 0.2
    '"$DNSMASQ"' --conf-file=/dev/null --conf-dir=/etc/dnsmasq.d --no-resolv --listen-address=127.0.0.1 --bind-interfaces --pid-file=/run/dnsmasq.pid --user=root ;;
  *) exit 1 ;;
esac
X
    chmod +x $SCRATCH/bin/systemctl
    printf "#!/bin/sh\nexit 1\n" > $SCRATCH/bin/busctl; chmod +x $SCRATCH/bin/busctl
    trap "kill \$(cat /run/dnsmasq.pid)" EXIT
    mkdir -p /etc/dnsmasq.d; echo "nameserver 127.0.0.1" > /etc/resolv.conf
    sleep 1000 & echo $! > /run/dnsmasq.pid
    $RESOLVER -c $FILE up | grep -q "dnsmasq asks weftd"
    finds scanner.fips; finds www.bee.fips
    $RESOLVER -c $FILE down | grep -q "taken back: dnsmasq"
    test ! -e /etc/dnsmasq.d/weft.conf; ! getent ahostsv6 scanner.fips'
  rm -f "$SCRATCH/bin/"*
else
  echo "skipped dnsmasq: not installed"
fi
if [ -x "$RESOLVED" ] && command -v "$RESOLVECTL" busctl dbus-daemon > /dev/null; then
  check "systemd-resolved: getent finds names, and they go with the interface" private "$finds"'
    set -e
    ln -sf "$(command -v $RESOLVECTL)" $SCRATCH/bin/resolvectl
    grep -q ^systemd-resolve: /etc/passwd || { echo "systemd-resolve:x:64999:64999::/:/usr/sbin/nologin" >> /etc/passwd; echo "systemd-resolve:x:64999:" >> /etc/group; }
    mkdir -p /run/systemd/resolve /run/dbus /run/systemd/system; chown systemd-resolve: /run/systemd/resolve
    cat > /run/dbus.conf <<X
<busconfig><type>system</type><listen>unix:path=/run/dbus/system_bus_socket</listen><policy context="default">
<allow user="*"/><allow own="*"/><allow send_type="method_call"/><allow send_type="signal"/>
<allow send_requested_reply="true" send_type="method_return"/><allow send_requested_reply="true" send_type="error"/>
<allow receive_type="method_call"/><allow receive_type="method_return"/><allow receive_type="error"/><allow receive_type="signal"/>
</policy></busconfig>
X
    dbus-daemon --config-file=/run/dbus.conf --nofork --nopidfile > /run/dbus.log 2>&1 & bus=$!
    trap "kill \$bus \$resolved" EXIT
    for i in $(seq 50); do test -S /run/dbus/system_bus_socket && break; sleep 0.1; done
    echo "nameserver 127.0.0.53" > /etc/resolv.conf
    ! $RESOLVER -c $FILE up | grep -q "systemd-resolved asks"
    $RESOLVED > /run/resolved.log 2>&1 & resolved=$!
    for i in $(seq 50); do test -e /run/systemd/resolve/stub-resolv.conf && break; sleep 0.1; done
    $RESOLVER -c $FILE up | grep -q "systemd-resolved asks weftd"
    finds scanner.fips; finds www.bee.fips
    $RESOLVER -c $FILE status | grep -q "auto *resolved"
    $RESOLVER -c $FILE down | grep -q "taken back: resolved"
    ! getent ahostsv6 scanner.fips
    $RESOLVER -c $FILE down | grep -q "nothing to take back"'
else
  echo "skipped systemd-resolved: not installed"
fi
netns_end
