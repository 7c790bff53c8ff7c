/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Leaves with launches that nobody waits for: five, a wait, five more; how is
 * the argument. */
#include "cl_test.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

static const char SOURCE[] =
	"__kernel void add(__global uint *x) { x[get_global_id(0)] += 1; }";

static struct gpu gpu;
static cl_kernel kernel;

static void five(void)
{
	size_t size = 64;

	for (int n = 0; n < 5; n++)
		NEED(clEnqueueNDRangeKernel(gpu.queue, kernel, 1, NULL, &size, NULL, 0,
					    NULL, NULL));
}

static void *exits(void *unused)
{
	(void)unused;
	five();
	exit(0);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "return";
	pthread_t thread;
	cl_mem buffer;

	/* Called after whatever the library registers when it is first used. */
	if (!strcmp(how, "last-handler"))
		atexit(five);
	gpu = first_gpu();
	kernel = kernel_of(build(&gpu, SOURCE), "add");
	buffer = buffer_of(&gpu, 64 * sizeof(cl_uint));
	NEED(clSetKernelArg(kernel, 0, sizeof(buffer), &buffer));
	if (!strcmp(how, "first-handler"))
		atexit(five);
	five();
	NEED(clFinish(gpu.queue));
	if (strstr(how, "handler"))
		return 0;
	if (!strcmp(how, "thread")) {
		NEED(pthread_create(&thread, NULL, exits, NULL));
		pause();
	}
	five();
	if (!strcmp(how, "_exit"))
		_exit(0);
	if (!strcmp(how, "signal"))
		raise(SIGKILL);
	if (!strcmp(how, "exit"))
		exit(0);
	return 0;
}
