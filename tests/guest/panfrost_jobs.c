/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Jobs of panfrost's that need no shader, by the kernel's own calls: what they write
 * comes back, they end when they should, and what the driver refuses has its errno.
 *
 *     panfrost_jobs MICROSECONDS   what each job takes
 *     panfrost_jobs never          jobs do not end
 *     panfrost_jobs beside MICROSECONDS SLOWED
 *                                  what a job takes, and what one takes beside it, on
 *                                  another processor
 */
/* Where mmap finds buffers has more than 32 bits. */
#define _FILE_OFFSET_BITS 64
#include "driver_test.h"
#include "drm_fences.h"
#include "panfrost_job.h"

#include <drm/drm.h>
#include <drm/panfrost_drm.h>
#include <sys/klog.h>
#include <sys/mman.h>
#include <sys/wait.h>

/* So late a wait may return. */
#define LATE (20 * US)

/* A buffer with jobs, and behind them what they write. */
struct buffer {
	uint32_t handle;
	uint64_t address;
	struct job *jobs;
	uint64_t *values;
};

static int node;
static uint64_t takes, slowed;

static int create(uint32_t size, uint32_t flags, struct buffer *buffer)
{
	struct drm_panfrost_create_bo bo = { .size = size, .flags = flags };
	int err = ioctl(node, DRM_IOCTL_PANFROST_CREATE_BO, &bo);

	buffer->handle = bo.handle;
	buffer->address = bo.offset;
	return err;
}

static struct buffer jobs_buffer(void)
{
	struct buffer buffer = { 0 };
	struct drm_panfrost_mmap_bo map = { 0 };

	CHECK(!create(PAGE, 0, &buffer));
	map.handle = buffer.handle;
	CHECK(!ioctl(node, DRM_IOCTL_PANFROST_MMAP_BO, &map));
	buffer.jobs = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, node, map.offset);
	CHECK(buffer.jobs != MAP_FAILED);
	buffer.values = (uint64_t *)(buffer.jobs + 32);
	return buffer;
}

/* The job of this number, and behind it the next, if there is one. */
static void put_job(struct buffer *buffer, int n, uint32_t type, uint32_t value, int is_last)
{
	struct job *job = &buffer->jobs[n];

	memset(job, 0, sizeof(*job));
	job->type = type << 1 | 1 | (uint32_t)(n + 1) << 16;
	job->next = is_last ? 0 : buffer->address + (n + 1) * sizeof(*job);
	job->address = buffer->address + 32 * sizeof(*job) + n * 8;
	job->value = value;
	buffer->values[n] = ~0ull;
}

static uint32_t sync_new(void)
{
	struct drm_syncobj_create sync = { 0 };

	CHECK(!ioctl(node, DRM_IOCTL_SYNCOBJ_CREATE, &sync));
	return sync.handle;
}

static int sync_wait(uint32_t sync, int64_t until)
{
	struct drm_syncobj_wait wait = {
		.handles = (uintptr_t)&sync, .count_handles = 1, .timeout_nsec = until
	};

	return ioctl(node, DRM_IOCTL_SYNCOBJ_WAIT, &wait);
}

static int wait_bo(uint32_t handle, int64_t until)
{
	struct drm_panfrost_wait_bo wait = { .handle = handle, .timeout_ns = until };

	return ioctl(node, DRM_IOCTL_PANFROST_WAIT_BO, &wait);
}

static int submit(uint64_t chain, uint32_t *handle, uint32_t sync, uint32_t requirements)
{
	struct drm_panfrost_submit job = { .jc = chain,
					   .bo_handles = (uintptr_t)handle,
					   .bo_handle_count = handle ? 1 : 0,
					   .out_sync = sync,
					   .requirements = requirements };

	return ioctl(node, DRM_IOCTL_PANFROST_SUBMIT, &job);
}

static void values_are_written(void)
{
	struct buffer buffer = jobs_buffer();
	uint32_t sync = sync_new();

	put_job(&buffer, 0, NULL_JOB, 0, 0);
	put_job(&buffer, 1, WRITE_VALUE, ZERO, 0);
	put_job(&buffer, 2, WRITE_VALUE, TIMESTAMP, 1);
	CHECK(!submit(buffer.address, &buffer.handle, sync, 0));
	CHECK(!sync_wait(sync, INT64_MAX));
	CHECK(!wait_bo(buffer.handle, INT64_MAX));
	CHECK(buffer.values[0] == ~0ull);
	CHECK(buffer.values[1] == 0);
	CHECK(buffer.values[2] != ~0ull && buffer.values[2] != 0);
	for (int i = 0; i < 3; i++)
		CHECK(buffer.jobs[i].status == 1);
}

