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
  report.html in the result folder: verdicts, ratios, samples, history; its data are compare.json, table.json and,
  where kernels were recorded, kernels.json
Where the device has no baseline, a candidate is written and the command that accepts it is printed.

RUN-OPTIONs go to `strictbench run`:
  --filter RE           only the cases whose names RE is found in
  --processes N         starts of each operator
  --budget SECONDS      no further round of processes begins after this time
  --timeout SECONDS     a process that takes longer is ended
  --device cpu|cuda|N   where to measure
  --out DIR             the result folder (default: results/<utc>_<commit>_<device>)
  --resume DIR          finish an interrupted run
  --wait                begin when no other strictbench measures on the device any more
  --kernels             also record the kernels of each operator (GPU only); legacy's and new's are then compared

Exit code: 0 everything is as fast as the baseline, or there is none; 1 something is slower, missing, failed or
wrong; 2 unusable input or command line; 3 the data cannot tell. 129, 130, 143: ended by a signal.
END
}

# The result folder is named by --out or --resume, seen from where the user stands, else named here.
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
      --filter=* | --processes=* | --budget=* | --timeout=* | --device=* | --executables=*) ;;
      --allow-debug | --kernels | --wait) ;;
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
# shellcheck source=scripts/baselines.sh
source scripts/baselines.sh

pictures=yes
install_packages
make_python_environment || pictures=no
configure_and_build release || exit 2
strictbench=build/release/bin/strictbench

if grep -q '^-- CUDA variants: left out' "$logs/configure-release.log" && nvidia-smi -L >/dev/null 2>&1; then
  echo "This machine has a GPU, but the CUDA variants are not built: install the CUDA Toolkit, 12 or newer."
fi

gpu=$(gpu_of "$strictbench" "${list_options[@]}")
# A GPU's first run also takes the timers of the published figures. What the user asks for goes first.
if [[ " ${run_options[*]-} " != *" --filter"* && " ${run_options[*]-} " != *" --resume"* ]]; then
  if [[ -n $gpu && -z $(baselines_of "$(slug_of "$gpu")") ]]; then
    run_options+=(--filter "$first_run_filter")
    [[ " ${run_options[*]} " == *" --budget"* ]] || run_options+=(--budget "$first_run_budget")
  fi
fi
if [[ -z $result ]]; then
  result=$(new_result "$strictbench" "$gpu")
  run_options+=(--out "$result")
fi

# The run ends with this script, whatever ends it.
with_parent=()
if has setpriv; then
  with_parent=(setpriv --pdeathsig TERM --)
fi
run_code=0
"${with_parent[@]}" "$strictbench" run "${run_options[@]}" || run_code=$?
# 1 is a run whose rows are not all there, 3 one of suspect samples: what is there is still shown.
case $run_code in
  0 | 1 | 3) [[ -f $result/run.json ]] || exit "$run_code" ;;
  2 | 129 | 130 | 143) exit "$run_code" ;;
  *)
    echo "bench.sh: the run was ended with code $run_code; what it measured is in $result: finish it with" \
      "$strictbench run --resume $(printf %q "$result")" >&2
    exit 2
    ;;
esac

echo
"$strictbench" table "$result" || run_code=$((run_code > 0 ? run_code : $?))
"$strictbench" table "$result" --format json --output "$result/table.json" >/dev/null || true
compare_kernels "$strictbench" "$result"
echo
if [[ $pictures == yes ]]; then
  .venv/bin/python report/pictures/speedup.py "$result" || echo "no picture, see above"
else
  echo "no picture: the Python environment for it could not be made"
fi

device=$(device_of "$result")
mapfile -t baselines < <(baselines_of "$device")

code=0
if ((${#baselines[@]} > 0)); then
  sides=(--baseline "${baselines[@]}" --contender "$result")
  "${without_github[@]}" "$strictbench" compare "${sides[@]}" --format json --output "$result/compare.json" \
    >/dev/null || true
  make_page "$result"
  "$strictbench" compare "${sides[@]}" || code=$?
else
  make_page "$result"
  if ((run_code == 3)); then
    echo "no baseline for $device yet, and no candidate from samples that are suspect"
  elif ((run_code == 0)); then
    offer_candidate "$strictbench" "$result" "$device"
  else
    echo "no baseline for $device yet, and no candidate from a run in which something failed"
  fi
fi
# What is slower in spite of suspect samples is slower; else a run that cannot tell is undecided.
((run_code == 0)) || ((run_code == 3 && code == 1)) || code=$run_code
exit "$code"
