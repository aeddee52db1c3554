# Equal sources give equal executables, wherever the source tree and the build folder stand.
#
# nvcc puts a hash of each source's full path into the names of what has internal linkage, host and device.
# Its front end takes the path to hash as an option: the path inside the source tree.
function(strictbench_name_cuda_sources)
  set(folders ${PROJECT_SOURCE_DIR})
  while(folders)
    list(POP_FRONT folders folder)
    get_property(inner DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
    list(APPEND folders ${inner})
    get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
    foreach(target IN LISTS targets)
      get_target_property(sources ${target} SOURCES)
      get_target_property(source_folder ${target} SOURCE_DIR)
      list(FILTER sources INCLUDE REGEX "\\.cu$")
      foreach(source IN LISTS sources)
        cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${source_folder})
        cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE inside)
        set_property(SOURCE ${source} TARGET_DIRECTORY ${target} APPEND PROPERTY
                     COMPILE_OPTIONS -Xcudafe=--orig_src_path_name=${inside})
      endforeach()
    endforeach()
  endwhile()
endfunction()

if(STRICTBENCH_HAS_CUDA)
  # At the end of the top folder, when every target and its sources are known.
  cmake_language(DEFER DIRECTORY ${PROJECT_SOURCE_DIR} CALL strictbench_name_cuda_sources)
endif()

# nvcc's temporary files, named for its process, are in the symbol table; nothing that runs needs it.
add_link_options($<$<CONFIG:Release>:LINKER:--strip-all>)
