/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What panfrost's jobs write is in a buffer's memory whichever way a program waits for it,
 * and all of many jobs arrives.
 */
/* Where mmap finds buffers has more than 32 bits. */
#define _FILE_OFFSET_BITS 64
#include "panfrost.h"

#include <linux/dma-buf.h>
#include <poll.h>

static int node;
static struct buffer jobs;

static void start(int file, int n, uint32_t type, uint32_t value, const struct buffer *buffer,
		  uint32_t offset, uint32_t sync)
{
	start_in(&jobs, file, n, type, value, buffer, offset, sync);
}

static void a_sync_object_is_enough(void)
{
	struct buffer buffer = mapped(node, PAGE);
	uint32_t sync = sync_new(node);

	*at(&buffer, 0) = ~0ull;
	start(node, 0, WRITE_VALUE, ZERO, &buffer, 0, sync);
	CHECK(!sync_wait(node, sync));
	CHECK(*at(&buffer, 0) == 0);
	/* What the program writes beside it then is all that it changes there. */
	*at(&buffer, 8) = 2;
	start(node, 0, NULL_JOB, 0, &buffer, 0, sync);
	CHECK(!wait_bo(node, buffer.handle));
	CHECK(*at(&buffer, 0) == 0 && *at(&buffer, 8) == 2);
}

/* Its job has ended by then, as a wait for another buffer of the job's said. */
static void one_that_has_signalled_is_enough(void)
{
	struct buffer buffer = mapped(node, PAGE);
	uint32_t sync = sync_new(node);

	*at(&buffer, 0) = ~0ull;
	start(node, 0, WRITE_VALUE, ZERO, &buffer, 0, sync);
	CHECK(!wait_bo(node, jobs.handle));
	CHECK(!sync_wait(node, sync));
	CHECK(*at(&buffer, 0) == 0);
}

static void a_fence_that_is_polled_is_enough(void)
{
	struct buffer buffer = mapped(node, PAGE);
	struct drm_syncobj_handle file = {
		.flags = DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE, .fd = -1
	};
	struct pollfd fence = { .events = POLLIN };

	file.handle = sync_new(node);
	*at(&buffer, 0) = ~0ull;
	start(node, 0, WRITE_VALUE, ZERO, &buffer, 0, file.handle);
	CHECK(!ioctl(node, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &file));
	fence.fd = file.fd;
	CHECK(poll(&fence, 1, 1000) == 1);
	CHECK(*at(&buffer, 0) == 0);
	close(file.fd);
}

/* As that, after a wait for another buffer of the job's. */
static void a_fence_that_has_signalled_is_polled(void)
{
	struct buffer buffer = mapped(node, PAGE);
	struct drm_syncobj_handle file = {
		.flags = DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE, .fd = -1
	};
	struct pollfd fence = { .events = POLLIN };

	file.handle = sync_new(node);
	*at(&buffer, 0) = ~0ull;
	start(node, 0, WRITE_VALUE, ZERO, &buffer, 0, file.handle);
	CHECK(!ioctl(node, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &file));
	CHECK(!wait_bo(node, jobs.handle));
	fence.fd = file.fd;
	CHECK(poll(&fence, 1, 0) == 1);
	CHECK(*at(&buffer, 0) == 0);
	close(file.fd);
}

static void the_kernels_wait_for_a_shared_buffer_is_enough(void)
{
	struct buffer buffer = mapped(node, PAGE);
	struct drm_prime_handle prime = { .handle = buffer.handle, .flags = DRM_CLOEXEC | DRM_RDWR };
	struct dma_buf_sync sync = { .flags = DMA_BUF_SYNC_START | DMA_BUF_SYNC_READ };

	CHECK(!ioctl(node, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime));
	*at(&buffer, 0) = ~0ull;
	start(node, 0, WRITE_VALUE, ZERO, &buffer, 0, 0);
	CHECK(!ioctl(prime.fd, DMA_BUF_IOCTL_SYNC, &sync));
	CHECK(*at(&buffer, 0) == 0);
	*at(&buffer, 0) = ~0ull;
	start(node, 0, WRITE_VALUE, ZERO, &buffer, 0, 0);
	CHECK(!wait_bo(node, jobs.handle));
	CHECK(!ioctl(prime.fd, DMA_BUF_IOCTL_SYNC, &sync));
	CHECK(*at(&buffer, 0) == 0);
	close(prime.fd);
}

/* The file whose job wrote a buffer is closed before it is mapped. */
static void a_shared_buffer_has_what_a_closed_files_job_wrote(void)
{
	int other = open("/dev/dri/renderD128", O_RDWR | O_CLOEXEC);
	struct drm_prime_handle prime = { .flags = DRM_CLOEXEC | DRM_RDWR };
	struct buffer own = jobs, buffer;
	uint32_t sync = sync_new(other);
	volatile uint64_t *memory;

	jobs = mapped(other, PAGE);
	buffer = created(other, PAGE);
	prime.handle = buffer.handle;
	CHECK(!ioctl(other, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime));
	start(other, 0, WRITE_VALUE, TIMESTAMP, &buffer, 0, sync);
	CHECK(!sync_wait(other, sync));
	munmap(jobs.memory, PAGE);
	close(other);
	jobs = own;
	memory = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, prime.fd, 0);
	CHECK(memory != MAP_FAILED && *memory != 0);
	close(prime.fd);
}

/* Together they name more bytes than the guest has memory. */
static void many_jobs_of_a_large_buffer_are_executed(void)
{
	enum { SIZE = 64 << 20, COUNT = 30 };
	struct buffer buffer = mapped(node, SIZE);

	for (int i = 0; i < COUNT; i++)
		*at(&buffer, 64 * i) = ~0ull;
	for (int i = 0; i < COUNT; i++)
		start(node, i, WRITE_VALUE, ZERO, &buffer, 64 * i, 0);
	CHECK(!wait_bo(node, buffer.handle));
	for (int i = 0; i < COUNT; i++)
		CHECK(*at(&buffer, 64 * i) == 0);
}

int main(void)
{
	node = open("/dev/dri/renderD128", O_RDWR | O_CLOEXEC);
	if (node < 0)
		return 2;
	jobs = mapped(node, PAGE);
	run_test("a sync object is enough", a_sync_object_is_enough);
	run_test("one that has signalled is enough", one_that_has_signalled_is_enough);
	run_test("a fence that is polled is enough", a_fence_that_is_polled_is_enough);
	run_test("a fence that has signalled is polled", a_fence_that_has_signalled_is_polled);
	run_test("the kernel's wait for a shared buffer is enough",
		 the_kernels_wait_for_a_shared_buffer_is_enough);
	run_test("a shared buffer has what a closed file's job wrote",
		 a_shared_buffer_has_what_a_closed_files_job_wrote);
	run_test("many jobs of a large buffer are executed",
		 many_jobs_of_a_large_buffer_are_executed);
	return failures != 0;
}
