/* SPDX-License-Identifier: Apache-2.0 */
/* The table of seeded bugs: each is turned on, and a campaign must find it. */
#ifndef SIM_MUTANTS_H
#define SIM_MUTANTS_H

#include "options.h"
#include "sim_mutant.h"

/* Does this program have the product's bugs, or only the world's and the host's? */
extern const bool sim_product_has_mutants;

/* Turns on the bug that options->mutant names. False: there is none of that name here; it was said. */
bool sim_mutant_turn_on(struct sim_options *options);
/* The table, in Markdown. False: one was not found. */
bool sim_mutants_run(const struct sim_options *options);
/* A script as the server runs it. */
const char *sim_mutant_script(const char *sha, const char *text, size_t *len);

#endif
