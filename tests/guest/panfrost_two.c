/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Rounds (the argument) of two jobs, on two slots and with buffers of their own. The wait
 * for the first one's brings the second one's if its job has ended by then.
 */
#include "panfrost_zero.h"

static int rounds;

static void two_jobs_end_at_different_times(void)
{
	struct buffer jobs[] = { mapped(), mapped() }, buffers[] = { mapped(), mapped() };

	for (int round = 0; round < rounds; round++) {
		for (uint32_t slot = 0; slot < 2; slot++)
			zero(&jobs[slot], slot, &buffers[slot], 0, NULL, 0);
		for (int waited = 1; waited >= 0; waited--) {
			wait_bo(&buffers[waited]);
			CHECK(!*at(&buffers[waited], 0));
		}
	}
}

int main(int argc, char **argv)
{
	rounds = argc > 1 ? atoi(argv[1]) : 1;
	node = open("/dev/dri/renderD128", O_RDWR | O_CLOEXEC);
	if (node < 0)
		return 2;
	run_test("two jobs end at different times", two_jobs_end_at_different_times);
	return failures != 0;
}
