# SPDX-License-Identifier: Apache-2.0
#
# How our own C is compiled: hf_compile(TARGET). One place, so that the library, the command, tests and
# benchmarks see the same language and the same warnings.

set(HF_WARNINGS -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wformat=2 -Wstrict-prototypes
    -Wmissing-prototypes)
if(HF_WERROR)
    list(APPEND HF_WARNINGS -Werror)
endif()

# Sanitizers must be in every object and at every link, also of the tests' helpers. The presets asan and tsan
# do without HF_WERROR: what a sanitizer puts in between makes the compiler forget what it knew of values.
if(HF_SANITIZE)
    add_compile_options(-fsanitize=${HF_SANITIZE} -fno-sanitize-recover=all
                        -fno-omit-frame-pointer)
    add_link_options(-fsanitize=${HF_SANITIZE})
elseif(CMAKE_BUILD_TYPE MATCHES "^Rel")
    # Some compilers come with a _FORTIFY_SOURCE of their own; a second definition would be a warning.
    add_compile_options(-fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
endif()

function(hf_compile target)
    set_target_properties(${target} PROPERTIES C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF
                          C_VISIBILITY_PRESET hidden)
    target_compile_definitions(${target} PRIVATE _GNU_SOURCE)
    target_compile_options(${target} PRIVATE ${HF_WARNINGS})
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/include)
endfunction()
