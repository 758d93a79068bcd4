# One folder, one module, one target.
#   berth_module(<name> DEPS <modules it may include> [LIBS <packages>] [TEST_DEPS <modules>] [TEST_LIBS <packages>]
#                [DECISION_PATH <folders>] [COMPILED_QUICKLY])
# compiles every .cpp of the folder. *_test.cpp files form the module's test program; fake_*.cpp files belong to the tests.
# DECISION_PATH: folders whose code runs in every decision ("." for the whole module); their files are compiled one by one.
# COMPILED_QUICKLY: with -Og, for code that runs once per command, start or request of a person.
function(berth_module path)
  string(REPLACE "/" "_" name ${path})
  cmake_parse_arguments(M "COMPILED_QUICKLY" "" "DEPS;LIBS;TEST_DEPS;TEST_LIBS;DECISION_PATH" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  set(depended ${M_DEPS})
  list(TRANSFORM M_DEPS REPLACE "/" "_")
  list(TRANSFORM M_TEST_DEPS REPLACE "/" "_")
  list(TRANSFORM M_DEPS PREPEND berth_ OUTPUT_VARIABLE deps)
  # With sanitizers a program with all modules has 150 MB: a hundred test programs share them instead.
  set(kind STATIC)
  if(BERTH_SANITIZE)
    set(kind SHARED)
  endif()
  if(sources)
    add_library(berth_${name} ${kind} ${sources})
    target_link_libraries(berth_${name} PUBLIC berth_options ${deps} fmt::fmt PRIVATE ${M_LIBS} Threads::Threads)
    berth_use_precompiled(berth_${name} "" ${depended})
    if(NOT M_COMPILED_QUICKLY)
      set_property(GLOBAL APPEND PROPERTY BERTH_OPTIMISED_MODULES berth_${name})
    elseif(NOT BERTH_SANITIZE AND NOT BERTH_FUZZ)
      target_compile_options(berth_${name} PRIVATE -Og)
    endif()
    if(BERTH_UNITY STREQUAL "ALL")
      set(M_DECISION_PATH "")
    endif()
    set(batch 24)
    if(path STREQUAL "scheduler/plugins" OR BERTH_SANITIZE)
      set(batch 12)  # less to compile after a change: a plugin within 20 seconds
    endif()
    berth_unity(berth_${name} ${batch} ${M_DECISION_PATH})
  else()
    add_library(berth_${name} INTERFACE)
    target_link_libraries(berth_${name} INTERFACE berth_options ${deps} fmt::fmt)
  endif()
  set_property(GLOBAL APPEND PROPERTY BERTH_MODULES berth_${name})
  if(BERTH_TESTS AND tests)
    list(TRANSFORM M_TEST_DEPS PREPEND berth_ OUTPUT_VARIABLE test_deps)
    add_executable(${name}_test ${tests})
    target_include_directories(${name}_test PRIVATE ${CMAKE_SOURCE_DIR})
    if(NOT BERTH_SANITIZE)
      target_compile_options(${name}_test PRIVATE -Og)  # tests are compiled more often than run
    endif()
    target_link_libraries(${name}_test PRIVATE
      berth_${name} ${test_deps} ${M_LIBS} ${M_TEST_LIBS} GTest::gmock_main Threads::Threads)
    berth_use_precompiled(${name}_test _test ${depended})
    if(BERTH_UNITY MATCHES "^(TESTS|ALL)$")
      berth_unity(${name}_test 12)
    endif()
    add_test(NAME ${name} COMMAND ${name}_test --gtest_brief=1)
    set_tests_properties(${name} PROPERTIES TIMEOUT $<IF:$<BOOL:${BERTH_SANITIZE}>,900,300>)
  endif()
endfunction()

# Links a program with the modules in ARGN. Of an inline function that several modules contain, mold takes the first copy:
# optimised modules are first in the list.
function(berth_link_optimised_first program)
  get_property(optimised GLOBAL PROPERTY BERTH_OPTIMISED_MODULES)
  target_link_libraries(${program} PRIVATE ${optimised} ${ARGN})
endfunction()

# Compiles up to `batch` files of a target as one, which shortens a full build by a quarter: most of it is spent on headers.
# ARGN: folders whose files are excluded ("." for all), for the decision path: the compiler inlines a function of a header
# where the unit calls it only once, and without that a decision costs up to 9 % more. Names in anonymous namespaces must
# be unique within a module. script/lint compiles every changed file by itself, so that a missing include is an error there.
function(berth_unity target batch)
  if(NOT BERTH_UNITY OR "." IN_LIST ARGN)
    return()
  endif()
  # At the end of the folder, when the options of its files are known.
  cmake_language(EVAL CODE "cmake_language(DEFER CALL berth_combine ${target} ${batch} ${ARGN})")
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # A class of a .cpp file may have members of types in an anonymous namespace.
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
  endif()
endfunction()

# Replaces the sources of a target by units which include up to `batch` of them, except sources in the folders in ARGN.
# CMake's own units contain the paths of this machine, so that a clone in another directory would find none of them in the
# compiler cache.
function(berth_combine target batch)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${target}.dir/Unity)
  get_target_property(pending ${target} SOURCES)
  set(sources "")
  set(units 0)
  set(included 0)
  foreach(source IN LISTS pending)
    get_source_file_property(options ${source} COMPILE_OPTIONS)
    get_source_file_property(definitions ${source} COMPILE_DEFINITIONS)
    get_source_file_property(generated ${source} GENERATED)
    file(RELATIVE_PATH folder_of ${CMAKE_CURRENT_SOURCE_DIR} ${source})
    string(REGEX REPLACE "/.*" "" folder_of "${folder_of}")
    if(options OR definitions OR generated OR folder_of IN_LIST ARGN)
      list(APPEND sources ${source})
      continue()
    endif()
    if(included EQUAL 0)
      set(unit "")
    endif()
    file(RELATIVE_PATH path ${folder} ${source})
    string(APPEND unit "#include \"${path}\"\n")
    math(EXPR included "(${included} + 1) % ${batch}")
    if(included EQUAL 0)
      berth_add_unit(${folder}/unity_${units}_cxx.cxx)
    endif()
  endforeach()
  if(included GREATER 0)
    berth_add_unit(${folder}/unity_${units}_cxx.cxx)
  endif()
  set_target_properties(${target} PROPERTIES SOURCES "${sources}")
endfunction()

# Writes the variable `unit` to a file, which is added to `sources`. A file with the same content is not changed.
macro(berth_add_unit file)
  file(CONFIGURE OUTPUT ${file} CONTENT "${unit}" @ONLY)
  list(APPEND sources ${file})
  math(EXPR units "${units} + 1")
endmacro()