/* A job's fence signalled between the two, and the wait for it ended no earlier. What the
 * kernel has to do before the program goes on is its own matter. */
static void was_in_time(const char *what, uint32_t sync, uint64_t from, uint64_t to)
{
	uint64_t now = now_ns(), at = fence_of(node, sync).timestamp_ns;

	printf("# %s: %lld ns after the earliest, %lld after the latest, waited for %lld more\n", what,
	       (long long)(at - from), (long long)(at - to), (long long)(now - at));
	CHECK(at >= from && at <= to + LATE && now >= at);
}

static void ends_are_those_of_the_script(void)
{
	struct buffer buffer = jobs_buffer();
	uint32_t first = sync_new(), second = sync_new();
	uint64_t before, after;

	for (int i = 0; i < 4; i++) {
		put_job(&buffer, 0, NULL_JOB, 0, 1);
		before = now_ns();
		CHECK(!submit(buffer.address, &buffer.handle, first, i % 2));
		after = now_ns();
		if (i < 2)
			CHECK(!sync_wait(first, INT64_MAX));
		else
			CHECK(!wait_bo(buffer.handle, INT64_MAX));
		was_in_time(i < 2 ? "sync object" : "buffer", first,
			    before + takes, after + takes);
	}
	/* One behind the other. */
	before = now_ns();
	CHECK(!submit(buffer.address, &buffer.handle, first, 0));
	after = now_ns();
	CHECK(!submit(buffer.address, &buffer.handle, second, 0));
	CHECK(!sync_wait(second, INT64_MAX));
	was_in_time("second", second, before + 2 * takes, after + 2 * takes);
	/* What another processor executes waits for it, since it has the same buffer. */
	before = now_ns();
	CHECK(!submit(buffer.address, &buffer.handle, first, 0));
	after = now_ns();
	CHECK(!submit(buffer.address, &buffer.handle, second, PANFROST_JD_REQ_FS));
	CHECK(!sync_wait(second, INT64_MAX));
	was_in_time("other processor", second, before + 2 * takes, after + 2 * takes);
}

static void a_job_beside_another_is_slowed(void)
{
	struct buffer one = jobs_buffer(), other = jobs_buffer();
	uint32_t first = sync_new(), second = sync_new();
	uint64_t before, between, after;

	put_job(&one, 0, NULL_JOB, 0, 1);
	put_job(&other, 0, NULL_JOB, 0, 1);
	before = now_ns();
	CHECK(!submit(one.address, &one.handle, first, 0));
	between = now_ns();
	CHECK(!submit(other.address, &other.handle, second, PANFROST_JD_REQ_FS));
	after = now_ns();
	CHECK(!sync_wait(first, INT64_MAX));
	CHECK(!sync_wait(second, INT64_MAX));
	was_in_time("first", first, before + takes, between + takes);
	was_in_time("beside it", second, between + slowed, after + slowed);
}

static int opened(void)
{
	return open("/dev/dri/renderD128", O_RDWR | O_CLOEXEC);
}

static void a_process_dies_in_mid_job(void)
{
	struct buffer buffer = jobs_buffer();
	int status = 0;
	pid_t child;

	put_job(&buffer, 0, NULL_JOB, 0, 1);
	CHECK(!submit(buffer.address, &buffer.handle, 0, 0));
	child = fork();
	if (!child) {
		node = opened();
		buffer = jobs_buffer();
		put_job(&buffer, 0, NULL_JOB, 0, 1);
		submit(buffer.address, &buffer.handle, 0, 0);
		kill(getpid(), SIGKILL);
	}
	CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
	CHECK(!wait_bo(buffer.handle, INT64_MAX));
	put_job(&buffer, 0, WRITE_VALUE, ZERO, 1);
	CHECK(!submit(buffer.address, &buffer.handle, 0, 0));
	CHECK(!wait_bo(buffer.handle, INT64_MAX));
	CHECK(buffer.values[0] == 0);
}

