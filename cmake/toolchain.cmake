# Warnings, linker, sanitizers: the same for every target of the project.
add_library(berth_options INTERFACE)
target_include_directories(berth_options INTERFACE
  $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/src> $<INSTALL_INTERFACE:include/berth>)
# Scores must round like Go's: a fused multiply-add rounds once where kube-scheduler rounds twice.
target_compile_options(berth_options INTERFACE "$<BUILD_INTERFACE:-Wall;-Wextra;-Wpedantic;-Werror>" -ffp-contract=off)
# Plugin authors are compiled against the same headers.
target_compile_features(berth_options INTERFACE cxx_std_23)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 reports false overruns in inlined std::string code and unused results in coroutine frames.
  target_compile_options(berth_options INTERFACE "$<BUILD_INTERFACE:-Wno-error=restrict;-Wno-error=stringop-overflow;\
-Wno-error=array-bounds;-Wno-error=maybe-uninitialized;-Wno-error=stringop-overread;-Wno-error=dangling-pointer;\
-Wno-error=free-nonheap-object;-fdiagnostics-color>")
  # Garbage collection takes a seventh of the compiler's time; a file needs less memory than this.
  add_compile_options("SHELL:--param ggc-min-heapsize=1048576")
else()
  # Only g++'s warnings are errors; other compilers have other warnings.
  target_compile_options(berth_options INTERFACE $<BUILD_INTERFACE:-Wno-error>)
endif()

# One compiler per core: ninja starts two more, which takes a tenth more CPU time.
cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
set_property(GLOBAL PROPERTY JOB_POOLS compile=${cores})
set(CMAKE_JOB_POOL_COMPILE compile)

# Files with loops that the compiler vectorises (base/vectorized.hpp). The options do not change results:
# floating point traps and errno are not used.
function(berth_kernels)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS "-O3;-fno-trapping-math;-fno-math-errno")
endfunction()

find_program(BERTH_CCACHE ccache)
if(BERTH_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Paths relative to the source tree, so that clones in other directories share the cache. What a file includes is read
  # from the compiler's list of dependencies: preprocessing it first would take 6 % of a build from nothing.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
    CCACHE_DEPEND=1 CCACHE_PCH_EXTSUM=1 CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${BERTH_CCACHE})
  add_compile_options($<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
endif()
find_program(BERTH_MOLD mold)
if(BERTH_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

# Relocations are done at the start and read-only from then on.
add_link_options(-Wl,-z,relro -Wl,-z,now)
# Canaries on the stack and checked variants of C functions (tests/packages/hardening.py). Control-flow protection
# (-fcf-protection) is not used: it has no effect in a process whose C library lacks it, like Debian 12's.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND BERTH_SANITIZE STREQUAL "" AND NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
  add_compile_options(-fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
endif()

if(BERTH_SANITIZE STREQUAL "address" OR BERTH_SANITIZE STREQUAL "thread")
  # Without optimisation clang needs half of g++'s time, and has more checks.
  set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O0 -g0 -DNDEBUG")
  if(BERTH_LINE_NUMBERS)
    set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O0 -g1 -DNDEBUG")
  endif()
  add_compile_options(-fPIC)  # modules are shared libraries (cmake/module.cmake)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "BERTH_SANITIZE=${BERTH_SANITIZE} needs clang: -DCMAKE_CXX_COMPILER=clang++-19")
  endif()
endif()
if(BERTH_SANITIZE STREQUAL "address")
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
elseif(BERTH_SANITIZE STREQUAL "thread")
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer)
  add_link_options(-fsanitize=thread)
elseif(NOT BERTH_SANITIZE STREQUAL "")
  message(FATAL_ERROR "BERTH_SANITIZE=${BERTH_SANITIZE}: expected address, thread or nothing")
endif()

# script/build-profiled. Both builds use the same directory: the counts are beside the object files.
if(NOT BERTH_PROFILE STREQUAL "" AND NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  message(FATAL_ERROR "BERTH_PROFILE=${BERTH_PROFILE} needs g++")
endif()
if(BERTH_PROFILE STREQUAL "generate")
  add_compile_options(-fprofile-generate -fprofile-update=prefer-atomic)
  add_link_options(-fprofile-generate)
elseif(BERTH_PROFILE STREQUAL "use")
  # Code that did not run is optimised as usual, not for size. Counts of threads may be slightly inconsistent.
  add_compile_options(-fprofile-use -fprofile-partial-training -fprofile-correction
    -Wno-missing-profile -Wno-coverage-mismatch)
elseif(NOT BERTH_PROFILE STREQUAL "")
  message(FATAL_ERROR "BERTH_PROFILE=${BERTH_PROFILE}: expected generate, use or nothing")
endif()

if(BERTH_FUZZ AND BERTH_SANITIZE STREQUAL "")
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "BERTH_FUZZ needs clang: -DCMAKE_CXX_COMPILER=clang++-19")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined
    -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
endif()

if(BERTH_SANITIZE OR BERTH_FUZZ)
  add_compile_definitions(BERTH_DEBUG_CHECKS)  # base/check.hpp
endif()

find_package(Threads REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(ZLIB REQUIRED)
find_package(Boost 1.81 REQUIRED COMPONENTS url json container)
find_package(fmt REQUIRED)
find_package(simdjson REQUIRED)
find_path(PROTOZERO_INCLUDE_DIR protozero/pbf_reader.hpp REQUIRED)
find_package(yaml-cpp REQUIRED)
find_path(JEMALLOC_INCLUDE_DIR jemalloc/jemalloc.h REQUIRED)
find_library(JEMALLOC_LIBRARY jemalloc REQUIRED)
find_path(RE2_INCLUDE_DIR re2/re2.h REQUIRED)
if(BERTH_TESTS)
  find_package(GTest REQUIRED)
endif()

# The allocator of the programs and of their benchmarks (docs/adr/0015-jemalloc.md). Sanitizers have their own.
add_library(berth_allocator INTERFACE)
target_include_directories(berth_allocator INTERFACE $<BUILD_INTERFACE:${JEMALLOC_INCLUDE_DIR}>)
if(BERTH_SANITIZE STREQUAL "" AND NOT BERTH_FUZZ)
  target_link_libraries(berth_allocator INTERFACE jemalloc)
endif()
