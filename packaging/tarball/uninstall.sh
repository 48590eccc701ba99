#!/bin/sh
# Removes what install.sh installed. Usage: uninstall.sh [--purge]
#   --purge  also /etc/weft, the key in /var/lib/weft, and the user
set -eu
purge=
case "${1:-}" in
  "") ;;
  --purge) purge=yes ;;
  *) echo "usage: uninstall.sh [--purge]" >&2; exit 2 ;;
esac
[ "$(id -u)" = 0 ] || { echo "uninstall: run this as root" >&2; exit 1; }
prefix=$(cd "$(dirname "$0")/../.." && pwd)
list=$prefix/share/weft/installed
[ -f "$list" ] || { echo "uninstall: $list is missing; this is no installation of weft" >&2; exit 1; }

if [ -f /etc/systemd/system/weft.service ]; then
  if [ -d /run/systemd/system ]; then systemctl disable --quiet --now weft || true; fi
  rm -f /etc/systemd/system/weft.service
  if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
fi
folders=
while read -r file; do
  rm -f "$prefix/$file"
  folders="$folders $(dirname "$file")"
done < "$list"
# Folders that are empty now and have our name; the others are everybody's.
for folder in $folders; do
  case "$folder" in *weft*) rmdir "$prefix/$folder" 2> /dev/null || true ;; esac
done
rmdir "$prefix/share/doc/weft/licences" "$prefix/share/doc/weft/examples" "$prefix/share/doc/weft" "$prefix/share/weft" "$prefix/lib/weft" 2> /dev/null || true
if [ -n "$purge" ]; then
  rm -rf /etc/weft /var/lib/weft /run/weft
  userdel weft 2> /dev/null || true
  groupdel weft 2> /dev/null || true
else
  echo "Left: /etc/weft and /var/lib/weft (the key); uninstall.sh --purge would have deleted them."
fi
