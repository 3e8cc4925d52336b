/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HF_TESTS_PURITY_SAMPLES_H
#define HF_TESTS_PURITY_SAMPLES_H

int hfi_sample_base(void);
int hfi_sample_core(int depth);
int hfi_sample_cli(void);

#endif
