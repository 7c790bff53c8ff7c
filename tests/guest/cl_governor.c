/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A governor of the GPU's clock, by the driver's files: two equal kernels, the second after
 * the clock was set to half. Prints what each took in simulated time, and what the files say. */
#define _GNU_SOURCE
#include "cl_test.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define FILES "/sys/class/misc/gil/"
#define N 4096

static const char source[] =
	"__kernel void turn(__global uint *a)"
	"{ size_t i = get_global_id(0); uint x = a[i];"
	"  for (uint n = 0; n < 20000; n++) x = x * 1664525u + 1013904223u;"
	"  a[i] = x; }";

/* What a file says, or why it says nothing. */
static void says(const char *name)
{
	char path[128], text[256];
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), FILES "%s", name);
	fd = open(path, O_RDONLY);
	len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (len < 0) {
		printf("%s: %s\n", name, strerrorname_np(errno));
	} else {
		text[len] = 0;
		printf("%s: %s", name, text);
	}
	if (fd >= 0)
		close(fd);
}

/* The errno of setting the clock so; 0: it is set. */
static int sets(const char *rate)
{
	int fd = open(FILES "userspace/set_freq", O_WRONLY);
	int error = 0;

	if (fd < 0)
		return errno;
	if (write(fd, rate, strlen(rate)) < 0)
		error = errno;
	close(fd);
	return error;
}

static cl_ulong lasts(struct gpu *gpu, cl_kernel turn)
{
	cl_ulong start = 0, end = 0;
	size_t global = N;
	cl_event event;

	NEED(clEnqueueNDRangeKernel(gpu->queue, turn, 1, NULL, &global, NULL, 0,
				    NULL, &event));
	NEED(clWaitForEvents(1, &event));
	NEED(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START,
				     sizeof(start), &start, NULL));
	NEED(clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END,
				     sizeof(end), &end, NULL));
	NEED(clReleaseEvent(event));
	return end - start;
}

int main(void)
{
	static const char *const rates[] = { "450000000", "0", "-1", "fast", "",
					     "300000000" };
	struct gpu gpu = first_gpu();
	cl_kernel turn = kernel_of(build(&gpu, source), "turn");
	cl_mem buffer = buffer_of(&gpu, N * sizeof(cl_uint));

	NEED(clSetKernelArg(turn, 0, sizeof(buffer), &buffer));
	says("available_frequencies");
	says("cur_freq");
	printf("first: %llu\n", (unsigned long long)lasts(&gpu, turn));
	for (size_t i = 0; i < sizeof(rates) / sizeof(*rates); i++) {
		int error = sets(rates[i]);

		printf("set \"%s\": %s\n", rates[i],
		       error ? strerrorname_np(error) : "done");
	}
	says("cur_freq");
	says("userspace/set_freq");
	printf("second: %llu\n", (unsigned long long)lasts(&gpu, turn));
	return 0;
}
