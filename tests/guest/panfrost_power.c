/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A GPU that the kernel's panfrost powers down when it is idle: jobs before and after it,
 * of a program that keeps its buffers, write their values.
 */
/* Where mmap finds buffers has more than 32 bits. */
#define _FILE_OFFSET_BITS 64
#include "driver_test.h"
#include "gpu_power.h"
#include "panfrost_job.h"

#include <drm/drm.h>
#include <drm/panfrost_drm.h>
#include <sys/mman.h>

#define ROUNDS 3

/* A buffer with one job, and behind it what that writes. */
struct buffer {
	uint32_t handle;
	uint64_t address;
	struct job *job;
	uint64_t *value;
};

static int node;
static struct buffer kept;

static struct buffer job_buffer(void)
{
	struct drm_panfrost_create_bo bo = { .size = PAGE };
	struct drm_panfrost_mmap_bo map = { 0 };
	struct buffer buffer;

	CHECK(!ioctl(node, DRM_IOCTL_PANFROST_CREATE_BO, &bo));
	map.handle = bo.handle;
	CHECK(!ioctl(node, DRM_IOCTL_PANFROST_MMAP_BO, &map));
	buffer.handle = bo.handle;
	buffer.address = bo.offset;
	buffer.job = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, node, map.offset);
	CHECK(buffer.job != MAP_FAILED);
	buffer.value = (uint64_t *)(buffer.job + 1);
	return buffer;
}

static void value_is_written(struct buffer *buffer, uint32_t requirements)
{
	struct drm_panfrost_submit submit = { .jc = buffer->address,
					      .bo_handles = (uintptr_t)&buffer->handle,
					      .bo_handle_count = 1,
					      .requirements = requirements };
	struct drm_panfrost_wait_bo wait = { .handle = buffer->handle, .timeout_ns = INT64_MAX };

	memset(buffer->job, 0, sizeof(*buffer->job));
	buffer->job->type = WRITE_VALUE << 1 | 1 | 1 << 16;
	buffer->job->address = buffer->address + sizeof(*buffer->job);
	buffer->job->value = ZERO;
	*buffer->value = ~0ull;
	CHECK(!ioctl(node, DRM_IOCTL_PANFROST_SUBMIT, &submit));
	CHECK(!ioctl(node, DRM_IOCTL_PANFROST_WAIT_BO, &wait));
	CHECK(*buffer->value == 0);
	CHECK(buffer->job->status == 1);
}

/* Jobs of both slots, of a new buffer and of the first. */
static void values_are_written(void)
{
	struct buffer buffer = job_buffer();

	value_is_written(&buffer, 0);
	value_is_written(&kept, PANFROST_JD_REQ_FS);
	CHECK(gpu_is("active"));
}

static void jobs_after_a_suspension_write_their_values(void)
{
	set_gpu_power("auto");
	for (int i = 0; i < ROUNDS; i++) {
		values_are_written();
		CHECK(gpu_becomes("suspended"));
	}
	values_are_written();
}

static void a_gpu_that_is_to_stay_on_is_not_suspended(void)
{
	set_gpu_power("on");
	CHECK(gpu_is("active"));
	values_are_written();
	usleep(500000);
	CHECK(gpu_is("active"));
	values_are_written();
	set_gpu_power("auto");
	CHECK(gpu_becomes("suspended"));
	/* It is powered up without a job. */
	set_gpu_power("on");
	CHECK(gpu_is("active"));
	values_are_written();
	set_gpu_power("auto");
}

int main(void)
{
	node = open("/dev/dri/renderD128", O_RDWR | O_CLOEXEC);
	if (node < 0) {
		printf("not ok: there is no render node (%s)\n", strerror(errno));
		return 1;
	}
	kept = job_buffer();
	run_test("jobs after a suspension write their values",
		 jobs_after_a_suspension_write_their_values);
	run_test("a GPU that is to stay on is not suspended",
		 a_gpu_that_is_to_stay_on_is_not_suspended);
	return failures != 0;
}
