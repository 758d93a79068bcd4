# Precompiled headers: the standard library and fmt are half of the compiler's work on a typical file. One header
# serves all modules, one all tests. Fuzzers that are optimised are built without, so that a missing include is found.
option(BERTH_PRECOMPILE "use precompiled headers" ON)
if(BERTH_FUZZ AND BERTH_SANITIZE STREQUAL "")
  set(BERTH_PRECOMPILE OFF)
endif()

# ccache identifies a precompiled header by this text instead of its bytes, which differ from build to build.
function(berth_identify target header)
  file(SHA256 ${header} hash)
  foreach(kind gch pch)
    file(WRITE ${CMAKE_BINARY_DIR}/CMakeFiles/${target}.dir/cmake_pch.hxx.${kind}.sum
         "${hash} ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION} ${CMAKE_CXX_FLAGS_RELWITHDEBINFO} ${BERTH_SANITIZE} ${ARGN}\n")
  endforeach()
endfunction()

function(berth_precompiled target header)
  add_library(${target} OBJECT ${CMAKE_SOURCE_DIR}/cmake/precompiled/empty.cpp)
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/cmake)
  target_link_libraries(${target} PRIVATE berth_options fmt::fmt)
  target_precompile_headers(${target} PRIVATE ${header})
  berth_identify(${target} ${header})
endfunction()

if(BERTH_PRECOMPILE)
  berth_precompiled(berth_precompiled ${CMAKE_SOURCE_DIR}/cmake/precompiled/standard.hpp)
  if(BERTH_TESTS)
    berth_precompiled(berth_precompiled_test ${CMAKE_SOURCE_DIR}/cmake/precompiled/test.hpp)
    target_link_libraries(berth_precompiled_test PRIVATE GTest::gmock)
    if(NOT BERTH_SANITIZE)
      target_compile_options(berth_precompiled_test PRIVATE -O1)  # as in berth_module
    endif()
  endif()
endif()

# Uses the precompiled header of modules, or of tests, for a target.
function(berth_use_precompiled target header)
  if(BERTH_PRECOMPILE)
    target_precompile_headers(${target} REUSE_FROM ${header})
  endif()
endfunction()
