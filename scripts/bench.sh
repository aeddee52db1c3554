#!/usr/bin/env bash
# The main job in one command, on a fresh machine too. See --help.
set -euo pipefail

usage() {
  cat <<'END'
usage: scripts/bench.sh [RUN-OPTION...]

Sets the machine up (packages, Python environment), builds the release preset, measures every operator on what
the machine has (the GPU, or the CPU alone), and shows
  the table of speedups, with the published figures beside where there are any
  speedup.png and speedup.svg in the result folder
  the comparison with this device's committed baseline, baselines/<device>/*.json
Where the device has no baseline, a candidate is written and the command that accepts it is printed.

RUN-OPTIONs go to `strictbench run`:
  --filter RE           only the cases whose names RE is found in
  --processes N         starts of each operator
  --budget SECONDS      no further round of processes begins after this time
  --timeout SECONDS     a process that takes longer is ended
  --device cpu|cuda|N   where to measure
  --out DIR             the result folder (default: results/<utc>_<commit>_<device>)
  --resume DIR          finish an interrupted run

Exit code: 0 everything is as fast as the baseline, or there is none; 1 something is slower, missing, failed or
wrong; 2 unusable input or command line; 3 the data cannot tell. 129, 130, 143: ended by a signal.
END
}

# The result folder is named by --out or --resume, seen from where the user stands, else found afterwards.
run_options=() list_options=() result='' takes_folder=no takes_device=no
for argument in "$@"; do
  if [[ $takes_device == yes ]]; then
    list_options=(--device "$argument") takes_device=no
  fi
  case $argument in
    --device) takes_device=yes ;;
    --device=*) list_options=("$argument") ;;
  esac
  if [[ $takes_folder == yes ]]; then
    [[ $argument == /* ]] || argument=$PWD/$argument
    result=$argument takes_folder=no
  else
    case $argument in
      -h | --help) usage && exit 0 ;;
      --out | --resume) takes_folder=yes ;;
      --filter | --processes | --budget | --timeout | --device | --executables) ;;
      --filter=* | --processes=* | --budget=* | --timeout=* | --device=* | --executables=* | --allow-debug) ;;
      --out=/* | --resume=/*) result=${argument#*=} ;;
      --out=* | --resume=*) result=$PWD/${argument#*=} argument=${argument%%=*}=$PWD/${argument#*=} ;;
      -*) [[ ${previous-} == --filter ]] || {
        echo "bench.sh: unknown option '$argument' (see scripts/bench.sh --help)" >&2
        exit 2
      } ;;
    esac
  fi
  run_options+=("$argument") previous=$argument
done

# shellcheck source=scripts/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
cd "$root"

pictures=yes
install_packages
make_python_environment || pictures=no
configure_and_build release || exit 2
strictbench=build/release/bin/strictbench

if grep -q '^-- CUDA variants: left out' "$logs/configure-release.log" && nvidia-smi -L >/dev/null 2>&1; then
  echo "This machine has a GPU, but the CUDA variants are not built: install the CUDA Toolkit, 12 or newer."
fi

# What a baseline holds: `wall` times the host's launches too, and a shared host does that too unevenly to gate;
# in a call of milliseconds, as `event` times, they do not show.
baseline_timers='timer:(graph|cold|event|cpu)'

# slug_of NAME: the folder of a device's baselines, as `accept` names it.
slug_of() {
  python3 -c '
import re, sys
words = re.findall("[a-z0-9][a-z0-9.]*", sys.argv[1].lower())
print("-".join(word for word in words if word != "nvidia"))' "$1"
}

# baselines_of DEVICE: its committed baselines, one a line; published figures are none.
baselines_of() {
  local file
  for file in "baselines/$1"/*.json; do
    if [[ -f $file && $file != */published.json ]]; then
      echo "$file"
    fi
  done
}

# A GPU's first run also takes the timers that the published figures were taken with, to be shown beside them.
# What the user asks for goes first.
if [[ " ${run_options[*]-} " != *" --filter"* && " ${run_options[*]-} " != *" --resume"* ]]; then
  gpu=$("$strictbench" list --format json "${list_options[@]}" 2>/dev/null |
    sed -n 's/.*"gpu_name": "\([^"]*\)".*/\1/p' | head -n 1) || gpu=''
  if [[ -n $gpu && -z $(baselines_of "$(slug_of "$gpu")") ]]; then
    run_options+=(--filter 'timer:graph|qwen3_ffn/.*timer:event|row_fold/.*timer:wall|embedding_backward/.*timer:cold')
    [[ " ${run_options[*]} " == *" --budget"* ]] || run_options+=(--budget 240)
  fi
fi

# measure: runs, and sets `result`. The run ends with this script, whatever ends it.
measure() {
  local with_parent=() before after code=0
  if has setpriv; then
    with_parent=(setpriv --pdeathsig TERM --)
  fi
  mkdir -p results
  before=$(ls results)
  "${with_parent[@]}" "$strictbench" run "${run_options[@]}" || code=$?
  if [[ -z $result ]]; then
    after=$(ls results)
    result=$(comm -13 <(sort <<<"$before") <(sort <<<"$after") | tail -n 1)
    result=${result:+results/$result}
  fi
  return "$code"
}

run_code=0
measure || run_code=$?
# 1 is a run whose rows are not all there: what is there is still shown.
if ((run_code > 1)) || [[ ! -f $result/run.json ]]; then
  exit "$run_code"
fi

echo
"$strictbench" table "$result"
echo
if [[ $pictures == yes ]]; then
  .venv/bin/python report/pictures/speedup.py "$result" || echo "no picture, see above"
else
  echo "no picture: the Python environment for it could not be made"
fi

device=$(slug_of "$(python3 -c '
import json, sys
run = json.load(open(sys.argv[1], encoding="utf-8"))
print(run.get("gpu_name") or run["machine"]["before"].get("cpu_model", "cpu"))' "$result/run.json")")
mapfile -t baselines < <(baselines_of "$device")

if ((${#baselines[@]} > 0)); then
  compare_code=0
  "$strictbench" compare --baseline "${baselines[@]}" --contender "$result" || compare_code=$?
  ((run_code == 0)) || exit "$run_code"
  exit "$compare_code"
elif ((run_code != 0)); then
  echo "no baseline for $device yet, and no candidate from a run in which something failed"
  exit "$run_code"
elif "$strictbench" accept "$result" --name first --filter "$baseline_timers" --baselines "$result/candidate"; then
  echo "no baseline for $device yet; a candidate is in $result/candidate. To make it the baseline:"
  printf "  %s accept %q --name first --filter '%s' --baselines baselines\n" \
    "$strictbench" "$result" "$baseline_timers"
else
  echo "no baseline for $device yet, and this run cannot become one (see above)"
fi
