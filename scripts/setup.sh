#!/usr/bin/env bash
# Makes a machine ready: packages, the Python environment of the report, configure, build.
# bench.sh and test.sh source it; run by itself it sets up and builds the release preset.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
logs=$root/build/logs
jobs=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}

# CMake fetches those of them that are missing, except Boost; installed ones need no network.
libraries=(libbenchmark-dev nlohmann-json3-dev libcli11-dev libboost-math-dev libgtest-dev libgmock-dev)

# step TITLE LOG COMMAND...: one line for a person, everything else into build/logs/LOG.log, whose end is
# shown where the command fails. The command gets no standard input.
step() {
  local title=$1 log=$logs/$2.log began=$SECONDS code=0
  shift 2
  mkdir -p "$logs"
  printf '%s ... ' "$title"
  "$@" >"$log" 2>&1 </dev/null || code=$?
  if ((code == 0)); then
    printf 'ok (%d s)\n' $((SECONDS - began))
  else
    printf 'failed\n'
    tail -n 40 "$log" | sed 's/^/  | /' >&2
    printf 'full log: %s\n' "$log" >&2
  fi
  return "$code"
}

has() { command -v "$1" >/dev/null 2>&1; }

# The packages whose commands are not there. Where a command comes from does not matter.
missing_tools() {
  has cmake || echo cmake
  has "${CXX:-g++}" || echo g++
  has ninja || has make || echo ninja-build
  has git || echo git
  if ! has python3; then
    echo python3 python3-venv
  elif ! python3 -c 'import ensurepip, venv' >/dev/null 2>&1; then
    echo python3-venv  # Debian keeps the module that puts pip into an environment apart
  fi
}

missing_libraries() {
  local installed library
  installed=$(dpkg-query --show --showformat='${Package} ${db:Status-Status}\n' "${libraries[@]}" 2>/dev/null || true)
  for library in "${libraries[@]}"; do
    grep -qx "$library installed" <<<"$installed" || echo "$library"
  done
}

# apt_install AS_ROOT PACKAGE...: AS_ROOT is what makes a command root's, empty for root itself.
apt_install() {
  local as_root=()
  read -ra as_root <<<"$1"
  shift
  as_root+=(env DEBIAN_FRONTEND=noninteractive)
  "${as_root[@]}" apt-get update || echo "apt-get update failed; going on with the package lists as they are"
  "${as_root[@]}" apt-get --option DPkg::Lock::Timeout=300 --yes --no-install-recommends install "$@"
}

# What makes a command root's: nothing for root itself, else sudo. Fails where neither works.
become_root() {
  if [[ $(id -u) == 0 ]]; then
    echo ''
  elif has sudo && { [[ -t 0 ]] || sudo -n true 2>/dev/null; }; then
    echo sudo
  else
    return 1
  fi
}

# Installs what is missing. Fails, naming the packages, where tools stay missing; libraries may still be fetched.
install_packages() {
  local tools=() wanted=() why='' as_root
  mapfile -t tools < <(missing_tools | tr ' ' '\n')
  wanted=("${tools[@]}")
  if has apt-get && has dpkg-query; then
    mapfile -t -O "${#wanted[@]}" wanted < <(missing_libraries)
    ((${#wanted[@]} > 0)) || return 0
    if as_root=$(become_root); then
      step "install ${wanted[*]}" packages apt_install "$as_root" "${wanted[@]}" && return 0
      why="${as_root:+$as_root }apt-get failed"
    else
      why='neither root nor sudo without a password'
    fi
  else
    why='not a system with apt-get'
  fi
  if ((${#wanted[@]} > 0)); then
    echo "setup: missing and not installed ($why): ${wanted[*]}" >&2
  fi
  if ((${#tools[@]} > 0)); then
    echo "setup: cannot go on without: ${tools[*]}" >&2
    return 2
  fi
}

# A browser for the tests of the report page, where it is one package (Ubuntu's is a snap). Without it they are skipped.
install_browser() {
  local browser as_root
  for browser in chromium chromium-browser google-chrome google-chrome-stable; do
    if has "$browser"; then
      return 0
    fi
  done
  if grep -qsx 'ID=debian' "${OS_RELEASE:-/etc/os-release}" && has apt-get && as_root=$(become_root); then
    step "install chromium" browser apt_install "$as_root" chromium && return 0
  fi
  echo "setup: no browser, so ctest skips the tests that look at the report page with one"
}

fill_python_environment() {
  python3 -m venv --clear "$root/.venv" &&
    "$root/.venv/bin/python" -m pip install --quiet --disable-pip-version-check -r "$root/report/requirements.txt" &&
    cp "$root/report/requirements.txt" "$root/.venv/requirements.txt"
}

# .venv holds what the pictures need. It is made once, and again when the requirements change or its Python is gone.
make_python_environment() {
  if cmp -s "$root/report/requirements.txt" "$root/.venv/requirements.txt" &&
    "$root/.venv/bin/python" -c '' 2>/dev/null; then
    return 0
  fi
  step "Python environment for the report" python-environment fill_python_environment
}

# configure_and_build PRESET [CMAKE-ARGUMENT...]
configure_and_build() {
  local preset=$1 generator=()
  shift
  if [[ ! -e $root/build/$preset/CMakeCache.txt ]] && has ninja; then
    generator=(-G Ninja)
  fi
  step "configure ($preset)" "configure-$preset" cmake -S "$root" --preset "$preset" "${generator[@]}" "$@" || return
  sed -n 's/^-- \(CUDA variants: .*\)/  \1/p' "$logs/configure-$preset.log"
  step "build ($preset, $jobs jobs)" "build-$preset" cmake --build "$root/build/$preset" --parallel "$jobs"
}

if [[ ${BASH_SOURCE[0]} == "$0" ]]; then
  install_packages
  make_python_environment
  configure_and_build release
fi
