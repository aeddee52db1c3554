#!/usr/bin/env bash
# Hostile inputs by the million: the fuzz targets, driven by coverage. See --help.
set -euo pipefail

usage() {
  cat <<'END'
usage: scripts/fuzz.sh [SECONDS] [TARGET...]

Builds the preset `fuzz` (clang, libFuzzer, address and undefined-behaviour sanitizers) and runs each target for
SECONDS (default: 600), one behind the other. The corpus stays in build/fuzz/corpus/<target> and is where the next
run begins. A find ends with exit code 1: its input is kept as build/fuzz/found/<target>-..., and belongs, cut down,
into report/fuzz/found/<target>/, from where every build replays it.

  results    result files and files of Google Benchmark: compare, table, summary
  baseline   results and baselines: accept, and compare with what was accepted
  kernels    kernel summaries and records: kernels
  record     result folders: run.json, what --resume reads
  child      what a benchmark executable says to its runner

Exit code: 0 nothing was found; 1 something was; 2 unusable command line, no clang, or it does not build.
END
}

fail() {
  echo "fuzz.sh: $1" >&2
  exit 2
}

seconds=600 targets=()
for argument in "$@"; do
  case $argument in
    -h | --help) usage && exit 0 ;;
    results | baseline | kernels | record | child) targets+=("$argument") ;;
    *)
      [[ $argument =~ ^[1-9][0-9]{0,6}$ ]] || fail "unknown argument '$argument' (see scripts/fuzz.sh --help)"
      seconds=$argument
      ;;
  esac
done
((${#targets[@]} > 0)) || targets=(results baseline kernels record child)

# shellcheck source=scripts/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
cd "$root"

# clang may be there without the library that drives the targets.
compiler=${CXX:-clang++}
mkdir -p "$logs"
if ! "$compiler" -fsanitize=fuzzer,address -x c++ - -o "$logs/fuzzer-probe" 2>"$logs/fuzzer-probe.log" <<'END'
extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }
END
then
  fail "no clang with libFuzzer ($compiler; $logs/fuzzer-probe.log): apt-get install clang libclang-rt-dev, or name one in CXX"
fi
rm -f "$logs/fuzzer-probe"

install_packages
step "configure (fuzz)" configure-fuzz cmake -S "$root" --preset fuzz -DCMAKE_CXX_COMPILER="$compiler" \
  -G "$(has ninja && echo Ninja || echo 'Unix Makefiles')" || exit 2
step "build (fuzz, $jobs jobs)" build-fuzz \
  cmake --build build/fuzz --parallel "$jobs" --target "${targets[@]/#/fuzz_}" || exit 2

code=0
mkdir -p build/fuzz/found
for target in "${targets[@]}"; do
  log=$logs/fuzz-$target.log found=0
  mkdir -p "build/fuzz/corpus/$target"
  printf '%s for %d s ... ' "$target" "$seconds"
  "build/fuzz/bin/fuzz_$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=32768 \
    -print_final_stats=1 -artifact_prefix="build/fuzz/found/$target-" \
    "build/fuzz/corpus/$target" "build/fuzz/fuzz-seeds/$target" >"$log" 2>&1 </dev/null || found=$?
  runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  covered=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -n 1)
  if ((found == 0)); then
    printf 'nothing found: %s inputs, %s edges covered\n' "$runs" "$covered"
  else
    printf 'FOUND\n'
    grep -m 3 -E '^found: |ERROR: |SUMMARY: |runtime error: |Test unit written' "$log" | sed 's/^/  | /' >&2 || true
    printf 'full log: %s\n' "$log" >&2
    code=1
  fi
done
exit "$code"
