/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Several libraries of gil's in one process: that of the loader, which the
 * program is linked with, and those named as arguments. They have one session. */
#define _GNU_SOURCE
#include "cl_test.h"

#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#define MOST 4

struct library {
	cl_int (*platforms)(cl_uint, cl_platform_id *, cl_uint *);
	cl_int (*devices)(cl_platform_id, cl_device_type, cl_uint,
			  cl_device_id *, cl_uint *);
	cl_int (*info)(cl_device_id, cl_device_info, size_t, void *, size_t *);
};

static struct library libraries[MOST];
static int count;

static void *symbol(void *handle, const char *name)
{
	void *found = dlsym(handle, name);

	if (!found) {
		printf("not ok: no %s: %s\n", name, dlerror());
		exit(1);
	}
	return found;
}

static struct library opened(const char *path, void **kept)
{
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	struct library library;

	if (!handle) {
		printf("not ok: %s\n", dlerror());
		exit(1);
	}
	library.platforms = symbol(handle, "clGetPlatformIDs");
	library.devices = symbol(handle, "clGetDeviceIDs");
	library.info = symbol(handle, "clGetDeviceInfo");
	*kept = handle;
	return library;
}

static int open_devices(void)
{
	DIR *folder = opendir("/proc/self/fd");
	struct dirent *entry;
	char target[64];
	int found = 0;

	while ((entry = readdir(folder))) {
		ssize_t len = readlinkat(dirfd(folder), entry->d_name, target,
					 sizeof(target) - 1);

		if (len < 0)
			continue;
		target[len] = 0;
		found += !strcmp(target, "/dev/gil");
	}
	closedir(folder);
	return found;
}

struct loaded {
	const char *path;
	void *handle;
	cl_platform_id platform;
};

static void *load(void *argument)
{
	struct loaded *loaded = argument;
	struct library library = opened(loaded->path, &loaded->handle);

	NEED(library.platforms(1, &loaded->platform, NULL));
	return NULL;
}

/* Loads on a thread that ends, whose own data would keep the library. */
static cl_platform_id load_and_unload(const char *path)
{
	struct loaded loaded = { .path = path };
	pthread_t thread;

	NEED(pthread_create(&thread, NULL, load, &loaded));
	NEED(pthread_join(thread, NULL));
	CHECK(dlclose(loaded.handle) == 0);
	return loaded.platform;
}

/* The first thing that the process does: later the loader holds a library. */
static void loading_it_again_finds_the_session(const char *path)
{
	cl_platform_id before = load_and_unload(path);
	cl_platform_id after = load_and_unload(path);

	CHECK(before == after);
	CHECK(open_devices() == 1);
}

static void each_library_is_its_own(struct gpu *gpu)
{
	(void)gpu;
	for (int one = 0; one < count; one++)
		for (int other = 0; other < one; other++)
			CHECK(libraries[one].platforms != libraries[other].platforms);
}

static void the_device_is_open_once(struct gpu *gpu)
{
	for (int n = 0; n < count; n++) {
		cl_platform_id platform;

		EXPECT(libraries[n].platforms(1, &platform, NULL), CL_SUCCESS);
		CHECK(platform == gpu->platform);
	}
	CHECK(open_devices() == 1);
}

static void objects_of_one_are_objects_of_all(struct gpu *gpu)
{
	for (int n = 0; n < count; n++) {
		cl_device_id device;
		cl_platform_id platform;

		EXPECT(libraries[n].devices(gpu->platform, CL_DEVICE_TYPE_ALL, 1,
					    &device, NULL),
		       CL_SUCCESS);
		CHECK(device == gpu->device);
		EXPECT(libraries[n].info(gpu->device, CL_DEVICE_PLATFORM,
					 sizeof(platform), &platform, NULL),
		       CL_SUCCESS);
		CHECK(platform == gpu->platform);
	}
}

int main(int argc, char **argv)
{
	struct gpu gpu;
	void *handle;

	if (argc > 1)
		loading_it_again_finds_the_session(argv[1]);
	gpu = first_gpu();
	for (int n = 1; n < argc && count < MOST; n++)
		libraries[count++] = opened(argv[n], &handle);
	run_test("each library is its own", each_library_is_its_own, &gpu);
	run_test("the device is open once", the_device_is_open_once, &gpu);
	run_test("objects of one are objects of all",
		 objects_of_one_are_objects_of_all, &gpu);
	return failures != 0;
}
