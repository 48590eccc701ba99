# `cmake --install BUILD --prefix /usr --component weft`: programs, manual, completions, example configuration. Service
# files are placed by the packages (packaging/), because they name absolute paths.
include(GNUInstallDirs)
if(TARGET weftd AND TARGET weft)
  install(TARGETS weftd weft-resolver RUNTIME DESTINATION sbin COMPONENT weft)
  install(TARGETS weft RUNTIME DESTINATION bin COMPONENT weft)
  install(DIRECTORY ${CMAKE_BINARY_DIR}/generated/share/ DESTINATION share COMPONENT weft)
  install(FILES config/example.yaml DESTINATION share/doc/weft/examples RENAME weft.yaml COMPONENT weft)
endif()
