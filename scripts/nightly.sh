#!/usr/bin/env bash
# The run of a night, for a machine with nobody in front of it. See --help.
set -euo pipefail

usage() {
  cat <<'END'
usage: scripts/nightly.sh [OPTION...]

Builds the release preset, measures, and compares with this device's committed baselines. Before the night goes red,
each row that is `slower` or `inconclusive` is measured again: the commit that its baseline was measured at is built,
and `strictbench ab` measures both builds by turns on this machine. What ab says of a row stands:
  slower         the night is red
  same, faster   the row passes
  inconclusive   the row stays undecided
Where the commit cannot be built or has no such row, the first verdict stays as it was.

  --filter RE        only the cases whose names RE is found in
  --processes N      starts of each operator, of the run and in each build of the confirmation
  --budget SECONDS   no further round of processes begins after this time, in either of them
  --timeout SECONDS  a process of either of them that takes longer is ended
  --device D         where to measure: cpu, cuda or the index of a GPU
  --kernels          also record the kernels of each operator (GPU only)
  --wait             as it does anyway: where another strictbench measures on the device, the night begins behind it
  --no-confirm       measure no row again: the first verdicts stand
  --out DIR          the result folder (default: results/<utc>_<commit>_<device>)
  --keep N           keep the newest N results of this device, this one among them, in the folder that it stands in;
                     older ones are removed, bench.sh's too, and nothing else is (default: 60)

In the result folder, beside the measurements:
  summary.txt                 the line that is also printed last
  report.html                 verdicts, ratios, samples and the nights before
  confirmed.json, junit.xml   what stands after the confirmation (where there is a baseline)
  compare.json, table.json    the first verdicts, the speedups
  ab-<commit>/, ab-<commit>.json  the confirmation

Exit code: 0 nothing is slower; 1 something is slower, missing, failed or wrong; 2 unusable input or command line, or
nothing was built or measured; 3 the data cannot tell, or this device has no baseline: then a candidate is written
and the command that accepts it is printed. 129, 130, 143: ended by a signal.
END
}

fail() {
  echo "nightly.sh: $1" >&2
  exit 2
}

run_options=() ab_options=() list_options=() result='' keep=60 confirm=yes filtered=no
while (($# > 0)); do
  option=${1%%=*}
  case $1 in
    -h | --help) usage && exit 0 ;;
    --no-confirm) confirm=no ;;
    --kernels) run_options+=(--kernels) ;;
    --wait) ;;
    --filter | --processes | --budget | --timeout | --device | --out | --keep | --*=*)
      if [[ $1 == *=* ]]; then
        value=${1#*=}
      else
        (($# > 1)) || fail "$1 needs a value (see scripts/nightly.sh --help)"
        value=$2
        shift
      fi
      [[ -n $value ]] || fail "$option is empty"
      case $option in
        --filter) run_options+=(--filter "$value") filtered=yes ;;
        --processes | --budget | --timeout | --device)
          run_options+=("$option" "$value") ab_options+=("$option" "$value")
          [[ $option != --device ]] || list_options=("$option" "$value")
          ;;
        --out) result=$value ;;
        --keep) keep=$value ;;
        *) fail "unknown option '$option' (see scripts/nightly.sh --help)" ;;
      esac
      ;;
    *) fail "unknown argument '$1' (see scripts/nightly.sh --help)" ;;
  esac
  shift
