/* SPDX-License-Identifier: BSD-2-Clause
 * memory.h - the memory of this process, in bytes; 0: unknown */
#ifndef GEMKV_CLI_MEMORY_H
#define GEMKV_CLI_MEMORY_H

#include <stdint.h>

uint64_t memory_mapped(void);           /* address space, a mapped model's too            */
uint64_t memory_resident(void);

#endif
