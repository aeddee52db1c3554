# Each dependency comes from an installed package where there is one, else through FetchContent at the
# pinned version. CONTRIBUTING.md says what each is for.
include(FetchContent)

set(BENCHMARK_ENABLE_TESTING OFF CACHE INTERNAL "")
set(BENCHMARK_ENABLE_GTEST_TESTS OFF CACHE INTERNAL "")
set(BENCHMARK_ENABLE_INSTALL OFF CACHE INTERNAL "")
set(BENCHMARK_ENABLE_WERROR OFF CACHE INTERNAL "")
set(JSON_BuildTests OFF CACHE INTERNAL "")
set(CLI11_BUILD_TESTS OFF CACHE INTERNAL "")
set(CLI11_BUILD_EXAMPLES OFF CACHE INTERNAL "")
set(INSTALL_GTEST OFF CACHE INTERNAL "")

FetchContent_Declare(benchmark
  URL https://github.com/google/benchmark/archive/refs/tags/v1.8.3.tar.gz
  FIND_PACKAGE_ARGS NAMES benchmark)
FetchContent_Declare(nlohmann_json
  URL https://github.com/nlohmann/json/archive/refs/tags/v3.11.3.tar.gz
  FIND_PACKAGE_ARGS 3.10 NAMES nlohmann_json)
FetchContent_Declare(CLI11
  URL https://github.com/CLIUtils/CLI11/archive/refs/tags/v2.4.2.tar.gz
  FIND_PACKAGE_ARGS 2.1 NAMES CLI11)
FetchContent_MakeAvailable(benchmark nlohmann_json CLI11)

if(STRICTBENCH_TESTS)
  FetchContent_Declare(googletest
    URL https://github.com/google/googletest/archive/refs/tags/v1.14.0.tar.gz
    FIND_PACKAGE_ARGS 1.12 NAMES GTest)
  FetchContent_MakeAvailable(googletest)
  include(GoogleTest)
  find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)
endif()
