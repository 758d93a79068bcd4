# `cmake --install`: the program, and the CMake package for schedulers with custom plugins:
#   find_package(berth REQUIRED)
#   target_link_libraries(my-scheduler PRIVATE berth::scheduler)
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(modules GLOBAL PROPERTY BERTH_MODULES)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/berth)
set_target_properties(berth_command PROPERTIES EXPORT_NAME scheduler)

install(TARGETS berth RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS berth_options berth_allocator ${modules} EXPORT berth ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/berth)
include(cmake/public_headers.cmake)
berth_reachable_headers(headers ${BERTH_PUBLIC_HEADERS})
berth_install_headers(${headers})
# The only header that a plugin loaded at run time needs.
install(FILES ${CMAKE_SOURCE_DIR}/src/scheduler/plugin_host/berth_plugin.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT berth NAMESPACE berth:: FILE berthTargets.cmake DESTINATION ${package})
# find_package(berth REQUIRED COMPONENTS testing) adds berth::testing, for unit tests of plugins.
if(BERTH_TESTS)
  berth_reachable_headers(test_headers ${BERTH_PUBLIC_TEST_HEADERS})
  list(REMOVE_ITEM test_headers ${headers})
  berth_install_headers(${test_headers})
  set_target_properties(berth_testing PROPERTIES EXPORT_NAME testing)
  install(TARGETS berth_testing EXPORT berth_testing ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/berth)
  install(EXPORT berth_testing NAMESPACE berth:: FILE berthTestingTargets.cmake DESTINATION ${package})
endif()
configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/berthConfig.cmake.in ${CMAKE_BINARY_DIR}/berthConfig.cmake
  INSTALL_DESTINATION ${package})
# Headers and libraries must match: another minor version is incompatible.
write_basic_package_version_file(${CMAKE_BINARY_DIR}/berthConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/berthConfig.cmake ${CMAKE_BINARY_DIR}/berthConfigVersion.cmake DESTINATION ${package})
