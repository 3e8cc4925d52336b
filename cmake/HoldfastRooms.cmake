# SPDX-License-Identifier: Apache-2.0
#
# The words in which src/*/CMakeLists.txt are written.
#
#   hf_room(NAME [LIBS target...] [GENERATED file...])
#       Compiles the C files of the current folder once, position-independent, into the object library
#       hf_NAME. Both libraries and the tests are made of these objects. A new .c file is picked up by the
#       next build. A folder without C files makes no room.
#   hf_store(NAME [LIBS target...] [GENERATED file...])
#       The room store_NAME, whose driver `hfi_driver_NAME` joins the table of stores.
#   hf_need(PACKAGE TARGET target WHAT text DEBIAN package [LINK flag...])
#       Finds what the libraries need, or stops with one line that says what to install. A program that links
#       the static library needs it too: PACKAGE goes into the CMake package, LINK into holdfast.pc.
#
# What they leave behind, as global properties: HF_ROOMS, HF_STORES_BUILT, HF_LIBS (link targets),
# HF_PACKAGES, HF_PC_LIBS.

set(HF_GENERATED_DIR ${PROJECT_BINARY_DIR}/generated)

function(hf_room name)
    cmake_parse_arguments(arg "" "" "LIBS;GENERATED" ${ARGN})
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.c)
    if(NOT sources)
        message(STATUS "src: nothing to compile in ${name} yet")
        return()
    endif()
    add_library(hf_${name} OBJECT ${sources} ${arg_GENERATED})
    hf_compile(hf_${name})
    set_target_properties(hf_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_include_directories(hf_${name} PRIVATE ${PROJECT_SOURCE_DIR}/src ${HF_GENERATED_DIR})
    target_link_libraries(hf_${name} PRIVATE Threads::Threads ${arg_LIBS})
    set_property(GLOBAL APPEND PROPERTY HF_ROOMS ${name})
endfunction()

function(hf_store name)
    hf_room(store_${name} ${ARGN})
    if(TARGET hf_store_${name})
        set_property(GLOBAL APPEND PROPERTY HF_STORES_BUILT ${name})
    endif()
endfunction()

function(hf_need package)
    cmake_parse_arguments(arg "" "TARGET;WHAT;DEBIAN" "LINK" ${ARGN})
    find_package(${package} QUIET)
    if(NOT TARGET ${arg_TARGET})
        message(FATAL_ERROR "${arg_WHAT} was not found.\n"
                            "On Debian and Ubuntu: apt-get install ${arg_DEBIAN}")
    endif()
    # find_package() makes targets of one folder only; the libraries are linked in another.
    get_target_property(imported ${arg_TARGET} IMPORTED)
    if(imported)
        set_target_properties(${arg_TARGET} PROPERTIES IMPORTED_GLOBAL ON)
    endif()
    set_property(GLOBAL APPEND PROPERTY HF_LIBS ${arg_TARGET})
    set_property(GLOBAL APPEND PROPERTY HF_PACKAGES ${package})
    # A library in an unusual place needs the place named.
    get_target_property(location ${arg_TARGET} IMPORTED_LOCATION)
    if(arg_LINK AND location)
        get_filename_component(folder ${location} DIRECTORY)
        if(NOT folder IN_LIST CMAKE_C_IMPLICIT_LINK_DIRECTORIES)
            list(PREPEND arg_LINK -L${folder})
        endif()
    endif()
    set_property(GLOBAL APPEND PROPERTY HF_PC_LIBS ${arg_LINK})
endfunction()
