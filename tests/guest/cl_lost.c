/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Two processes that use the GPU, one after the other. The first may lose the
 * board on the way: then every later call of it says so. The second must not
 * notice. */
#include "cl_test.h"

#include <sys/wait.h>
#include <unistd.h>

#define N 4096
#define ROUNDS 8

enum { FINISHED = 0, WRONG = 1, LOST = 2 };

static const char source[] =
	"__kernel void twice(__global int *a)"
	"{ size_t i = get_global_id(0); a[i] = 2 * a[i]; }";

static int data[N];

/* One round; the first error. */
static cl_int round_trip(struct gpu *gpu, cl_kernel twice, cl_mem buffer)
{
	size_t global = N;
	cl_int error;

	error = clEnqueueWriteBuffer(gpu->queue, buffer, CL_FALSE, 0,
				     sizeof(data), data, 0, NULL, NULL);
	if (error)
		return error;
	error = clEnqueueNDRangeKernel(gpu->queue, twice, 1, NULL, &global,
				       NULL, 0, NULL, NULL);
	if (error)
		return error;
	return clEnqueueReadBuffer(gpu->queue, buffer, CL_TRUE, 0, sizeof(data),
				   data, 0, NULL, NULL);
}

/* Whether the board is gone for good, as the API says it. */
static int stays_lost(struct gpu *gpu, cl_int error)
{
	cl_int made;

	printf("# the first error is %d\n", error);
	EXPECT(error, CL_DEVICE_NOT_AVAILABLE);
	EXPECT(clFinish(gpu->queue), CL_DEVICE_NOT_AVAILABLE);
	CHECK(!clCreateBuffer(gpu->context, 0, 64, NULL, &made));
	EXPECT(made, CL_DEVICE_NOT_AVAILABLE);
	return failures ? WRONG : LOST;
}

static int use(void)
{
	struct gpu gpu = first_gpu();
	cl_kernel twice = kernel_of(build(&gpu, source), "twice");
	cl_mem buffer = buffer_of(&gpu, sizeof(data));

	NEED(clSetKernelArg(twice, 0, sizeof(buffer), &buffer));
	for (int i = 0; i < N; i++)
		data[i] = i;
	for (int round = 0; round < ROUNDS; round++) {
		cl_int error = round_trip(&gpu, twice, buffer);

		if (error)
			return stays_lost(&gpu, error);
	}
	for (int i = 0; i < N; i++)
		CHECK(data[i] == i << ROUNDS);
	return failures ? WRONG : FINISHED;
}

int main(void)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		status = use();
		fflush(stdout);
		_exit(status);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		return 3;
	status = WIFEXITED(status) ? WEXITSTATUS(status) : WRONG;
	printf("first: %s\n", status == FINISHED ? "finished" :
			      status == LOST	 ? "lost" : "wrong");
	fflush(stdout);
	printf("second: %s\n", use() == FINISHED ? "finished" : "wrong");
	return 0;
}
