# shellcheck shell=bash
# Commands that end with the script that runs them. To be sourced; sets traps on HUP, INT and TERM.

# attended COMMAND...: in a process group of its own, so that a signal to this script ends all of it and nothing else,
# and is obeyed at once.
attended=''
starting='' # a signal now would not know yet whom to end
pending=''
attended() {
  local code=0
  starting=true
  set -m
  "$@" </dev/null &
  attended=$!
  set +m
  starting=''
  [[ -z $pending ]] || stopped "$pending"
  wait "$attended" || code=$?
  attended=''
  return "$code"
}
# shellcheck disable=SC2317  # reached by the traps
stopped() {
  if [[ -n $starting ]]; then
    pending=$1
    return
  fi
  trap '' HUP INT TERM
  if [[ -n $attended ]]; then
    kill -TERM -- "-$attended" 2>/dev/null || true
    wait "$attended" 2>/dev/null || true
    # Of a function that is its subshell alone: what that ran may still be writing, for five seconds at most.
    local left
    for ((left = 50; left > 0; --left)); do
      kill -0 -- "-$attended" 2>/dev/null || break
      sleep 0.1 2>/dev/null || true
    done
  fi
  exit "$1"
}
trap 'stopped 129' HUP
trap 'stopped 130' INT
trap 'stopped 143' TERM
