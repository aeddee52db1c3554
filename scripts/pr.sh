#!/usr/bin/env bash
# What a change costs, in one command. See --help.
set -euo pipefail

usage() {
  cat <<'END'
usage: scripts/pr.sh BASE HEAD [AB-OPTION...]

Builds two commits (branches, tags, hashes), measures them by turns on this machine, and prints the comparison
as Markdown. Each is built once, in build/pr/<commit>, from a worktree that is gone afterwards; what is not
committed is not measured. The same commit twice compares a build with itself.

AB-OPTIONs go to `strictbench ab` of HEAD's build: --filter RE, --processes N, --budget SECONDS,
--timeout SECONDS, --device cpu|cuda|N, --out DIR, --threshold T, --alpha A,
--format text|markdown|json|junit, --output FILE

Exit code: 0 nothing became slower; 1 something is slower, missing, failed or wrong; 2 unusable input or command
line, or a commit that does not build; 3 the data cannot tell. 129, 130, 143: ended by a signal.
END
}

fail() {
  echo "pr.sh: $1" >&2
  exit 2
}

for argument in "$@"; do
  case $argument in -h | --help) usage && exit 0 ;; esac
done
(($# >= 2)) || fail "name two commits, for example: scripts/pr.sh main HEAD (see scripts/pr.sh --help)"

# shellcheck source=scripts/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

# commit_of REF: its full hash, and nothing where there is no such commit.
commit_of() { git -C "$root" rev-parse --verify --quiet --end-of-options "$1^{commit}" || true; }

has git || fail "git is not installed"
git -C "$root" rev-parse --git-dir >/dev/null 2>&1 || fail "$root is no git repository, so it has no commits to compare"
base=$(commit_of "$1") head=$(commit_of "$2")
[[ -n $base ]] || fail "'$1' is no commit of this repository"
[[ -n $head ]] || fail "'$2' is no commit of this repository"
if [[ $(commit_of HEAD) =~ ^($base|$head)$ && -n $(git -C "$root" status --porcelain) ]]; then
  echo "pr.sh: the working tree has changes that are not committed, and they are not measured" >&2
fi
shift 2

worktree=''
remove_worktree() {
  if [[ -n $worktree ]]; then
    git -C "$root" worktree remove --force "$worktree" >/dev/null 2>&1 || rm -rf "$worktree"
    git -C "$root" worktree prune
    worktree=''
  fi
}
trap remove_worktree EXIT

# What else than the commit decides on an executable: a build by other compilers is made again.
toolchain() {
  local nvcc=${CUDACXX:-nvcc}
  has "$nvcc" || nvcc=/usr/local/cuda/bin/nvcc
  "${CXX:-c++}" --version 2>/dev/null | head -n 1 || true
  "$nvcc" --version 2>/dev/null | tail -n 1 || true
}

# build COMMIT: leaves its executables in build/pr/COMMIT/bin.
build() {
  local folder=$root/build/pr/$1 short=${1:0:10} generator=()
  if [[ -x $folder/bin/strictbench && -f $folder/built && $(<"$folder/built") == "$(toolchain)" ]]; then
    echo "$short is built already, in $folder" >&2
    return 0
  fi
  rm -rf "$folder"
  mkdir -p "$folder"
  worktree=$folder/source
  git -C "$root" worktree prune
  git -C "$root" worktree add --quiet --detach "$worktree" "$1" >/dev/null || fail "git cannot check $short out"
  if has ninja; then
    generator=(-G Ninja)
  fi
  {
    step "configure ($short)" "configure-pr-$short" \
      cmake -S "$worktree" -B "$folder" --preset release -DSTRICTBENCH_TESTS=OFF "${generator[@]}" &&
      step "build ($short, $jobs jobs)" "build-pr-$short" cmake --build "$folder" --parallel "$jobs"
  } >&2 || fail "$short does not build, see above"
  toolchain >"$folder/built"
  remove_worktree
}

install_packages >&2
build "$base"
build "$head"

format=(--format markdown)
for argument in "$@"; do
  case $argument in --format | --format=*) format=() ;; esac
done
exec "$root/build/pr/$head/bin/strictbench" ab --base "$root/build/pr/$base" --head "$root/build/pr/$head" \
  "${format[@]}" "$@"
