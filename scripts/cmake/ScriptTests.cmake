# The entry scripts, the build's description of itself, and shellcheck where it is installed.
if(STRICTBENCH_TESTS)
  add_test(NAME scripts COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/scripts/scripts_test.py)
  find_program(SHELLCHECK shellcheck)
  if(SHELLCHECK)
    add_test(NAME shellcheck
      COMMAND ${SHELLCHECK} --external-sources scripts/setup.sh scripts/bench.sh scripts/test.sh .ci/run
      WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  endif()
endif()
