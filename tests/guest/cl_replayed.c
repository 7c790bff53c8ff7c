/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Writes 5000 bytes to a buffer, prints one that it reads back, and asks which
 * size the buffer has: what a recording of one run makes of another one, where
 * a byte of the written ones, or the buffer's size, is not the same.
 *
 *     cl_replayed BYTE [SIZE]
 */
#include "cl_test.h"

#define WRITTEN 5000
#define PLACE 4321

int main(int argc, char **argv)
{
	static char bytes[WRITTEN];
	size_t size = argc > 2 ? strtoul(argv[2], NULL, 10) : WRITTEN;
	char back = 0;
	struct gpu gpu = first_gpu();
	cl_mem buffer = buffer_of(&gpu, size);

	memset(bytes, '.', sizeof(bytes));
	bytes[PLACE] = argv[1][0];
	NEED(clEnqueueWriteBuffer(gpu.queue, buffer, CL_TRUE, 0, WRITTEN, bytes,
				  0, NULL, NULL));
	NEED(clEnqueueReadBuffer(gpu.queue, buffer, CL_TRUE, PLACE, 1, &back, 0,
				 NULL, NULL));
	printf("%c\n", back);
	fflush(stdout);
	clReleaseMemObject(buffer);
	clReleaseCommandQueue(gpu.queue);
	clReleaseContext(gpu.context);
	return 0;
}
