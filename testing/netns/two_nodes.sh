#!/bin/bash
# Two nodes over one veth: a ping both ways, TCP both ways, and nothing left behind at the end.
. "$(dirname "$0")/lib.sh"
netns_begin wd-two
netns_add a b
netns_link a b
node_keys a b
node_config a "peers:
  - { npub: $(node_npub b), alias: b, addresses: [ { transport: udp, addr: '10.77.1.2:2121' } ] }"
node_start a
node_start b

check "b answers a" wait_ping a b
check "a answers b" wait_ping b a
check "large packets arrive" in_ns a ping -6 -c 3 -i 0.2 -s 1232 "$(node_addr b)"
server() { in_ns b ss -Htln sport = :5201; }
iperf_server() {  # for one test; the one before may still be there
  wait_until 5 not prints :5201 server
  in_ns b iperf3 -s -1 -D --logfile "$SCRATCH/iperf.log"
  wait_until 5 prints :5201 server
}
iperf_server
check "TCP from a to b" in_ns a iperf3 -c "$(node_addr b)" -t 3
iperf_server
check "TCP from b to a" in_ns a iperf3 -c "$(node_addr b)" -t 3 -R

for n in a b; do
  node_stop $n
  check "$n ends with 0" test "$NODE_EXIT" = 0
  check "$n leaves no interface" not in_ns $n ip link show weft0
  check "$n leaves no rule" not grep -q fd00 <(in_ns $n ip -6 rule)
  check "$n leaves no route" not grep -q fd00 <(in_ns $n ip -6 route)
  check "$n leaves no socket" not test -e "$SCRATCH/$n/control.sock"
done
netns_end