done
[[ $keep =~ ^[1-9][0-9]{0,5}$ ]] || fail "--keep $keep: a number of results, 1 or more"
[[ $result == /* || -z $result ]] || result=$PWD/$result
[[ ! -e $result ]] || fail "--out $result exists already: name a folder that does not"

# shellcheck source=scripts/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
cd "$root"
# shellcheck source=scripts/baselines.sh
source scripts/baselines.sh
# shellcheck source=scripts/builds.sh
source scripts/builds.sh
# shellcheck source=scripts/attended.sh
source scripts/attended.sh

# ended CODE: passes on that a command was ended by a signal.
ended() {
  case $1 in 129 | 130 | 143) exit "$1" ;; esac
}

# finish CODE: the page, room for the next night, and the line.
finish() {
  local verdict=() against=() quiet=()
  [[ ! -f $result/confirmed.json ]] || verdict=(--verdict "$result/confirmed.json")
  make_page "$result" "${verdict[@]}"
  python3 scripts/prune.py "$result" --keep "$keep" || true
  if [[ -n ${GITHUB_STEP_SUMMARY-} ]]; then
    if [[ -f $result/confirmed.json ]]; then
      against=(--baseline "${baselines[@]}")
      # What stands in the end was annotated already, and alone counts.
      quiet=(env --unset=GITHUB_ACTIONS)
      echo 'Verdicts in the table below are the first ones, against the baseline; what stands in the end is above.' \
        >>"$GITHUB_STEP_SUMMARY" || true
    else
      cat "$result/summary.txt" >>"$GITHUB_STEP_SUMMARY" || true
    fi
    "${quiet[@]}" "$strictbench" table "$result" "${against[@]}" --format markdown >/dev/null || true
  fi
  cat "$result/summary.txt"
  exit "$1"
}

install_packages
make_python_environment || echo "the report has no pictures: the Python environment for them could not be made"
attended configure_and_build release || { ended $? && exit 2; }
strictbench=build/release/bin/strictbench

gpu=$(gpu_of "$strictbench" "${list_options[@]}")
if [[ $filtered == no && -n $gpu && -z $(baselines_of "$(slug_of "$gpu")") ]]; then
  run_options+=(--filter "$first_run_filter")
fi
result=${result:-$(new_result "$strictbench" "$gpu")}

# The program, too, ends with this script where that is killed.
program=("$strictbench")
if has setpriv; then
  program=(setpriv --pdeathsig TERM -- "$strictbench")
fi
run_code=0
attended "${program[@]}" run --wait "${run_options[@]}" --out "$result" || run_code=$?
ended "$run_code"
# 1 is a run whose rows are not all there, 3 one of suspect samples: what is there is compared. Of 2 it has said why.
if ((run_code > 3)); then
  fail "the run was ended with code $run_code; what it measured is in $result: finish it with $strictbench run --resume \
$(printf %q "$result")"
elif ((run_code == 2)) || [[ ! -f $result/run.json ]]; then
  exit 2
fi

echo
# Without annotations: each row is to have one, in the end.
"${without_github[@]}" "$strictbench" table "$result" || true
"${without_github[@]}" "$strictbench" table "$result" --format json --output "$result/table.json" >/dev/null || true
compare_kernels "$strictbench" "$result"
echo
device=$(device_of "$result")
mapfile -t baselines < <(baselines_of "$device")

if ((${#baselines[@]} == 0)); then
  if ((run_code == 0)); then
    offer_candidate "$strictbench" "$result" "$device"
    echo "undecided: no baseline for $device yet; $result" >"$result/summary.txt"
    finish 3
  elif ((run_code == 3)); then
    echo "undecided: no baseline for $device yet, and most samples are suspect; $result" >"$result/summary.txt"
    finish 3
  fi
  echo "failed: no baseline for $device yet, and something failed in the run; $result" >"$result/summary.txt"
  [[ ${GITHUB_ACTIONS-} != true ]] || echo '::error title=strictbench::something failed in the run; run.json says what'
  finish 1
fi

# What GitHub shows is what stands in the end.
code=0
"${without_github[@]}" "$strictbench" compare --baseline "${baselines[@]}" --contender "$result" --format json \
  --output "$result/compare.json" || code=$?
((code <= 3)) || fail "the comparison was ended with code $code; what was measured is in $result"
((code != 2)) || exit 2

# confirm COMMIT FILTER: asks ab about the rows of a filter. Notes say why there is no answer. `worktree` is where the
# build, in its subshell, will have the commit's files: for the case that a signal ends it.
notes=()
confirm() {
  local commit=$1 short=${1:0:10} why='' code=0
  if [[ -z $(commit_of "$commit") ]]; then
    why="$short, which the baseline was measured at, is no commit of this repository"
  elif worktree=$(build_folder "$commit")/source && ! attended build_commit "$commit"; then
    why="$short, which the baseline was measured at, does not build"
  else
    attended "${without_github[@]}" "${program[@]}" ab --wait --base "$(build_folder "$commit")" --head build/release \
      --filter "$2" "${ab_options[@]}" --out "$result/ab-$short" \
      --format json --output "$result/ab-$short.json" || code=$?
    ended "$code"
    [[ -f $result/ab-$short.json ]] || why="the comparison with $short could not be measured"
  fi
  if [[ -n $why ]]; then
    echo "not confirmed: $why; verdicts stay as they were" >&2
    notes+=(--note "not confirmed: $why; verdicts stay as they were")
  fi
}

if [[ $confirm == yes ]]; then
  python3 report/nightly/confirm.py questions "$result" --baseline "${baselines[@]}" >"$result/questions.txt" || exit 2
  while IFS=$'\t' read -r commit filter; do
    confirm "$commit" "$filter"
  done <"$result/questions.txt"
  rm "$result/questions.txt"
else
  notes=(--note 'not confirmed: --no-confirm')
fi
# What stands is as bad as the run was, in every file; what is slower in spite of suspect samples is slower.
ended_badly=()
case $run_code in
  1) ended_badly=(--run failed) ;;
  3) ended_badly=(--run suspect) ;;
esac
code=0
python3 report/nightly/confirm.py settle "$result" --baseline "${baselines[@]}" "${notes[@]}" "${ended_badly[@]}" ||
  code=$?
((code == 0 || code == 1 || code == 3)) && [[ -f $result/summary.txt ]] || exit 2
finish "$code"
