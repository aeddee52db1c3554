# The entry scripts, the build's description of itself, and shellcheck where it is installed.
if(STRICTBENCH_TESTS)
  add_test(NAME scripts_setup COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/scripts/setup_test.py)
  add_test(NAME scripts_test COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/scripts/run_tests_test.py)
  add_test(NAME scripts_bench COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/scripts/bench_test.py)
  add_test(NAME scripts_build_info COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/scripts/build_info_test.py)
  add_test(NAME scripts_pr COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/scripts/pr_test.py)
  add_test(NAME scripts_nightly COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/scripts/nightly_test.py)
  add_test(NAME scripts_peers COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/scripts/peers_test.py)
  add_test(NAME scripts_profile COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/scripts/profile_test.py)
  add_test(NAME scripts_prune COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/scripts/prune_test.py)
  add_test(NAME documents_links COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/scripts/links_test.py)
  add_test(NAME scripts_seed COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/scripts/seed_test.py)
  add_test(NAME scripts_sanitize COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/scripts/sanitize_test.py)
  add_test(NAME workflows COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/scripts/workflows_test.py Lint)
  add_test(NAME workflows_structure
           COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/scripts/workflows_test.py Structure)
  set_tests_properties(scripts_peers workflows workflows_structure PROPERTIES SKIP_RETURN_CODE 77)
  set(same_everywhere ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/same_everywhere_test.py
                      ${CMAKE_COMMAND} ${CMAKE_CXX_COMPILER})
  add_test(NAME same_executables_everywhere COMMAND ${same_everywhere})
  if(STRICTBENCH_HAS_CUDA)
    add_test(NAME same_cuda_executables_everywhere COMMAND ${same_everywhere} ${CMAKE_CUDA_COMPILER})
    set_tests_properties(same_cuda_executables_everywhere PROPERTIES LABELS slow)
  endif()
  find_program(SHELLCHECK shellcheck)
  if(SHELLCHECK)
    add_test(NAME shellcheck
      COMMAND ${SHELLCHECK} --external-sources scripts/setup.sh scripts/baselines.sh scripts/builds.sh scripts/bench.sh
              scripts/fuzz.sh scripts/nightly.sh scripts/pr.sh scripts/profile.sh scripts/sanitize.sh scripts/test.sh .ci/run
      WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  endif()
endif()
