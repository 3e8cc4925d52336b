/* SPDX-License-Identifier: Apache-2.0 */
#include "mutants.h"

const bool sim_product_has_mutants = false;