static void a_shared_buffer_has_an_address_in_each_file(void)
{
	struct buffer buffer = jobs_buffer();
	struct drm_prime_handle prime = { .handle = buffer.handle, .flags = DRM_CLOEXEC };
	struct drm_panfrost_get_bo_offset offset = { .handle = buffer.handle };
	uint64_t here = buffer.address;
	int first = node;

	CHECK(!ioctl(node, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime));
	node = opened();
	CHECK(!ioctl(node, DRM_IOCTL_PRIME_FD_TO_HANDLE, &prime));
	close(prime.fd);
	offset.handle = prime.handle;
	CHECK(!ioctl(node, DRM_IOCTL_PANFROST_GET_BO_OFFSET, &offset));
	CHECK(offset.offset && offset.offset != here);
	buffer.address = offset.offset;
	put_job(&buffer, 0, WRITE_VALUE, ZERO, 1);
	CHECK(!submit(buffer.address, &prime.handle, 0, 0));
	CHECK(!wait_bo(prime.handle, INT64_MAX));
	CHECK(buffer.values[0] == 0);
	close(node);
	node = first;
	offset.handle = buffer.handle;
	CHECK(!ioctl(node, DRM_IOCTL_PANFROST_GET_BO_OFFSET, &offset));
	CHECK(offset.offset == here);
}

static void buffers_are_refused_as_by_panfrost(void)
{
	struct buffer buffer = { 0 };
	struct drm_panfrost_create_bo bo = { .size = PAGE, .pad = 1 };
	struct drm_panfrost_mmap_bo map = { .handle = 999 };
	struct drm_panfrost_get_bo_offset offset = { .handle = 999 };
	struct drm_panfrost_madvise advice = { .handle = 999 };

	FAILS(create(0, 0, &buffer), EINVAL);
	FAILS(create(PAGE, 4, &buffer), EINVAL);
	FAILS(create(PAGE, PANFROST_BO_HEAP, &buffer), EINVAL);
	FAILS(ioctl(node, DRM_IOCTL_PANFROST_CREATE_BO, &bo), EINVAL);
	FAILS(ioctl(node, DRM_IOCTL_PANFROST_CREATE_BO, NULL), EFAULT);
	FAILS(ioctl(node, DRM_IOCTL_PANFROST_MMAP_BO, &map), ENOENT);
	FAILS(ioctl(node, DRM_IOCTL_PANFROST_GET_BO_OFFSET, &offset), ENOENT);
	FAILS(ioctl(node, DRM_IOCTL_PANFROST_MADVISE, &advice), ENOENT);
	CHECK(!create(PAGE, PANFROST_BO_HEAP | PANFROST_BO_NOEXEC, &buffer));
	map.handle = buffer.handle;
	FAILS(ioctl(node, DRM_IOCTL_PANFROST_MMAP_BO, &map), EINVAL);
	CHECK(!create(PAGE, PANFROST_BO_NOEXEC, &buffer));
	map.handle = buffer.handle;
	map.flags = 1;
	FAILS(ioctl(node, DRM_IOCTL_PANFROST_MMAP_BO, &map), EINVAL);
	offset.handle = buffer.handle;
	CHECK(!ioctl(node, DRM_IOCTL_PANFROST_GET_BO_OFFSET, &offset));
	CHECK(offset.offset == buffer.address);
}

static void questions_are_refused_as_by_panfrost(void)
{
	struct drm_panfrost_get_param param = { .param = DRM_PANFROST_PARAM_GPU_PROD_ID };
	struct drm_panfrost_wait_bo wait = { .handle = 999 };

	CHECK(!ioctl(node, DRM_IOCTL_PANFROST_GET_PARAM, &param));
	CHECK(param.value == 0x620);
	param.param = 999;
	FAILS(ioctl(node, DRM_IOCTL_PANFROST_GET_PARAM, &param), EINVAL);
	param.param = 0;
	param.pad = 1;
	FAILS(ioctl(node, DRM_IOCTL_PANFROST_GET_PARAM, &param), EINVAL);
	FAILS(ioctl(node, DRM_IOCTL_PANFROST_WAIT_BO, &wait), ENOENT);
	wait.pad = 1;
	FAILS(ioctl(node, DRM_IOCTL_PANFROST_WAIT_BO, &wait), EINVAL);
	FAILS(ioctl(node, DRM_IOW(DRM_COMMAND_BASE + 0x20, uint64_t), &wait), EINVAL);
}

/* The status of a sync object's fence. */
static int status_of(uint32_t sync)
{
	return fence_of(node, sync).status;
}

