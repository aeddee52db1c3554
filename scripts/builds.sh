# shellcheck shell=bash disable=SC2034,SC2154  # names come from setup.sh, or are for the script that sources this
# Builds of commits, each once and kept in build/pr/<commit>. To be sourced after setup.sh.

# commit_of REF: its full hash, and nothing where there is no such commit.
commit_of() { git -C "$root" rev-parse --verify --quiet --end-of-options "$1^{commit}" || true; }

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

# build_folder COMMIT: where its build is, or will be; the executables are in bin.
build_folder() { echo "$root/build/pr/$1"; }

# build_commit COMMIT: builds it from a worktree that is gone afterwards. Standard output stays empty. Where it fails,
# `why_not_built` says why. Every step is checked by hand: in a condition, errexit is off.
why_not_built=''
build_commit() {
  local folder short=${1:0:10} generator=()
  folder=$(build_folder "$1")
  if [[ -x $folder/bin/strictbench && -f $folder/built && $(<"$folder/built") == "$(toolchain)" ]]; then
    echo "$short is built already, in $folder" >&2
    return 0
  fi
  rm -rf "$folder"
  mkdir -p "$folder" || return
  worktree=$folder/source
  git -C "$root" worktree prune
  if ! git -C "$root" worktree add --quiet --detach "$worktree" "$1" >/dev/null; then
    why_not_built="git cannot check $short out"
    return 1
  fi
  if has ninja; then
    generator=(-G Ninja)
  fi
  if ! {
    step "configure ($short)" "configure-pr-$short" \
      cmake -S "$worktree" -B "$folder" --preset release -DSTRICTBENCH_TESTS=OFF "${generator[@]}" &&
      step "build ($short, $jobs jobs)" "build-pr-$short" cmake --build "$folder" --parallel "$jobs"
  } >&2; then
    remove_worktree
    why_not_built="$short does not build, see above"
    return 1
  fi
  toolchain >"$folder/built"
  remove_worktree
}
