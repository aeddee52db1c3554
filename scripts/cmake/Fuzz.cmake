# Fuzz targets. A target is one source that defines strictbench::fuzz::fuzz_one(); see report/fuzz/fuzzing.h.
#
# Every build makes replay_<name>: all seeds, then a fixed number of mutations of them, in seconds. A build by clang
# with STRICTBENCH_FUZZ=ON (the preset `fuzz`) makes fuzz_<name> besides, which libFuzzer drives by coverage.
option(STRICTBENCH_FUZZ "Build the coverage-guided fuzz targets: needs clang and its libFuzzer" OFF)
set(STRICTBENCH_FUZZ_SECONDS 20 CACHE STRING "How long ctest runs each coverage-guided target")

if(STRICTBENCH_FUZZ AND NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "STRICTBENCH_FUZZ=ON needs clang, and the compiler is ${CMAKE_CXX_COMPILER}: "
                      "configure with -DCMAKE_CXX_COMPILER=clang++, or run scripts/fuzz.sh, which does.")
endif()

# strictbench_add_fuzz_target(NAME SOURCE LIBRARIES LIBRARY... MUTATIONS N)
function(strictbench_add_fuzz_target name source)
  cmake_parse_arguments(target "" "MUTATIONS" "LIBRARIES" ${ARGN})
  set(folder ${PROJECT_SOURCE_DIR}/report/fuzz)
  set(seeds ${PROJECT_BINARY_DIR}/fuzz-seeds)
  if(NOT TARGET fuzz_seeds)
    # Always made anew: it takes no time, and what it reads are whole folders.
    add_custom_target(fuzz_seeds ALL
      COMMAND Python3::Interpreter ${folder}/make_seeds.py ${seeds} VERBATIM)
  endif()
  if(STRICTBENCH_SANITIZE)
    math(EXPR target_MUTATIONS "${target_MUTATIONS} / 6")  # each takes some ten times as long
  endif()
  add_executable(replay_${name} ${source} ${folder}/replay.cpp)
  target_link_libraries(replay_${name} PRIVATE strictbench_fuzzing ${target_LIBRARIES} strictbench_options)
  add_dependencies(replay_${name} fuzz_seeds)
  add_test(NAME replay_${name} COMMAND replay_${name} --mutations=${target_MUTATIONS} ${seeds}/${name})
  set_tests_properties(replay_${name} PROPERTIES TIMEOUT 300)
  if(STRICTBENCH_FUZZ)
    add_executable(fuzz_${name} ${source} ${folder}/libfuzzer.cpp)
    target_link_libraries(fuzz_${name} PRIVATE strictbench_fuzzing ${target_LIBRARIES} strictbench_options)
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
    add_dependencies(fuzz_${name} fuzz_seeds)
    file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/corpus/${name})
    # The first folder is the one that libFuzzer adds to.
    add_test(NAME fuzz_${name}
      COMMAND fuzz_${name} -max_total_time=${STRICTBENCH_FUZZ_SECONDS} -timeout=10 -rss_limit_mb=2048 -max_len=32768
              -print_final_stats=1 -artifact_prefix=${PROJECT_BINARY_DIR}/found-${name}-
              ${PROJECT_BINARY_DIR}/corpus/${name} ${seeds}/${name})
    set_tests_properties(fuzz_${name} PROPERTIES LABELS slow)
  endif()
endfunction()