static void jobs_are_refused_as_by_panfrost(void)
{
	struct buffer buffer = jobs_buffer();
	uint32_t none = 999, sync = sync_new();
	struct drm_panfrost_submit job = { .jc = buffer.address };

	put_job(&buffer, 0, NULL_JOB, 0, 1);
	FAILS(submit(0, &buffer.handle, 0, 0), EINVAL);
	FAILS(submit(buffer.address, &buffer.handle, 0, 8), EINVAL);
	FAILS(submit(buffer.address, &none, 0, 0), ENOENT);
	FAILS(submit(buffer.address, &buffer.handle, 999, 0), ENODEV);
	job.bo_handle_count = 1;
	job.bo_handles = 8;
	FAILS(ioctl(node, DRM_IOCTL_PANFROST_SUBMIT, &job), EFAULT);
	job.bo_handle_count = 0;
	job.in_sync_count = 1;
	job.in_syncs = 8;
	FAILS(ioctl(node, DRM_IOCTL_PANFROST_SUBMIT, &job), EFAULT);
	job.in_syncs = (uintptr_t)&none;
	FAILS(ioctl(node, DRM_IOCTL_PANFROST_SUBMIT, &job), ENOENT);
	/* After all that, jobs are executed. */
	CHECK(!submit(buffer.address, &buffer.handle, sync, 0));
	CHECK(!sync_wait(sync, INT64_MAX));
	CHECK(status_of(sync) == 1);
}

/* The kernel has logged this. */
static int kernel_said(const char *text)
{
	enum { READ_ALL = 3 };
	static char log[1 << 18];
	int len = klogctl(READ_ALL, log, sizeof(log) - 1);

	log[len < 0 ? 0 : len] = 0;
	return strstr(log, text) != NULL;
}

static void a_job_that_is_nowhere_fails(void)
{
	struct buffer buffer = jobs_buffer();
	uint32_t sync = sync_new();
	int is_mirror = !access("/sys/module/gil_mirror", F_OK);

	put_job(&buffer, 0, WRITE_VALUE, ZERO, 1);
	buffer.jobs[0].address = 0x1000;
	CHECK(!submit(buffer.address, &buffer.handle, sync, 0));
	CHECK(!sync_wait(sync, INT64_MAX));
	/* The scheduler of the kernel's own driver tells no error of a job with its fence. */
	CHECK(status_of(sync) == (is_mirror ? -EINVAL : 1));
	/* Its MMU tells the driver first, as the hardware's does. */
	CHECK(is_mirror || kernel_said("at VA 0x0000000000001000"));
	CHECK(!wait_bo(buffer.handle, INT64_MAX));
	CHECK(buffer.jobs[0].status == 0x43 && buffer.jobs[0].fault == 0x1000);
}

static void jobs_that_do_not_end_are_given_up(void)
{
	struct buffer buffer = jobs_buffer();
	uint32_t sync = sync_new();

	put_job(&buffer, 0, NULL_JOB, 0, 1);
	for (int i = 0; i < 3; i++)
		CHECK(!submit(buffer.address, &buffer.handle, sync, 0));
	CHECK(!sync_wait(sync, INT64_MAX));
	CHECK(status_of(sync) < 0);
}

int main(int argc, char **argv)
{
	node = opened();
	if (node < 0 || argc < 2)
		return 2;
	if (argc == 4) {
		takes = strtoull(argv[2], NULL, 10) * US;
		slowed = strtoull(argv[3], NULL, 10) * US;
		run_test("a job beside another is slowed", a_job_beside_another_is_slowed);
		return failures != 0;
	}
	if (!strcmp(argv[1], "never")) {
		run_test("jobs that do not end are given up", jobs_that_do_not_end_are_given_up);
		return failures != 0;
	}
	takes = strtoull(argv[1], NULL, 10) * US;
	run_test("values are written", values_are_written);
	run_test("ends are those of the script", ends_are_those_of_the_script);
	run_test("a process dies in mid-job", a_process_dies_in_mid_job);
	run_test("a shared buffer has an address in each file",
		 a_shared_buffer_has_an_address_in_each_file);
	run_test("buffers are refused as by panfrost", buffers_are_refused_as_by_panfrost);
	run_test("questions are refused as by panfrost", questions_are_refused_as_by_panfrost);
	run_test("jobs are refused as by panfrost", jobs_are_refused_as_by_panfrost);
	run_test("a job that is nowhere fails", a_job_that_is_nowhere_fails);
	return failures != 0;
}
