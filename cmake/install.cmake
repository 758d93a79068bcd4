# `cmake --install`: the program, and the CMake package for schedulers with custom plugins:
#   find_package(berth REQUIRED)
#   target_link_libraries(my-scheduler PRIVATE berth::scheduler)
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(modules GLOBAL PROPERTY BERTH_MODULES)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/berth)
set_target_properties(berth_command PROPERTIES EXPORT_NAME scheduler)

install(TARGETS berth RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS berth_options ${modules} EXPORT berth ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/berth)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/src/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/berth
  FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h" PATTERN "fake_*" EXCLUDE)
# The only header that a plugin loaded at run time needs.
install(FILES ${CMAKE_SOURCE_DIR}/src/scheduler/plugin_host/berth_plugin.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT berth NAMESPACE berth:: FILE berthTargets.cmake DESTINATION ${package})
configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/berthConfig.cmake.in ${CMAKE_BINARY_DIR}/berthConfig.cmake
  INSTALL_DESTINATION ${package})
# Headers and libraries must match: another minor version is incompatible.
write_basic_package_version_file(${CMAKE_BINARY_DIR}/berthConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/berthConfig.cmake ${CMAKE_BINARY_DIR}/berthConfigVersion.cmake DESTINATION ${package})
