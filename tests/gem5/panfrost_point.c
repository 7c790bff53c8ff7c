/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Asks gem5 for a checkpoint while the GPU executes its job, and waits for the job then. */
#define _FILE_OFFSET_BITS 64
#include "../guest/panfrost.h"

#include "m5.h"

int main(void)
{
	int node = open("/dev/dri/renderD128", O_RDWR);
	struct buffer jobs, buffer;

	if (node < 0) {
		perror("/dev/dri/renderD128");
		return 2;
	}
	jobs = mapped(node, PAGE);
	buffer = mapped(node, PAGE);
	*at(&buffer, 0) = ~0ull;
	start_in(&jobs, node, 0, WRITE_VALUE, ZERO, &buffer, 0, 0);
	m5_checkpoint();
	CHECK(!wait_bo(node, buffer.handle));
	CHECK(*at(&buffer, 0) == 0);
	/* And another. */
	*at(&buffer, 8) = ~0ull;
	start_in(&jobs, node, 0, WRITE_VALUE, ZERO, &buffer, 8, 0);
	CHECK(!wait_bo(node, buffer.handle));
	CHECK(*at(&buffer, 8) == 0);
	if (!failures)
		puts("panfrost_point: went on");
	return failures != 0;
}
