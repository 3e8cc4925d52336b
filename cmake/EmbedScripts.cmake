# SPDX-License-Identifier: Apache-2.0
#
# Writes Lua files into a C include file: cmake -D OUT=file -D "SCRIPTS=a.lua;b.lua" -P EmbedScripts.cmake
# The head of the written file says how to use it. The texts are arrays of characters, not string literals:
# C11 promises only 4,095 characters of those, and a literal would need its every special character escaped.
# The SHA1 is of the exact bytes that are sent: EVALSHA depends on it. A line "-- include NAME" stands for the
# file parts/NAME.lua beside the script, what several scripts begin with.

set(texts "")
set(rows "")
foreach(path IN LISTS SCRIPTS)
    get_filename_component(name ${path} NAME_WE)
    if(NOT name MATCHES "^[a-z][a-z0-9_]*$")
        message(FATAL_ERROR "${path}: a script's name must be a C identifier in lower case")
    endif()
    file(READ ${path} text)
    get_filename_component(folder ${path} DIRECTORY)
    while(text MATCHES "\n-- include ([a-z_]+)\n")
        file(READ ${folder}/parts/${CMAKE_MATCH_1}.lua part)
        string(REPLACE "\n-- include ${CMAKE_MATCH_1}\n" "\n${part}" text "${text}")
    endwhile()
    file(WRITE ${OUT}.lua "${text}")
    file(SIZE ${OUT}.lua length)
    file(SHA1 ${OUT}.lua sha)
    file(READ ${OUT}.lua hex HEX)
    string(REGEX REPLACE "(................................)" "\\1\n    " hex "${hex}")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," hex "${hex}")
    string(APPEND texts "static const char hfi_script_text_${name}[] = {\n    ${hex}'\\0'\n};\n")
    string(APPEND rows "HFI_SCRIPT(${name}, \"${sha}\", hfi_script_text_${name}, ${length})\n")
endforeach()

file(WRITE ${OUT}.new "\
/* Made by cmake/EmbedScripts.cmake from src/store/redis/scripts/. Changes here are lost.
 *
 * Two parts, each only when asked for, so the file can be included as often as needed:
 *
 *     #define HFI_SCRIPT_TEXTS                    the arrays hfi_script_text_NAME, with a final NUL;
 *     #include \"redis_scripts.inc\"                in one C file, since they are static
 *     #undef HFI_SCRIPT_TEXTS
 *
 *     #define HFI_SCRIPT(name, sha, text, length) …
 *     #include \"redis_scripts.inc\"                a line for each script, in the order of their names:
 *     #undef HFI_SCRIPT                           its name (file name without .lua), the SHA1 of its text
 *                                                 as 40 hex digits in a string literal, its array, and
 *                                                 its length in bytes without the final NUL
 */
#ifdef HFI_SCRIPT_TEXTS
${texts}#endif
#ifdef HFI_SCRIPT
${rows}#endif
")
# An unchanged file keeps its time, so nothing is compiled again for it.
file(COPY_FILE ${OUT}.new ${OUT} ONLY_IF_DIFFERENT)
file(REMOVE ${OUT}.new ${OUT}.lua)
