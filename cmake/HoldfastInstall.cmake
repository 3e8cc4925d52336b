# SPDX-License-Identifier: Apache-2.0
#
# What is installed, and where. tests/install checks it by building programs against it.

include(CMakePackageConfigHelpers)

get_property(HF_PACKAGES GLOBAL PROPERTY HF_PACKAGES)
get_property(HF_PC_LIBS GLOBAL PROPERTY HF_PC_LIBS)
list(JOIN HF_PC_LIBS " " HF_PC_LIBS)

# The two libraries are exported apart: only the static one needs what the stores are made with, so a program
# that links the shared one needs no headers of hiredis or SQLite.
install(TARGETS holdfast EXPORT HoldfastShared
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS holdfast_static EXPORT HoldfastStatic
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/holdfast DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/Holdfast)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/HoldfastConfig.cmake.in
                              ${PROJECT_BINARY_DIR}/HoldfastConfig.cmake
                              INSTALL_DESTINATION ${package} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/HoldfastConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(EXPORT HoldfastShared NAMESPACE Holdfast:: DESTINATION ${package})
install(EXPORT HoldfastStatic NAMESPACE Holdfast:: DESTINATION ${package})
install(FILES ${PROJECT_BINARY_DIR}/HoldfastConfig.cmake
              ${PROJECT_BINARY_DIR}/HoldfastConfigVersion.cmake
              ${PROJECT_SOURCE_DIR}/cmake/FindHiredis.cmake
        DESTINATION ${package})

# holdfast.pc names the prefix, which may be said as late as at the install (cmake --install --prefix).
install(CODE "
    set(PREFIX \"\${CMAKE_INSTALL_PREFIX}\")
    set(LIBDIR \"${CMAKE_INSTALL_LIBDIR}\")
    set(INCLUDEDIR \"${CMAKE_INSTALL_INCLUDEDIR}\")
    set(VERSION \"${PROJECT_VERSION}\")
    set(LIBS_PRIVATE \"${HF_PC_LIBS}\")
    foreach(folder LIBDIR INCLUDEDIR)
        if(NOT IS_ABSOLUTE \"\${\${folder}}\")
            set(\${folder} \"\\\${prefix}/\${\${folder}}\")
        endif()
    endforeach()
    configure_file(\"${PROJECT_SOURCE_DIR}/holdfast.pc.in\" \"${PROJECT_BINARY_DIR}/holdfast.pc\" @ONLY)
")
install(FILES ${PROJECT_BINARY_DIR}/holdfast.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

if(TARGET holdfast_command)
    install(TARGETS holdfast_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
    install(FILES ${PROJECT_SOURCE_DIR}/completions/holdfast.bash RENAME holdfast OPTIONAL
            DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
    install(FILES ${PROJECT_SOURCE_DIR}/completions/_holdfast OPTIONAL
            DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
    install(FILES ${PROJECT_SOURCE_DIR}/completions/holdfast.fish OPTIONAL
            DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()

foreach(section 1 3 7)
    file(GLOB pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/man/*.${section})
    if(pages)
        install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
    endif()
endforeach()
foreach(document README.md LICENSE CHANGELOG.md)
    install(FILES ${PROJECT_SOURCE_DIR}/${document} DESTINATION ${CMAKE_INSTALL_DOCDIR} OPTIONAL)
endforeach()
