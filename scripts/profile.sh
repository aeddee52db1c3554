#!/usr/bin/env bash
# Cases under Nsight Systems or Nsight Compute. See --help.
set -euo pipefail

usage() {
  cat <<'END'
usage: scripts/profile.sh nsys|ncu [--build DIR] [--out DIR] [--device N] CASE... [-- TOOL-OPTION...]

Runs each case once under a profiler, after its result was checked, and writes one report an operator.

  nsys   Nsight Systems: a timeline (.nsys-rep), in which the range `profile` holds each case's one call, and the
         time of each kernel in those ranges (_cuda_gpu_kern_sum*.csv), without the kernels that fill inputs and
         check results. `strictbench kernels` reads it. That filter (--filter-nvtx profile@strictbench) follows
         NVIDIA's description and was not yet run with a real nsys: see that each case is in the file, and for
         certainty use `strictbench run --kernels`
  ncu    Nsight Compute: counters of the case's kernels and of nothing else (.ncu-rep)

  CASE          an extended regular expression searched in row names, as of `strictbench run --filter`; it must
                select something on the GPU, for example 'row_fold/new/rows:1024/cols:4096/dtype:fp32'
  --build DIR   the build whose executables are run (default: build/release, built where it is missing)
  --out DIR     where reports go (default: build/profiles/<utc>)
  --device N    the index of the GPU (default: 0)
  TOOL-OPTION   goes to the profiler as it is, for example -- --set full

No clock is locked and nothing on the machine is changed.
Exit code: 0 every case was profiled; 1 a case failed its check, or the profiler did; 2 unusable input or no tool.
129, 130, 143: ended by a signal, and the profiler with it.
END
}

unusable() {
  echo "profile.sh: $1" >&2
  exit 2
}

build='' out='' device=0 tool='' cases=() tool_options=()
while (($# > 0)); do
  case $1 in
    -h | --help) usage && exit 0 ;;
    --build | --out | --device)
      [[ -n ${2-} ]] || unusable "$1 needs a value (see scripts/profile.sh --help)"
      printf -v "${1#--}" %s "$2"
      shift
      ;;
    --build=* | --out=* | --device=*)
      [[ -n ${1#*=} ]] || unusable "${1%%=*} needs a value (see scripts/profile.sh --help)"
      option=${1%%=*}
      printf -v "${option#--}" %s "${1#*=}"
      ;;
    --)
      shift
      tool_options=("$@")
      break
      ;;
    -*) unusable "unknown option '$1'; options of the profiler stand behind -- (see scripts/profile.sh --help)" ;;
    *) if [[ -z $tool ]]; then tool=$1; else cases+=("$1"); fi ;;
  esac
  shift
done
case $tool in
  nsys) product='Nsight Systems' ;;
  ncu) product='Nsight Compute' ;;
  '') unusable 'say nsys or ncu, and which cases (see scripts/profile.sh --help)' ;;
  *) unusable "'$tool' is no profiler: nsys or ncu (see scripts/profile.sh --help)" ;;
esac
[[ $device =~ ^(0|[1-9][0-9]{0,3})$ ]] || unusable "--device $device: the index of a GPU, for example --device 0"
((${#cases[@]} > 0)) || unusable 'say which cases: a regular expression searched in row names'
command -v "$tool" >/dev/null 2>&1 || unusable \
  "$tool is not on PATH: install $product (it comes with the CUDA Toolkit, and by itself from NVIDIA)"
[[ $out == /* || -z $out ]] || out=$PWD/$out
[[ $build == /* || -z $build ]] || build=$PWD/$build

# shellcheck source=scripts/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"
cd "$root"
# shellcheck source=scripts/attended.sh
source scripts/attended.sh
if [[ -z $build ]]; then
  build=$root/build/release
  [[ -x $build/bin/strictbench ]] || attended configure_and_build release || exit 2
fi
[[ -x $build/bin/strictbench ]] || unusable "$build/bin holds no strictbench: not a build folder"
out=${out:-$root/build/profiles/$(date -u +%Y%m%dT%H%M%SZ)}
[[ ! -e $out ]] || unusable "$out exists: reports are never overwritten"

# One expression for all cases: (A)|(B).
printf -v filter '(%s)|' "${cases[@]}"
filter=${filter%|}

# Kernels lie in the range "profile" of the domain "strictbench" and nothing else does; ncu wants domain@range,
# and a trailing slash for push/pop ranges. `nsys stats` wants range@domain, without an index for all such ranges, and
# adds the filter to the name of its file. nsys captures between cudaProfilerStart and Stop, of which a process has one
# pair; graphs are traced node by node, or their kernels would be one.
# shellcheck disable=SC2317  # reached through attended
profile() {
  local executable=$1 report=$2
  local run=("$executable" --profile "--device=$device" "--benchmark_filter=$filter")
  case $tool in
    nsys)
      nsys profile --trace=cuda,nvtx --capture-range=cudaProfilerApi --capture-range-end=stop \
        --cuda-graph-trace=node --output "$report" "${tool_options[@]}" "${run[@]}" &&
        nsys stats --report cuda_gpu_kern_sum --filter-nvtx 'profile@strictbench' --format csv --output "$report" \
          "$report.nsys-rep"
      ;;
    ncu)
      ncu --nvtx --nvtx-include 'strictbench@profile/' --clock-control none --export "$report" \
        "${tool_options[@]}" "${run[@]}"
      ;;
  esac
}

code=0 found=no
for executable in "$build"/bin/bench_*; do
  described=$("$executable" --describe "--device=$device" "--benchmark_filter=$filter") ||
    unusable "$executable --describe failed, see above: name a build and a GPU that it can measure on"
  grep -q '"selected": true' <<<"$described" || continue
  found=yes
  mkdir -p "$out"
  operator=$(basename "$executable")
  operator=${operator#bench_}
  echo "$operator:"
  attended profile "$executable" "$out/$operator" || code=1
done
[[ $found == yes ]] || unusable "no case matches $filter; \`$build/bin/strictbench list\` shows them"
((code == 0)) || echo 'profile.sh: not everything was profiled, see above' >&2
echo "reports: $out"
exit "$code"
