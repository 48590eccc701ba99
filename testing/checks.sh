# What scripts that test share; sourced by testing/netns/lib.sh and packaging/scratch_root.sh. CHECK_OUT names a file for
# what a command says.
#
#   check TEXT CMD...           one check: prints ok or FAILED with TEXT, then also what CMD said; $failed is 1 if one did
#   wait_until SECONDS CMD...   retries a command; it has to look anew each time: `prints`, not <(CMD) or "$(CMD)"
#   not CMD...
#   prints WORDS CMD...         whether the output of CMD has WORDS, a pattern of grep; shows the output if not
failed=0

check() {
  local text=$1
  shift
  if "$@" > "$CHECK_OUT" 2>&1; then
    echo "ok      $text"
  else
    echo "FAILED  $text"
    sed 's/^/        /' "$CHECK_OUT"
    failed=1
    return 1
  fi
}

wait_until() {
  local end=$(( $(date +%s%N) + $1 * 1000000000 ))
  shift
  until "$@" > /dev/null 2>&1; do
    [ "$(date +%s%N)" -lt "$end" ] || return 1
    sleep 0.05
  done
}

not() { ! "$@"; }

prints() {
  local said
  said=$("${@:2}" 2> /dev/null)
  grep -q -e "$1" <<< "$said" || { echo "$said"; return 1; }
}
