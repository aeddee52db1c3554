# `cmake --install BUILD --prefix DIR` makes a folder that runs wherever it is copied, on a machine that can
# install nothing: executables find Google Benchmark in ../lib by a relative path.
include(BuildInfo)
include(ScriptTests)

get_property(benches GLOBAL PROPERTY STRICTBENCH_BENCHES)
install(TARGETS strictbench ${benches} RUNTIME DESTINATION bin)
install(FILES ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/build.json DESTINATION bin)

# An installed package brings a shared library, a fetched one is static and already inside the executables.
get_target_property(benchmark_imported benchmark::benchmark IMPORTED)
get_target_property(benchmark_type benchmark::benchmark TYPE)
if(benchmark_imported AND benchmark_type STREQUAL "SHARED_LIBRARY")
  # The executables ask for it by its SONAME, so under that name it is installed, without links.
  install(PROGRAMS $<TARGET_FILE:benchmark::benchmark> DESTINATION lib
          RENAME $<TARGET_SONAME_FILE_NAME:benchmark::benchmark>)
endif()

install(DIRECTORY baselines DESTINATION . FILES_MATCHING PATTERN "*.json")
install(DIRECTORY report/pictures report/calibration DESTINATION report FILES_MATCHING PATTERN "*.py"
        PATTERN "*_test.py" EXCLUDE PATTERN "synthetic.py" EXCLUDE PATTERN "__pycache__" EXCLUDE)
install(FILES report/requirements.txt DESTINATION report)
