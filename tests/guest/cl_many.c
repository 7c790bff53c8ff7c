/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Makes and frees many objects of each kind: cl_many OBJECTS PROGRAMS ROUNDS,
 * in two processes of four threads each. With a last argument, prints by how
 * many KiB each process grew after its first round. */
#include "cl_same.h"
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROCESSES 2
#define THREADS 4

static struct gpu gpu;
static int objects, programs;
static cl_mem parent;
static cl_program of_kernels;

static const char SOURCE[] = "__kernel void k(__global int *x) { x[0] += 1; }";

#define TIMES(count, make, free)                                               \
	do {                                                                   \
		for (int n = 0; n < (count); n++) {                            \
			cl_int error = 0;                                      \
			void *object = make;                                   \
			NEED(error);                                           \
			NEED(free(object));                                    \
		}                                                              \
	} while (0)

static void *marked(cl_int *error)
{
	cl_event event = NULL;

	*error = clEnqueueMarkerWithWaitList(gpu.queue, 0, NULL, &event);
	return event;
}

static cl_int set_and_released(void *event)
{
	cl_int error = clSetUserEventStatus(event, CL_COMPLETE);

	return error ? error : clReleaseEvent(event);
}

static void build(int seed)
{
	const char *source = SOURCE;
	char options[32];
	cl_int error = 0;
	cl_program program =
		clCreateProgramWithSource(gpu.context, 1, &source, NULL, &error);

	NEED(error);
	snprintf(options, sizeof(options), "-DSEED=%d", seed % 2);
	NEED(clBuildProgram(program, 1, &gpu.device, options, NULL, NULL));
	NEED(clReleaseProgram(program));
}

static void *work(void *argument)
{
	const char *source = SOURCE;
	cl_buffer_region part = {0, 256};
	cl_image_format format = {CL_RGBA, CL_UNSIGNED_INT8};
	cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D,
			      .image_width = 8,
			      .image_height = 8};
	int count = objects / (THREADS * PROCESSES);

	TIMES(count, clCreateContext(NULL, 1, &gpu.device, NULL, NULL, &error),
	      clReleaseContext);
	TIMES(count, clCreateCommandQueue(gpu.context, gpu.device, 0, &error),
	      clReleaseCommandQueue);
	TIMES(count, clCreateBuffer(gpu.context, 0, 1024, NULL, &error),
	      clReleaseMemObject);
	TIMES(count, clCreateSubBuffer(parent, 0, CL_BUFFER_CREATE_TYPE_REGION,
				       &part, &error),
	      clReleaseMemObject);
	TIMES(count, clCreateImage(gpu.context, 0, &format, &desc, NULL, &error),
	      clReleaseMemObject);
	TIMES(count, clCreateSampler(gpu.context, CL_FALSE, CL_ADDRESS_CLAMP,
				     CL_FILTER_NEAREST, &error),
	      clReleaseSampler);
	TIMES(count, clCreateProgramWithSource(gpu.context, 1, &source, NULL,
					       &error),
	      clReleaseProgram);
	TIMES(count, clCreateKernel(of_kernels, "k", &error), clReleaseKernel);
	TIMES(count, clCreateUserEvent(gpu.context, &error), set_and_released);
	TIMES(count, marked(&error), clReleaseEvent);
	for (int n = 0; n < programs / (THREADS * PROCESSES); n++)
		build(n);
	return argument;
}

static void round_of(void)
{
	pthread_t threads[THREADS];

	for (int n = 0; n < THREADS; n++)
		NEED(pthread_create(&threads[n], NULL, work, NULL));
	for (int n = 0; n < THREADS; n++)
		NEED(pthread_join(threads[n], NULL));
	NEED(clFinish(gpu.queue));
}

static long resident_kib(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	long pages = 0;

	if (!file || fscanf(file, "%*d %ld", &pages) != 1)
		pages = 0;
	if (file)
		fclose(file);
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static int run(int rounds, int tell)
{
	cl_int error = 0;
	long before;

	gpu = first_gpu(0);
	parent = clCreateBuffer(gpu.context, 0, 1024, NULL, &error);
	NEED(error);
	of_kernels = built(&gpu, SOURCE, "");
	round_of();
	before = resident_kib();
	for (int n = 1; n < rounds; n++)
		round_of();
	if (tell)
		printf("grew by %ld KiB\n", resident_kib() - before);
	NEED(clReleaseProgram(of_kernels));
	NEED(clReleaseMemObject(parent));
	close_gpu(&gpu);
	printf("ok\n");
	fflush(stdout);
	return 0;
}

int main(int argc, char **argv)
{
	pid_t children[PROCESSES];
	int failed = 0;

	if (argc < 4)
		return 2;
	objects = atoi(argv[1]);
	programs = atoi(argv[2]);
	for (int n = 0; n < PROCESSES; n++) {
		children[n] = fork();
		if (children[n] == 0)
			exit(run(atoi(argv[3]), argc > 4));
	}
	for (int n = 0; n < PROCESSES; n++) {
		int status = 1;

		waitpid(children[n], &status, 0);
		failed |= status != 0;
	}
	return failed;
}
