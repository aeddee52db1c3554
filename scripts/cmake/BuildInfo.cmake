# build.json beside the executables says which commit and compiler they were built from. It is written when
# something is built, not when CMake runs, and holds nothing that is not known. The commit stays out of the
# executables: equal sources then give equal files, which `ab` and `--resume` rely on.
string(TOLOWER "${CMAKE_BUILD_TYPE}" build_type)
set(cuda_version "")
if(STRICTBENCH_HAS_CUDA)
  set(cuda_version ${CMAKE_CUDA_COMPILER_VERSION})
endif()

add_custom_target(build_info ALL
  COMMAND ${CMAKE_COMMAND}
    "-DOUTPUT=${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/build.json"
    "-DSOURCE=${PROJECT_SOURCE_DIR}"
    "-DCOMMIT=${STRICTBENCH_GIT_COMMIT}"
    "-DCOMPILER=${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}"
    "-DBUILD_TYPE=${build_type}"
    "-DCUDA_VERSION=${cuda_version}"
    -P ${CMAKE_CURRENT_LIST_DIR}/WriteBuildInfo.cmake
  COMMENT "Writing bin/build.json"
  VERBATIM)
