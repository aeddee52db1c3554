#!/usr/bin/env python3
"""Builds one small program in two folders, with the project's own compile options, and compares the bytes.

Usage: same_everywhere_test.py CMAKE CXX-COMPILER [CUDA-COMPILER]
"""
from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

MODULES = Path(__file__).resolve().parent
CMAKE, CXX = sys.argv[1:3]
CUDA = sys.argv[3] if len(sys.argv) > 3 else ""

FILES = {
    "CMakeLists.txt": """
cmake_minimum_required(VERSION 3.25)
project(program LANGUAGES CXX)
set(CMAKE_CXX_STANDARD 20)
list(APPEND CMAKE_MODULE_PATH ${PROJECT_SOURCE_DIR}/cmake)
include(Cuda)
include(CompileOptions)
include(SameEverywhere)
add_subdirectory(part)
""",
    "part/CMakeLists.txt": """
add_library(part STATIC inner/part.cpp)
target_link_libraries(part PUBLIC strictbench_options)
if(STRICTBENCH_HAS_CUDA)
  target_sources(part PRIVATE inner/kernel.cu)
  target_compile_definitions(part PUBLIC HAS_CUDA)
  target_link_libraries(part PUBLIC CUDA::cudart_static)
endif()
add_executable(program ${PROJECT_SOURCE_DIR}/part/main.cpp)
target_link_libraries(program PRIVATE part)
""",
    # Names of files, and things of internal linkage: where a compiler would put a path, or a hash of one.
    "part/inner/part.cpp": """
#include <source_location>
namespace { struct Hidden { virtual ~Hidden() = default; }; }
const char* part() { static const Hidden hidden; (void)&hidden; return std::source_location::current().file_name(); }
""",
    "part/inner/kernel.cu": """
#include <source_location>
namespace {
__constant__ float factor = 2;
template <class T> __global__ void scale(T* values) { values[threadIdx.x] *= factor; }
}
static __global__ void shift(float* values) { values[threadIdx.x] += 1; }
const char* kernel(float* values) {
  scale<<<1, 32>>>(values);
  shift<<<1, 32>>>(values);
  return std::source_location::current().file_name();
}
""",
    "part/main.cpp": """
#include <cstdio>
const char* part();
#ifdef HAS_CUDA
const char* kernel(float* values);
#else
const char* kernel(float*) { return __FILE__; }
#endif
int main(int argc, char**) { std::puts(part()); return argc > 1 && kernel(nullptr) == nullptr; }
""",
}


class SameEverywhere(unittest.TestCase):
    def built(self, tree: Path, build: Path) -> Path:
        for name, text in FILES.items():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / name).write_text(text, encoding="utf-8")
        shutil.copytree(MODULES, tree / "cmake")
        cuda = [f"-DCMAKE_CUDA_COMPILER={CUDA}", "-DCMAKE_CUDA_ARCHITECTURES=90"] if CUDA else []
        for command in ([CMAKE, "-S", tree, "-B", build, "-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_CXX_COMPILER={CXX}",
                         f"-DSTRICTBENCH_CUDA={'ON' if CUDA else 'OFF'}", *cuda],
                        [CMAKE, "--build", build]):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return build / "part/program"

    def test_neither_the_source_tree_nor_the_build_folder_shows(self) -> None:
        with tempfile.TemporaryDirectory() as base:
            one = self.built(Path(base, "tree"), Path(base, "tree/build"))
            other = self.built(Path(base, "another/place/of/it"), Path(base, "build-elsewhere"))
            self.assertEqual(subprocess.run([one], capture_output=True, text=True, check=True).stdout,
                             "./part/inner/part.cpp\n")
            self.assertNotIn(base.encode(), one.read_bytes())
            self.assertEqual(*(hashlib.sha256(path.read_bytes()).hexdigest() for path in (one, other)))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
