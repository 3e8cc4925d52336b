/* SPDX-License-Identifier: Apache-2.0 */
/* `holdfast version`. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/options.h"
#include "holdfast/holdfast.h"

static const char usage[] = "Usage: holdfast version\n"
                            "Prints the version, 'holdfast 0.1.0'; also: holdfast --version.\n";

static int version_main(int argc, char **argv)
{
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
        return hfi_cli_print_usage(&hfi_cli_version);
    if (argc > 1)
        return hfi_cli_usage_error("version", "no arguments are known, such as", argv[1]);
    printf("holdfast %s\n", hf_version());
    return hfi_cli_flush();
}

const struct cli_command hfi_cli_version = {
    .name = "version",
    .summary = "print the version",
    .usage = usage,
    .main = version_main,
};
