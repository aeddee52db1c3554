# Decides whether the CUDA variants are built and says so in one line. Sets STRICTBENCH_HAS_CUDA.
set(STRICTBENCH_HAS_CUDA OFF)
set(STRICTBENCH_CUDA_MINIMUM 12.0)  # C++20 in device code needs it

if(NOT STRICTBENCH_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "STRICTBENCH_CUDA is '${STRICTBENCH_CUDA}': set it to AUTO, ON or OFF")
endif()

if(STRICTBENCH_CUDA STREQUAL "OFF")
  message(STATUS "CUDA variants: left out (STRICTBENCH_CUDA=OFF)")
else()
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 80 90 CACHE STRING "Compute capabilities to compile for")
  endif()
  if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX} AND EXISTS /usr/local/cuda/bin/nvcc)
    set(CMAKE_CUDA_COMPILER /usr/local/cuda/bin/nvcc)  # installed, but not on PATH
  endif()
  # The version is read before the language is enabled: enabling a compiler that is too old is fatal.
  include(CheckLanguage)
  check_language(CUDA)
  set(reason "no working CUDA compiler found")
  if(CMAKE_CUDA_COMPILER)
    execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --version OUTPUT_VARIABLE nvcc_version ERROR_QUIET)
    string(REGEX MATCH "release ([0-9]+\\.[0-9]+)" _ "${nvcc_version}")
    if(CMAKE_MATCH_1 AND CMAKE_MATCH_1 VERSION_GREATER_EQUAL STRICTBENCH_CUDA_MINIMUM)
      set(STRICTBENCH_HAS_CUDA ON)
    else()
      set(reason "${CMAKE_CUDA_COMPILER} is CUDA ${CMAKE_MATCH_1}, and ${STRICTBENCH_CUDA_MINIMUM} or newer is needed")
    endif()
  endif()
  if(STRICTBENCH_HAS_CUDA)
    enable_language(CUDA)
    # CMAKE_CXX_STANDARD holds for CUDA too, but CMake 3.25 does not know that nvcc speaks C++20.
    foreach(kind STANDARD EXTENSION)
      if(NOT DEFINED CMAKE_CUDA20_${kind}_COMPILE_OPTION)
        set(CMAKE_CUDA20_${kind}_COMPILE_OPTION "-std=c++20")
      endif()
    endforeach()
    find_package(CUDAToolkit REQUIRED)
    message(STATUS "CUDA variants: built with ${CMAKE_CUDA_COMPILER} ${CMAKE_CUDA_COMPILER_VERSION} "
                   "for compute capability ${CMAKE_CUDA_ARCHITECTURES}")
  elseif(STRICTBENCH_CUDA STREQUAL "ON")
    message(FATAL_ERROR "STRICTBENCH_CUDA=ON, but ${reason}. Install the CUDA Toolkit, name nvcc in CUDACXX, "
                        "or configure with -DSTRICTBENCH_CUDA=OFF for the CPU variants alone.")
  else()
    message(STATUS "CUDA variants: left out (${reason})")
  endif()
endif()
