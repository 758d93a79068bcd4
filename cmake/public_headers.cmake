# The public headers: what plugin authors include, and what these headers include. Only they are installed.
# tests/docs/public_headers.py reads these lists, too: it limits their size and checks their contracts.
set(BERTH_PUBLIC_HEADERS
  command/custom_scheduler.hpp            # the main function of a scheduler with custom plugins
  scheduler/framework/plugin.hpp          # extension points
  scheduler/framework/one_node.hpp        # adapters for plugins that evaluate one node at a time
  scheduler/framework/handle.hpp          # the scheduler's services
  scheduler/framework/factory.hpp         # creation of plugins
  scheduler/framework/typed_args.hpp      # arguments
  scheduler/framework/event_cache.hpp     # what hints compute once per event
  scheduler/framework/saved_state.hpp     # state in recordings
  scheduler/framework/queued_pod.hpp      # for QueueSort
  scheduler/framework/filter_outcome.hpp  # for PostFilter
  kubernetes/api/objects.hpp              # all watched kinds
  observability/log/log.hpp               # log lines
)
# Headers of the CMake component `testing`: builders for unit tests of plugins.
set(BERTH_PUBLIC_TEST_HEADERS
  testing/cluster.hpp
)

# Sets `out` to the file of a header.
function(berth_header_file out header)
  set(file ${CMAKE_SOURCE_DIR}/src/${header})
  if(NOT EXISTS ${file})
    set(file ${CMAKE_SOURCE_DIR}/${header})
  endif()
  set(${out} ${file} PARENT_SCOPE)
endfunction()

# Sets `out` to these headers and all headers that they include, relative to src/ or to the source tree.
function(berth_reachable_headers out)
  set(pending ${ARGN})
  set(found "")
  while(pending)
    list(POP_FRONT pending header)
    if(header IN_LIST found)
      continue()
    endif()
    list(APPEND found ${header})
    berth_header_file(file ${header})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(STRINGS ${file} lines REGEX "^#include \"")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE "^#include \"([^\"]+)\".*" "\\1" included "${line}")
      list(APPEND pending ${included})
    endforeach()
  endwhile()
  set(${out} ${found} PARENT_SCOPE)
endfunction()

# Installs headers below include/berth, in their directories.
function(berth_install_headers)
  foreach(header IN LISTS ARGN)
    get_filename_component(directory ${header} DIRECTORY)
    berth_header_file(file ${header})
    install(FILES ${file} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/berth/${directory})
  endforeach()
endfunction()
