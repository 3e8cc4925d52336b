/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Seeded bugs (mutants.list). Sources with bugs in them ask which one is on by MUTANT(name); the product itself
 * knows nothing of this.
 */
#ifndef SIM_MUTANT_H
#define SIM_MUTANT_H

enum sim_mutant_id {
    SIM_MUTANT_NONE,
#define SIM_MUTANT(name, kind, what) SIM_MUTANT_##name,
#include "mutants.inc"
#undef SIM_MUTANT
    SIM_MUTANTS
};

extern enum sim_mutant_id sim_mutant;

#define MUTANT(name) (sim_mutant == SIM_MUTANT_##name)

#endif
