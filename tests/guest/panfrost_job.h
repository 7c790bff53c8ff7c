/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Jobs of Midgard GPUs that need no shader: Mesa's src/panfrost/lib/genxml/v4.xml. */
#ifndef GIL_TEST_PANFROST_JOB_H
#define GIL_TEST_PANFROST_JOB_H

#include <stdint.h>

#define PAGE 4096

enum { NULL_JOB = 1, WRITE_VALUE = 2 };
enum { TIMESTAMP = 2, ZERO = 3 };

struct job {
	uint32_t status, incomplete;
	uint64_t fault;
	uint32_t type, dependencies;
	uint64_t next;
	uint64_t address;
	uint32_t value;
	uint32_t rest[5];
};

#endif
