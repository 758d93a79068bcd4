# Adds the files of the page (ui/) to a target: page_files.cpp.
option(BERTH_UI "build the page (ui/) into the program; needs Node.js 18 and npm" ON)

function(berth_page target)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/page_files.cpp)
  target_sources(${target} PRIVATE ${output})
  set_source_files_properties(${output} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
  if(NOT BERTH_UI)
    file(CONFIGURE OUTPUT ${output} CONTENT [[
#include "service/page/page_files.hpp"

namespace berth::service {

std::span<const PageFile> PageFiles() { return {}; }

}  // namespace berth::service
]])
    return()
  endif()
  find_program(BERTH_NODE NAMES node nodejs)
  find_program(BERTH_NPM NAMES npm)
  if(NOT BERTH_NODE OR NOT BERTH_NPM)
    message(FATAL_ERROR "The page (ui/) needs node and npm, which were not found. Run script/setup, or configure with "
                        "-DBERTH_UI=OFF to build without the page.")
  endif()
  set(ui ${CMAKE_SOURCE_DIR}/ui)
  set(work ${CMAKE_BINARY_DIR}/ui)
  # npm reads the lock file beside node_modules, which belongs to the build folder.
  add_custom_command(
    OUTPUT ${work}/installed
    COMMAND ${CMAKE_COMMAND} -E copy ${ui}/package.json ${ui}/package-lock.json ${work}
    COMMAND ${BERTH_NPM} ci --include=dev --ignore-scripts --prefer-offline --no-audit --no-fund --loglevel=error
    COMMAND ${CMAKE_COMMAND} -E touch ${work}/installed
    WORKING_DIRECTORY ${work}
    DEPENDS ${ui}/package.json ${ui}/package-lock.json
    COMMENT "Installing the compiler of the page (npm ci)"
    VERBATIM)
  file(MAKE_DIRECTORY ${work})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${ui}/src/*)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${BERTH_NODE} ${ui}/build.mjs ${work}/node_modules ${output}
    DEPENDS ${work}/installed ${ui}/build.mjs ${ui}/tsconfig.json ${sources}
    COMMENT "Building the page"
    VERBATIM)
endfunction()
