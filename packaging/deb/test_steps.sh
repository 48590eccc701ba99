# The packages and what can be said of them without installing; sourced by test.

OLD_VERSION=0.0.1

# $S/deb/weft_*.deb as it is, and $S/old/weft_*.deb: an older version whose configuration file differs.
make_packages() {
  packaging/deb/build --no-build --build-dir "$build_dir" --out "$S/deb" > "$S/build.log" 2>&1 || { cat "$S/build.log"; return 1; }
  NEW=$(echo "$S"/deb/weft_*.deb)
  NEW_VERSION=$(dpkg-deb -f "$NEW" Version)
  dpkg-deb -R "$NEW" "$S/old"
  sed -i "s/^Version: .*/Version: $OLD_VERSION/" "$S/old/DEBIAN/control"
  echo '# a line of the older version' >> "$S/old/etc/weft/weft.yaml"
  (cd "$S/old" && md5sum $(find etc usr lib -type f 2> /dev/null | grep -v '^etc/') > DEBIAN/md5sums)
  dpkg-deb --root-owner-group -b "$S/old" "$S/old.deb" > /dev/null
  OLD=$S/old.deb
}

kilobytes_installed() { dpkg-deb -f "$NEW" Installed-Size; }

check_package() {
  local list
  list=$(dpkg-deb -c "$NEW")
  for path in usr/sbin/weftd usr/sbin/weft-resolver usr/bin/weft lib/systemd/system/weft.service usr/lib/sysusers.d/weft.conf usr/lib/tmpfiles.d/weft.conf \
    etc/weft/weft.yaml usr/share/man/man1/weft.1.gz usr/share/man/man8/weftd.8.gz usr/share/man/man8/weft-resolver.8.gz \
    usr/share/man/man5/weft.yaml.5.gz \
    usr/share/bash-completion/completions/weft usr/share/zsh/vendor-completions/_weft usr/share/fish/vendor_completions.d/weft.fish; do
    check "it has /$path" has "$list" "./$path"
  done
  check "the configuration is a conffile" has "$(dpkg-deb --ctrl-tarfile "$NEW" | tar -xO ./conffiles)" /etc/weft/weft.yaml
  echo "        $(kilobytes_installed) KiB installed"
  check "it takes less than 6 MiB" test "$(kilobytes_installed)" -lt 6144
  check "on the disk too" test "$(du -sk --exclude=DEBIAN "$S/old" | cut -f 1)" -lt 6144
  check "debug symbols are a package of their own" test -f "$(echo "$S"/deb/weft-dbgsym_*.deb)"
  check "libraries are dependencies" has "$(dpkg-deb -f "$NEW" Depends)" libsodium
  check_texts
  if command -v lintian > /dev/null; then
    check "lintian has nothing to say" lintian --fail-on error,warning --no-tag-display-limit "$NEW"
  fi
}

# Manual pages and completions are accepted by the programs that read them, where those are installed.
check_texts() {
  local share=$S/old/usr/share page
  if command -v man > /dev/null; then
    for page in "$share"/man/man*/*; do
      check "$(basename "$page") is a clean manual page" test -z "$(LC_ALL=C.UTF-8 MANROFFSEQ='' MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>&1 > /dev/null)"
    done
  fi
  check "bash reads its completion" bash -n "$share/bash-completion/completions/weft"
  check "and completes with it" has "$(complete_in_bash "$share/bash-completion/completions/weft" weft peer '')" add
  if command -v zsh > /dev/null; then check "zsh reads its completion" zsh -n "$share/zsh/vendor-completions/_weft"; fi
  if command -v fish > /dev/null; then
    check "fish reads its completion" fish -n "$share/fish/vendor_completions.d/weft.fish"
    check "and completes with it" has "$(fish -c "source $share/fish/vendor_completions.d/weft.fish; complete -C 'weft peer '")" remove
  fi
}
complete_in_bash() {  # FILE WORD...
  bash -c '. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _weft; echo "${COMPREPLY[@]}"' complete "$@"
}
