#!/bin/sh
# Installs weft from this folder. Usage: ./install.sh [PREFIX]   (default /usr/local)
# An existing /etc/weft/weft.yaml and the key stay as they are. To upgrade, run the newer one's install.sh.
set -eu
cd "$(dirname "$0")"
prefix=${1:-/usr/local}
case "$prefix" in /*) ;; *) echo "install: PREFIX must begin with /" >&2; exit 2 ;; esac
[ "$(id -u)" = 0 ] || { echo "install: run this as root: sudo ./install.sh" >&2; exit 1; }
if ! ./sbin/weftd --version > /dev/null 2>&1; then
  echo "install: these programs do not run on this system:" >&2
  ./sbin/weftd --version >&2 || true
  exit 1
fi

files=$(find bin sbin lib share -type f | LC_ALL=C sort)
for file in $files; do
  mkdir -p "$prefix/$(dirname "$file")"
  # Beside the old one, then in its place: a running program keeps the file it has.
  cp "$file" "$prefix/$file.new"
  mv "$prefix/$file.new" "$prefix/$file"
done

if ! getent passwd weft > /dev/null; then
  getent group weft > /dev/null || groupadd --system weft
  useradd --system --gid weft --home-dir /var/lib/weft --no-create-home --shell /usr/sbin/nologin weft
fi
mkdir -p /etc/weft /var/lib/weft
chown weft:weft /var/lib/weft
chmod 0700 /var/lib/weft
if [ ! -e /etc/weft/weft.yaml ]; then
  cp etc/weft.yaml /etc/weft/weft.yaml
  chown root:weft /etc/weft/weft.yaml
  chmod 0640 /etc/weft/weft.yaml
fi

# What uninstall.sh takes away again.
mkdir -p "$prefix/share/weft"
{ echo "$files"; echo share/weft/installed; echo share/weft/uninstall.sh; } > "$prefix/share/weft/installed"
cp uninstall.sh "$prefix/share/weft/uninstall.sh"
chmod 755 "$prefix/share/weft/uninstall.sh"

if [ -d /etc/systemd ]; then
  mkdir -p /etc/systemd/system
  sed "s|/usr/sbin/weft|$prefix/sbin/weft|" systemd/weft.service > /etc/systemd/system/weft.service
fi
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  systemctl enable --quiet weft
  systemctl restart weft
  echo "weft runs. Who is this node: sudo $prefix/bin/weft status"
else
  echo "weft is installed. Without systemd, start it as root: $prefix/sbin/weftd"
fi
echo "To remove it: sudo $prefix/share/weft/uninstall.sh"
