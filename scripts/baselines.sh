# shellcheck shell=bash disable=SC2034  # names here are for the scripts that source this
# What bench.sh and nightly.sh know of devices, their committed baselines, and results. To be sourced after
# setup.sh, with the source tree as the working directory.

# What a baseline holds: `wall` times the host's launches too, and a shared host does that too unevenly to gate;
# in a call of milliseconds, as `event` times, they do not show.
baseline_timers='timer:(graph|cold|event|cpu)'
# The timers that the published figures were taken with, to be shown beside them.
first_run_filter='timer:graph|qwen3_ffn/.*timer:event|row_fold/.*timer:wall|embedding_backward/.*timer:cold'
first_run_budget=240

# slug_of NAME: the folder of a device's baselines, as `accept` names it.
slug_of() {
  python3 -c '
import re, sys
words = re.findall("[a-z0-9][a-z0-9.]*", sys.argv[1].lower())
print("-".join(word for word in words if word != "nvidia"))' "$1"
}

# device_of RESULT: the device that a result was measured on, as `accept` names it.
device_of() {
  slug_of "$(python3 -c '
import json, sys
run = json.load(open(sys.argv[1], encoding="utf-8"))
print(run.get("gpu_name") or run["machine"]["before"].get("cpu_model", "cpu"))' "$1/run.json")"
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

# gpu_of PROGRAM [LIST-OPTION...]: the name of the GPU that a run would measure on; empty for the CPU.
gpu_of() {
  local program=$1
  shift
  "$program" list --format json "$@" 2>/dev/null | sed -n 's/.*"gpu_name": "\([^"]*\)".*/\1/p' | head -n 1 || true
}

# new_result PROGRAM GPU: a folder for a result that does not exist yet, named as `strictbench run` names its own.
new_result() {
  local device name number=2
  device=$(slug_of "$2")
  name=results/$(python3 -c '
import datetime, json, pathlib, sys
try:
    build = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
except (OSError, ValueError):  # then the run says what is wrong with it
    build = {}
commit = str(build.get("git_commit") or "")[:10] if isinstance(build, dict) else ""
commit = commit if commit.isascii() and commit.isalnum() else "nocommit"
dirty = "-dirty" if commit != "nocommit" and build.get("git_dirty") in (True, "true", "1") else ""
print(f"{datetime.datetime.now(datetime.timezone.utc):%Y%m%dT%H%M%SZ}_{commit}{dirty}")' \
    "$(dirname "$1")/build.json")_${device:-cpu}
  if [[ -e $name ]]; then
    while [[ -e $name-$number ]]; do number=$((number + 1)); done
    name+=-$number
  fi
  echo "$name"
}

# offer_candidate PROGRAM RESULT DEVICE: a baseline that could be committed, and the command that does it.
offer_candidate() {
  if "$1" accept "$2" --name first --filter "$baseline_timers" --baselines "$2/candidate"; then
    echo "no baseline for $3 yet; a candidate is in $2/candidate. To make it the baseline:"
    printf "  %s accept %q --name first --filter '%s' --baselines baselines\n" "$1" "$2" "$baseline_timers"
  else
    echo "no baseline for $3 yet, and this run cannot become one (see above)"
  fi
}

# compare_kernels PROGRAM RESULT: kernels.json, legacy's kernels and new's, where a result has a record of kernels.
compare_kernels() {
  if compgen -G "$2/*.kernels.json" >/dev/null; then
    "$1" kernels --before "$2" --before-case /legacy/ --after "$2" --after-case /new/ \
      --format json --output "$2/kernels.json" || true
  fi
}

# make_page RESULT [OPTION...]: report.html in the result folder. The page needs no package; its pictures do.
make_page() {
  local python=.venv/bin/python
  "$python" -c '' 2>/dev/null || python=python3
  "$python" report/page/report.py "$@" || echo "no report.html, see above"
}

# Before a command that is not to write annotations or a step summary.
without_github=(env --unset=GITHUB_ACTIONS --unset=GITHUB_STEP_SUMMARY)
