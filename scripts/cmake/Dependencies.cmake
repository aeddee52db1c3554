# Each dependency comes from an installed package where there is one, else through FetchContent at the
# pinned version. CONTRIBUTING.md says what each is for.
include(FetchContent)

# Fetched sources: the libraries alone, static, none of their tests, and nothing of theirs is installed.
foreach(option BENCHMARK_ENABLE_TESTING BENCHMARK_ENABLE_GTEST_TESTS BENCHMARK_ENABLE_INSTALL
               BENCHMARK_INSTALL_DOCS BENCHMARK_ENABLE_WERROR JSON_BuildTests JSON_Install
               CLI11_BUILD_TESTS CLI11_BUILD_EXAMPLES CLI11_BUILD_DOCS CLI11_INSTALL INSTALL_GTEST)
  set(${option} OFF CACHE INTERNAL "")
endforeach()
set(BUILD_SHARED_LIBS OFF)

FetchContent_Declare(benchmark SYSTEM
  URL https://github.com/google/benchmark/archive/refs/tags/v1.8.3.tar.gz
  FIND_PACKAGE_ARGS NAMES benchmark)
FetchContent_Declare(nlohmann_json SYSTEM
  URL https://github.com/nlohmann/json/archive/refs/tags/v3.11.3.tar.gz
  FIND_PACKAGE_ARGS 3.10 NAMES nlohmann_json)
FetchContent_Declare(CLI11 SYSTEM
  URL https://github.com/CLIUtils/CLI11/archive/refs/tags/v2.4.2.tar.gz
  FIND_PACKAGE_ARGS 2.1 NAMES CLI11)
FetchContent_MakeAvailable(benchmark nlohmann_json CLI11)

if(STRICTBENCH_TESTS)
  FetchContent_Declare(googletest SYSTEM
    URL https://github.com/google/googletest/archive/refs/tags/v1.14.0.tar.gz
    FIND_PACKAGE_ARGS 1.12 NAMES GTest)
  FetchContent_MakeAvailable(googletest)
  include(GoogleTest)
  find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)
endif()
