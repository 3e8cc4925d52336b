# SPDX-License-Identifier: Apache-2.0
#
# hiredis 0.14 to 1.2, as <hiredis/hiredis.h>: the target Hiredis::Hiredis. Older ones come without a CMake
# package and some without a .pc file, so the header and the library are looked for as such. Installed with
# Holdfast's CMake package, whose static library needs it.
find_path(HIREDIS_INCLUDE_DIR hiredis/hiredis.h)
find_library(HIREDIS_LIBRARY hiredis)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Hiredis REQUIRED_VARS HIREDIS_LIBRARY HIREDIS_INCLUDE_DIR)
mark_as_advanced(HIREDIS_INCLUDE_DIR HIREDIS_LIBRARY)
if(Hiredis_FOUND AND NOT TARGET Hiredis::Hiredis)
    add_library(Hiredis::Hiredis UNKNOWN IMPORTED)
    set_target_properties(Hiredis::Hiredis PROPERTIES IMPORTED_LOCATION ${HIREDIS_LIBRARY}
                          INTERFACE_INCLUDE_DIRECTORIES ${HIREDIS_INCLUDE_DIR})
endif()
