# SPDX-License-Identifier: Apache-2.0
# Writes which commit is built: cmake -D OUT=file -D SOURCE=folder -P commit.cmake
execute_process(COMMAND git -C ${SOURCE} rev-parse --short HEAD OUTPUT_VARIABLE commit
                OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
if(failed)
    set(commit "no commit")
endif()
file(CONFIGURE OUTPUT ${OUT} CONTENT "#define SIM_COMMIT \"${commit}\"\n" @ONLY)
