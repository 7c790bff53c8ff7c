/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the programs of this folder begin with: CUDA's driver API, a module of it, and a clock. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Of CUDA's driver API, which is documented. */
typedef int result;
typedef unsigned long long pointer;
result cuInit(unsigned flags);
result cuDeviceGet(int *device, int number);
result cuDeviceGetName(char *name, int len, int device);
result cuDevicePrimaryCtxRetain(void **context, int device);
result cuCtxSetCurrent(void *context);
result cuCtxSynchronize(void);
result cuModuleLoadData(void **module, const void *image);
result cuModuleGetFunction(void **function, void *module, const char *name);
result cuMemAlloc_v2(pointer *address, size_t bytes);
result cuMemAllocHost_v2(void **address, size_t bytes);
result cuMemHostRegister_v2(void *address, size_t bytes, unsigned flags);
result cuMemcpyHtoDAsync_v2(pointer to, const void *from, size_t bytes, void *stream);
result cuMemcpyDtoHAsync_v2(void *to, pointer from, size_t bytes, void *stream);
result cuMemcpyHtoD_v2(pointer to, const void *from, size_t bytes);
result cuMemcpyDtoH_v2(void *to, pointer from, size_t bytes);
result cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
		      unsigned bz, unsigned shared, void *stream, void **parameters, void **extra);
result cuStreamCreate(void **stream, unsigned flags);
result cuStreamSynchronize(void *stream);
result cuGetErrorName(result error, const char **name);

#define STREAM_NON_BLOCKING 1
/* Largest file of a module. */
#define MODULE_MAX (1 << 20)

static void *module;

static const char *name_of(result error)
{
	const char *name = "an unknown error";

	cuGetErrorName(error, &name);
	return name;
}

static void need(result error, const char *file, int line)
{
	if (error) {
		fprintf(stderr, "%s:%d: %s\n", file, line, name_of(error));
		exit(1);
	}
}
#define NEED(call) need(call, strrchr("/" __FILE__, '/') + 1, __LINE__)

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec * 1e-9;
}

static void *function(const char *name)
{
	void *it;

	NEED(cuModuleGetFunction(&it, module, name));
	return it;
}

static pointer on_device(size_t bytes)
{
	pointer it;

	NEED(cuMemAlloc_v2(&it, bytes));
	return it;
}

/* Loads the module in a file into the first device's primary context; 0 if there is none to load. */
static int begin(const char *path)
{
	static char image[MODULE_MAX + 1];
	FILE *file = path ? fopen(path, "rb") : NULL;
	char name[256];
	void *context;
	int device;

	if (!file || fread(image, 1, MODULE_MAX, file) == 0)
		return 0;
	fclose(file);
	NEED(cuInit(0));
	NEED(cuDeviceGet(&device, 0));
	NEED(cuDeviceGetName(name, sizeof(name), device));
	NEED(cuDevicePrimaryCtxRetain(&context, device));
	NEED(cuCtxSetCurrent(context));
	NEED(cuModuleLoadData(&module, image));
	printf("on %s\n", name);
	return 1;
}
