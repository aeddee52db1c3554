"""For tests of the scripts: a made-up source tree where every program that a script calls is a stub that records it.

PATH holds the stubs and the few real tools that a script may count on, so a test decides what a machine has.
"""
from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
REAL_TOOLS = ("bash cat cmp comm cp dirname env find grep head ls mkdir nproc printf python3 rm sed sort tail touch tr "
              "true").split()
LIBRARIES = "libbenchmark-dev nlohmann-json3-dev libcli11-dev libboost-math-dev libgtest-dev libgmock-dev".split()

# Each stub adds its command line to a file, then behaves as its environment says.
STRICTBENCH = r"""
case $1 in
  list) echo "{$DEVICE \"cases\": []}" ;;
  run)
    shift
    folder=results/20261129T101500Z_0123456789_h200 kernels=''
    while (($# > 0)); do
      case $1 in
        --out | --resume) folder=$2; shift ;;
        --out=* | --resume=*) folder=${1#*=} ;;
        --kernels) kernels=yes ;;
      esac
      shift
    done
    if [[ ${RUN_CODE:-0} != 2 ]]; then
      mkdir -p "$folder"
      echo "{$DEVICE \"machine\": {\"before\": {\"cpu_model\": \"AMD EPYC(TM) 9.5\"}}}" >"$folder/run.json"
      [[ -z $kernels ]] || echo '{}' >"$folder/row_fold.kernels.json"
    fi
    exit "${RUN_CODE:-0}" ;;
  table) echo "the table of $2" ;;
  compare) echo "the comparison"; exit "${COMPARE_CODE:-0}" ;;
  accept) exit "${ACCEPT_CODE:-0}" ;;
esac
"""
CTEST = """
while (($# > 0)); do
  case $1 in --output-junit) report=$2 ;; esac
  shift
done
mkdir -p "$(dirname "$report")"
if [[ -n ${JUNIT-} ]]; then
  printf '<?xml version="1.0"?>\\n<testsuite name="x"\\n\\t%s\\n\\thostname="">\\n' "$JUNIT" >"$report"
  printf '<testcase tests="99" failures="99"/>\\n%s</testsuite>\\n' "${TESTCASES-}" >>"$report"
fi
exit "${CTEST_CODE:-0}"
"""
CMAKE = """
case $1 in
  --build) exit "${BUILD_CODE:-0}" ;;
  *) echo "-- CUDA variants: ${CUDA:-left out (no working CUDA compiler found)}"; exit "${CONFIGURE_CODE:-0}" ;;
esac
"""
PYTHON = 'if [[ ${2-} == *ensurepip* ]]; then exit "${VENV_CODE:-0}"; fi\nexec ' + sys.executable + ' "$@"\n'

# What ignored a signal when these tests began (nohup, a shell's job in the background) would have it ignored in all.
for number in (signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_DFL)


class Machine(unittest.TestCase):
    """A source tree and a PATH of its own; by default nothing is missing."""

    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.base = Path(temporary.name)
        self.tree, self.path, self.calls_file = self.base / "tree", self.base / "path", self.base / "calls"
        (self.tree / "scripts").mkdir(parents=True)
        (self.tree / "report").mkdir()
        self.path.mkdir()
        for script in (*ROOT.glob("scripts/*.sh"), ROOT / "scripts/failed_tests.py"):
            shutil.copy(script, self.tree / "scripts")
        (self.tree / "report/pictures").mkdir()
        for module in ("program", "words"):
            shutil.copy(ROOT / f"report/pictures/{module}.py", self.tree / "report/pictures")
        (self.tree / "report/requirements.txt").write_text("matplotlib==1.0\n", encoding="utf-8")
        for tool in REAL_TOOLS:
            where = shutil.which(tool)
            assert where, tool
            (self.path / tool).symlink_to(where)
        (self.path / "python3").unlink()
        self.stub(self.path / "python3", PYTHON)
        self.stub(self.path / "cmake", CMAKE)
        self.stub(self.path / "ctest", CTEST)
        self.stub(self.path / "dpkg-query", "\n".join(f"echo {library} installed" for library in LIBRARIES))
        self.stub(self.path / "id", "echo ${USER_ID:-0}")
        for name in ("g++", "ninja", "git", "apt-get", "chromium"):
            self.stub(self.path / name, "")
        self.stub(self.tree / "build/release/bin/strictbench", STRICTBENCH)
        self.stub(self.tree / ".venv/bin/python", "")
        shutil.copy(self.tree / "report/requirements.txt", self.tree / ".venv/requirements.txt")

    def stub(self, path: Path, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        head = f'#!{shutil.which("bash")}\necho "{path.name} $*" >>{self.calls_file}\n'
        path.write_text(f"{head}{text}\n", encoding="utf-8")
        path.chmod(0o755)

    def lack(self, *names: str) -> None:
        for name in names:
            (self.path / name).unlink()

    def run_script(self, script: str, *arguments: str, cwd: Path | None = None,
                   **environment: object) -> subprocess.CompletedProcess[str]:
        self.calls_file.write_text("", encoding="utf-8")
        variables = {"PATH": str(self.path), "DEVICE": '"gpu_name": "NVIDIA H200",',
                     **{key: str(value) for key, value in environment.items()}}
        return subprocess.run([str(self.tree / "scripts" / script), *arguments], cwd=cwd or self.base, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=60, env=variables)

    def calls(self, program: str) -> list[str]:
        lines = self.calls_file.read_text(encoding="utf-8").splitlines()
        return [line for line in lines if line.split()[0] == program]
