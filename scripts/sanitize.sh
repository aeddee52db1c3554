#!/usr/bin/env bash
# The kernel tests under compute-sanitizer. See --help.
set -euo pipefail

usage() {
  cat <<'END'
usage: scripts/sanitize.sh [--tool TOOL]... [--filter F] [--kernel NAME] [--build DIR]

Runs the kernel tests on the GPU under compute-sanitizer, one tool after the other:
  memcheck   accesses out of range or misaligned, and calls of CUDA that fail
  racecheck  shared memory that threads of a block use without waiting for each other
  initcheck  reads of device memory that nothing was written to
Tests whose names contain `Large` are left out: under a tool, a kernel takes up to a hundred times as long. The
property tests draw five cases each under racecheck (STRICTBENCH_DRAWS), all of them under the others.

  --tool TOOL    only this tool; may be given several times
  --filter F     only these tests, as --gtest_filter takes them, for example 'RowFold*'; never the Large ones
  --kernel NAME  watch only kernels with NAME in theirs, for example fold_strips: the others run at full speed,
                 so that it takes seconds where all of them take minutes. Not by initcheck, which would take what
                 the others write for unwritten. The tool does not tell whether any was launched: give it a
                 filter of tests that do
  --build DIR    the build whose tests run (default: build/release, which scripts/setup.sh makes)

One line per tool says what it ran. Its whole output is in build/logs/sanitize-TOOL.log; after a finding, the
first lines of it are on standard error.

Exit code: 0 nothing was found; 1 a tool found something, or a test failed under it; 2 unusable command line, or
no compute-sanitizer, no GPU, no tests built for it. 129, 130, 143: ended by a signal.
END
}

fail() {
  echo "sanitize.sh: $1" >&2
  exit 2
}

# compute-sanitizer ends with this where it finds something; a test program that fails ends with 1.
readonly found=99
readonly lines_shown=40

readonly all_tools=(memcheck racecheck initcheck)
tools=() filter='*' kernel='' build=''
while (($# > 0)); do
  option=${1%%=*}
  case $option in
    -h | --help) usage && exit 0 ;;
    --tool | --filter | --kernel | --build) ;;
    *) fail "unknown argument '$1' (see scripts/sanitize.sh --help)" ;;
  esac
  if [[ $1 == *=* ]]; then
    value=${1#*=}
  else
    (($# > 1)) || fail "$1 needs a value"
    value=$2
    shift
  fi
  shift
  [[ -n $value ]] || fail "$option is empty"
  case $option in
    --tool)
      [[ " ${all_tools[*]} " == *" $value "* ]] || fail "--tool $value: one of ${all_tools[*]}"
      tools+=("$value")
      ;;
    --filter) filter=$value ;;
    --kernel) kernel=$value ;;
    --build) build=$value ;;
  esac
done
watched=()
if [[ -n $kernel ]]; then
  [[ $kernel =~ ^[A-Za-z0-9_]+$ ]] || fail "--kernel $kernel: a part of a kernel's name, as in the source"
  [[ " ${tools[*]} " != *' initcheck '* ]] || fail "--kernel with --tool initcheck: it must see every kernel's writes"
  ((${#tools[@]} > 0)) || tools=(memcheck racecheck)
  watched=(--kernel-name "kns=$kernel")
fi
((${#tools[@]} > 0)) || tools=("${all_tools[@]}")

# GoogleTest takes one `-`: what follows it is left out.
case $filter in
  *-*) filter+=':*Large*' ;;
  *) filter+='-*Large*' ;;
esac

# shellcheck source=scripts/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

tests=${build:-$root/build/release}/tests/kernels_test
sanitizer=compute-sanitizer
has "$sanitizer" || sanitizer=${CUDA_HOME:-/usr/local/cuda}/bin/compute-sanitizer
has "$sanitizer" || fail "no compute-sanitizer on PATH or in ${CUDA_HOME:-/usr/local/cuda}/bin; it comes with the CUDA Toolkit"
nvidia-smi -L >/dev/null 2>&1 || fail "no GPU here (nvidia-smi -L lists none)"
[[ -x $tests ]] || fail "$tests is not built; scripts/setup.sh builds it, --build names another build"
[[ -z $kernel ]] || grep -qF -- "$kernel" "$tests" || fail "--kernel $kernel: no kernel of $tests has it in its name"

# A tool can take long: it ends with this script, whatever ends that.
with_parent=()
if has setpriv; then
  with_parent=(setpriv --pdeathsig TERM --)
fi

good='' bad='' plain=''
if [[ -t 1 && -z ${NO_COLOR-} ]]; then
  good=$'\e[32m' bad=$'\e[31m' plain=$'\e[0m'
fi

# number_of PATTERN LOG: the sum of the numbers that the pattern's only group finds; empty where it finds none.
number_of() {
  local sum='' number
  while read -r number; do
    sum=$((${sum:-0} + number))
  done < <(sed -En "s/$1/\1/p" "$2")
  echo "$sum"
}

# check TOOL: runs it, prints its line, returns 1 where it found something.
check() {
  local tool=$1 log=$logs/sanitize-$1.log began=$SECONDS code=0 findings ran what few=()
  if [[ $tool == racecheck ]]; then
    few=(env "STRICTBENCH_DRAWS=${STRICTBENCH_DRAWS:-5}")  # milliseconds a launch, and a fold has thousands
  fi
  "${with_parent[@]}" "${few[@]}" "$sanitizer" --tool "$tool" "${watched[@]}" --error-exitcode "$found" "$tests" "--gtest_filter=$filter" \
    >"$log" 2>&1 </dev/null || code=$?
  ran=$(number_of '^\[==========\] ([0-9]+) tests? from .* ran\..*' "$log")
  # `ERROR SUMMARY: 0 errors`, and of racecheck `RACECHECK SUMMARY: 0 hazards displayed`.
  findings=$(number_of '^=+ [A-Z]+ SUMMARY: ([0-9]+) (error|hazard).*' "$log")
  if [[ $ran == 0 ]]; then
    fail "--gtest_filter=$filter finds no test"
  fi
  if [[ -z $findings ]] && grep -q 'before first instrumented API call' "$log"; then
    fail "$tool saw no call of CUDA: $tests was built without CUDA, or no test of the filter uses the GPU"
  fi
  what="${ran:-0} tests, $((SECONDS - began)) s"
  if ((code == 0)) && [[ $findings == 0 && -n $ran ]]; then
    printf '%-10s %s: %sclean%s%s\n' "$tool" "$what" "$good" "$plain" "${kernel:+, of kernels with $kernel in their names}"
    return 0
  fi
  if [[ -z $findings ]]; then
    what+=", ended early (exit code $code)"
  elif ((findings > 0)); then
    what+=", $findings found"
  else
    what+=", tests failed (exit code $code)"
  fi
  printf '%-10s %s: %sFOUND%s, see %s\n' "$tool" "$what" "$bad" "$plain" "$log"
  grep -E '^=========|FAILED' "$log" | head -n "$lines_shown" | sed 's/^/  | /' >&2 || true
  return 1
}

mkdir -p "$logs"
code=0
for tool in "${tools[@]}"; do
  check "$tool" || code=1
done
exit "$code"
