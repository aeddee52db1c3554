#!/usr/bin/env bash
# Every test in one command, on a fresh machine too. See --help.
set -euo pipefail

usage() {
  cat <<'END'
usage: scripts/test.sh [--fast] [--without-pictures]

Sets the machine up (packages, Python environment), then configures, builds and tests
  the release preset      what is measured; CUDA is compiled wherever nvcc 12 or newer is found
  the development preset  debug, warnings as errors, address and undefined-behaviour sanitizers, CPU only

  --fast              leave the development preset out
  --without-pictures  make no Python environment and install no browser (Debian: chromium, 120 MB); ctest skips
                      what needs matplotlib, ruptures or a browser

The tests that draw their cases share one seed, STRICTBENCH_SEED where it is set, else one that is chosen and
printed.

The last line counts the tests of all presets. Exit code 0: everything passed.
END
}

fast=no pictures=yes
for argument in "$@"; do
  case $argument in
    --fast) fast=yes ;;
    --without-pictures) pictures=no ;;
    -h | --help) usage && exit 0 ;;
    *) echo "test.sh: unknown argument '$argument' (see scripts/test.sh --help)" >&2 && exit 2 ;;
  esac
done

# shellcheck source=scripts/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

# One for all processes of ctest: a run that passed can be had again too.
export STRICTBENCH_SEED=${STRICTBENCH_SEED:-$((RANDOM << 15 | RANDOM))}
echo "the draws of these tests come again with STRICTBENCH_SEED=$STRICTBENCH_SEED"

passed=0 failed=0 skipped=0 code=0

# count ATTRIBUTE FILE: a number of the <testsuite> element, which is the first that ctest writes.
count() {
  sed -n "s/.*[[:space:]]$1=\"\([0-9]*\)\".*/\1/p" "$2" | head -n 1
}

run_tests() {
  local preset=$1 report=$root/build/$1/tests.xml
  rm -f "$report"
  (cd "$root" && step "test ($preset)" "test-$preset" \
    ctest --preset "$preset" --parallel "$jobs" --no-tests=error --output-junit "$report") || code=1
  if [[ ! -s $report ]]; then
    code=1
    return
  fi
  local all bad left_out
  all=$(count tests "$report") bad=$(count failures "$report") left_out=$(count skipped "$report")
  # What cannot be shown costs no count: the last line always comes.
  ((bad == 0)) || python3 "$root/scripts/failed_tests.py" "$report" >&2 || true
  passed=$((passed + all - bad - left_out)) failed=$((failed + bad)) skipped=$((skipped + left_out))
}

install_packages
if [[ $pictures == yes ]]; then
  make_python_environment
  install_browser
fi
configure_and_build release
run_tests release
if [[ $fast == no ]]; then
  configure_and_build development -DSTRICTBENCH_CUDA=OFF
  run_tests development
fi
if ((skipped > 0)); then
  echo "$passed passed, $failed failed, $skipped skipped"
else
  echo "$passed passed, $failed failed"
fi
exit "$code"
