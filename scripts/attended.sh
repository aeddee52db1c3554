# shellcheck shell=bash
# Commands that end with the script that runs them. To be sourced; sets traps on HUP, INT and TERM.

# attended COMMAND...: in a process group of its own, so that a signal to this script ends all of it and nothing else,
# and is obeyed at once.
attended=''
attended() {
  local code=0
  set -m
  "$@" </dev/null &
  attended=$!
  set +m
  wait "$attended" || code=$?
  attended=''
  return "$code"
}
# shellcheck disable=SC2317  # reached by the traps
stopped() {
  trap '' HUP INT TERM
  if [[ -n $attended ]]; then
    kill -TERM -- "-$attended" 2>/dev/null || true
    wait "$attended" 2>/dev/null || true
  fi
  exit "$1"
}
trap 'stopped 129' HUP
trap 'stopped 130' INT
trap 'stopped 143' TERM
