# Precompiled headers: headers are more than half of the compiler's work on a typical file. One header serves the modules
# that include scheduler/framework, directly or by another module, one the others, and one more for the tests of each.
# Fuzzers that are optimised are built without, so that a missing include is found.
option(BERTH_PRECOMPILE "use precompiled headers" ON)
if(BERTH_FUZZ AND BERTH_SANITIZE STREQUAL "")
  set(BERTH_PRECOMPILE OFF)
endif()

# Declares the target `name`, which compiles precompiled/<header>. Arguments: libraries, for their include directories.
function(berth_precompiled name header)
  add_library(${name} OBJECT ${CMAKE_SOURCE_DIR}/cmake/precompiled/empty.cpp)
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/cmake)
  target_link_libraries(${name} PRIVATE berth_options fmt::fmt ${ARGN})
  target_precompile_headers(${name} PRIVATE ${CMAKE_SOURCE_DIR}/cmake/precompiled/${header})
  set_target_properties(${name} PROPERTIES CXX_COMPILER_LAUNCHER ${CMAKE_SOURCE_DIR}/cmake/precompiled/compile)
endfunction()

if(BERTH_PRECOMPILE)
  berth_precompiled(berth_precompiled standard.hpp)
  berth_precompiled(berth_precompiled_scheduler scheduler.hpp)
  if(BERTH_TESTS)
    berth_precompiled(berth_precompiled_test test.hpp GTest::gmock)
    berth_precompiled(berth_precompiled_scheduler_test scheduler_test.hpp GTest::gmock)
    if(NOT BERTH_SANITIZE)
      target_compile_options(berth_precompiled_test PRIVATE -Og)  # as in berth_module
      target_compile_options(berth_precompiled_scheduler_test PRIVATE -Og)
    endif()
  endif()
endif()

# Uses the precompiled header for a target with these dependencies. `kind` is "" or "_test".
function(berth_use_precompiled target kind)
  if(BERTH_PRECOMPILE)
    set(scheduler "")
    foreach(dependency IN LISTS ARGN)
      if(dependency MATCHES "^scheduler/(framework|runtime|cycle|assembly)$")
        set(scheduler "_scheduler")
      endif()
    endforeach()
    target_precompile_headers(${target} REUSE_FROM berth_precompiled${scheduler}${kind})
  endif()
endfunction()
