#!/bin/sh
# Makes keys and configurations for the five nodes of compose.yaml: mesh-keys.sh FOLDER
# A ring with one shortcut, a-b-c-d-e-a and b-e; each node dials the next ones only. Nodes that have a key keep it.
set -eu
folder=$1
address() { case $1 in a) echo 172.31.21.11 ;; b) echo 172.31.21.12 ;; c) echo 172.31.21.13 ;; d) echo 172.31.21.14 ;; e) echo 172.31.21.15 ;; esac; }
dials() { case $1 in a) echo b ;; b) echo c e ;; c) echo d ;; d) echo e ;; e) echo a ;; esac; }

umask 077
for node in a b c d e; do
  mkdir -p "$folder/$node"
  [ -s "$folder/$node/weft.key" ] || weft keygen -d "$folder/$node" 2> /dev/null
done
for node in a b c d e; do
  {
    echo "# node $node of the test mesh; made by mesh-keys.sh"
    echo "peers:"
    for peer in $(dials $node); do
      echo "  - npub: $(cat "$folder/$peer/weft.pub")"
      echo "    alias: $peer"
      echo "    addresses: [ { transport: udp, addr: '$(address $peer):2121' } ]"
    done
    echo "weft:"
    echo "  firewall: { enabled: true, allow: [] }"
  } > "$folder/$node/weft.yaml"
  # Every node knows all names.
  for other in a b c d e; do echo "$other $(cat "$folder/$other/weft.pub")"; done > "$folder/$node/hosts"
done
