/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A program of a vendor's driver that is no DRM driver: buffers, jobs, fences and waits by
 * the calls of /dev/sample_gpu0 alone.
 *
 *     sample_gpu_jobs MICROSECONDS   what each job takes
 */
#define _FILE_OFFSET_BITS 64
#include "driver_test.h"
#include "sample_gpu.h"

#include <poll.h>
#include <sys/mman.h>

#define SIZE 8192

struct buffer {
	uint32_t handle, *words;
};

static int device;
static uint64_t takes;

static struct buffer buffer_of(uint32_t first)
{
	struct sample_gpu_alloc alloc = { .size = SIZE };
	struct sample_gpu_map map = { 0 };
	struct buffer buffer = { 0 };

	CHECK(!ioctl(device, SAMPLE_GPU_ALLOC, &alloc));
	map.handle = buffer.handle = alloc.handle;
	CHECK(!ioctl(device, SAMPLE_GPU_MAP, &map));
	buffer.words = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, device, map.offset);
	CHECK(buffer.words != MAP_FAILED);
	for (uint32_t i = 0; i < SIZE / 4; i++)
		buffer.words[i] = first + i;
	return buffer;
}

/* A job on these buffers; *fence: -1, or that of a job before it, and then its own. */
static int submit(const uint32_t *handles, uint32_t count, uint32_t add, int *fence)
{
	struct sample_gpu_submit job = { .buffers = (uintptr_t)handles, .count = count, .add = add };
	int err;

	if (fence) {
		job.flags = SAMPLE_GPU_FENCE_OUT | (*fence >= 0 ? SAMPLE_GPU_FENCE_IN : 0);
		job.fence = *fence;
	}
	err = ioctl(device, SAMPLE_GPU_SUBMIT, &job);
	if (!err && fence)
		*fence = job.fence;
	return err;
}

static int wait_buffer(uint32_t handle, int64_t deadline_ns)
{
	struct sample_gpu_wait wait = { .handle = handle, .deadline_ns = deadline_ns };

	return ioctl(device, SAMPLE_GPU_WAIT, &wait);
}

static int free_of(uint32_t handle)
{
	struct sample_gpu_free free = { .handle = handle };

	return ioctl(device, SAMPLE_GPU_FREE, &free);
}

static int has(const struct buffer *buffer, uint32_t first)
{
	for (uint32_t i = 0; i < SIZE / 4; i++)
		if (buffer->words[i] != first + i)
			return 0;
	return 1;
}

static void results_come_back(void)
{
	struct buffer one = buffer_of(100), two = buffer_of(7000);
	uint32_t both[] = { one.handle, two.handle };

	CHECK(!submit(both, 2, 5, NULL));
	CHECK(!submit(both, 1, 20, NULL));
	CHECK(!wait_buffer(one.handle, INT64_MAX));
	CHECK(!wait_buffer(two.handle, INT64_MAX));
	CHECK(has(&one, 125) && has(&two, 7005));
	/* What the program writes then, the next job has. */
	one.words[0] = 1;
	CHECK(!submit(both, 1, 1, NULL));
	CHECK(!wait_buffer(one.handle, INT64_MAX));
	CHECK(one.words[0] == 2 && one.words[1] == 127);
	CHECK(!free_of(one.handle) && !free_of(two.handle));
}

static void fences_signal_at_the_jobs_ends(void)
{
	struct buffer buffer = buffer_of(0);
	int first = -1, second;
	uint64_t before = now_ns(), after, at;
	struct pollfd polled = { .events = POLLIN };

	CHECK(!submit(&buffer.handle, 1, 1, &first));
	second = first;
	CHECK(!submit(&buffer.handle, 1, 1, &second));
	after = now_ns();
	polled.fd = first;
	CHECK(poll(&polled, 1, 0) == 0);
	polled.fd = second;
	CHECK(poll(&polled, 1, -1) == 1);
	at = now_ns();
	printf("# %lld ns after the earliest, %lld after the latest\n",
	       (long long)(at - before - 2 * takes), (long long)(at - after - 2 * takes));
	CHECK(at >= before + 2 * takes);
	CHECK(!wait_buffer(buffer.handle, INT64_MAX));
	CHECK(has(&buffer, 2));
	close(first);
	close(second);
}

static void what_is_wrong_is_refused(void)
{
	struct buffer buffer = buffer_of(0);
	struct sample_gpu_alloc alloc = { .size = SIZE, .flags = 1 };
	struct sample_gpu_map map = { .handle = 99 };
	uint32_t none = 99;
	int fence = 0;

	FAILS(ioctl(device, SAMPLE_GPU_ALLOC, &alloc), EINVAL);
	FAILS(ioctl(device, SAMPLE_GPU_MAP, &map), ENOENT);
	FAILS(submit(&buffer.handle, 0, 1, NULL), EINVAL);
	FAILS(submit(&none, 1, 1, NULL), ENOENT);
	FAILS(submit((uint32_t *)8, 1, 1, NULL), EFAULT);
	FAILS(submit(&buffer.handle, 1, 1, &fence), EINVAL);
	FAILS(wait_buffer(99, INT64_MAX), ENOENT);
	CHECK(!free_of(buffer.handle));
	FAILS(free_of(buffer.handle), ENOENT);
	FAILS(ioctl(device, _IO('T', 17)), ENOTTY);
	FAILS(ioctl(device, _IOWR('d', 0, uint64_t[8]), &map), ENOTTY);
	/* The kernel's part of it that is a DRM device is nobody's. */
	FAILS(open("/dev/dri/renderD128", O_RDWR), ENODEV);
}

int main(int argc, char **argv)
{
	struct sample_gpu_info info = { 0 };

	device = open("/dev/sample_gpu0", O_RDWR | O_CLOEXEC);
	if (device < 0 || argc != 2) {
		perror("/dev/sample_gpu0");
		return 2;
	}
	takes = strtoull(argv[1], NULL, 10) * US;
	CHECK(!ioctl(device, SAMPLE_GPU_INFO, &info));
	CHECK(info.version == 1 && info.units == 1);
	run_test("results come back", results_come_back);
	run_test("fences signal at the jobs' ends", fences_signal_at_the_jobs_ends);
	run_test("what is wrong is refused", what_is_wrong_is_refused);
	return failures != 0;
}
