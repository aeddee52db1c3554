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
--timeout SECONDS, --device cpu|cuda|N, --wait, --out DIR, --threshold T, --alpha A,
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

# shellcheck source=scripts/builds.sh
source "$root/scripts/builds.sh"

has git || fail "git is not installed"
git -C "$root" rev-parse --git-dir >/dev/null 2>&1 || fail "$root is no git repository, so it has no commits to compare"
base=$(commit_of "$1") head=$(commit_of "$2")
[[ -n $base ]] || fail "'$1' is no commit of this repository"
[[ -n $head ]] || fail "'$2' is no commit of this repository"
if [[ $(commit_of HEAD) =~ ^($base|$head)$ && -n $(git -C "$root" status --porcelain) ]]; then
  echo "pr.sh: the working tree has changes that are not committed, and they are not measured" >&2
fi
shift 2

install_packages >&2
for commit in "$base" "$head"; do
  build_commit "$commit" || fail "$why_not_built"
done

format=(--format markdown)
for argument in "$@"; do
  case $argument in --format | --format=*) format=() ;; esac
done
exec "$(build_folder "$head")/bin/strictbench" ab --base "$(build_folder "$base")" --head "$(build_folder "$head")" \
  "${format[@]}" "$@"
