# strictbench_options: what every target of the project compiles with.
add_library(strictbench_options INTERFACE)

target_compile_options(strictbench_options INTERFACE
  # The definitions round products and sums separately; a compiler must not fuse them, on either side.
  $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>
  $<$<COMPILE_LANGUAGE:CUDA>:-fmad=false -Xcompiler=-ffp-contract=off>
  # No build path in the binaries: equal sources must give equal executables.
  $<$<COMPILE_LANGUAGE:CXX>:-ffile-prefix-map=${PROJECT_SOURCE_DIR}=.>
  $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-ffile-prefix-map=${PROJECT_SOURCE_DIR}=.>
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wconversion -Wshadow>
  $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,-Wshadow>)

if(STRICTBENCH_WERROR)
  target_compile_options(strictbench_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Werror>
    $<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings -Xcompiler=-Werror>)
endif()

if(STRICTBENCH_SANITIZE)
  target_compile_options(strictbench_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${STRICTBENCH_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all>)
  target_link_options(strictbench_options INTERFACE -fsanitize=${STRICTBENCH_SANITIZE})
endif()

target_include_directories(strictbench_options INTERFACE ${PROJECT_SOURCE_DIR})
