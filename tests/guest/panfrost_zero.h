/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Panfrost's buffers, and jobs that write 0 into them. */
#ifndef PANFROST_ZERO_H
#define PANFROST_ZERO_H

/* Where mmap finds buffers has more than 32 bits: a program includes this first. */
#define _FILE_OFFSET_BITS 64
#include "driver_test.h"
#include "panfrost_job.h"

#include <drm/drm.h>
#include <drm/panfrost_drm.h>
#include <sys/mman.h>

struct buffer {
	uint32_t handle;
	uint64_t address;
	uint8_t *memory;
};

static int node;

/* One that is not mapped. */
static struct buffer created(void)
{
	struct drm_panfrost_create_bo bo = { .size = PAGE };

	CHECK(!ioctl(node, DRM_IOCTL_PANFROST_CREATE_BO, &bo));
	return (struct buffer){ bo.handle, bo.offset, NULL };
}

static struct buffer mapped(void)
{
	struct buffer buffer = created();
	struct drm_panfrost_mmap_bo map = { .handle = buffer.handle };

	CHECK(!ioctl(node, DRM_IOCTL_PANFROST_MMAP_BO, &map));
	buffer.memory = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, node, map.offset);
	CHECK(buffer.memory != MAP_FAILED);
	return buffer;
}

static volatile uint64_t *at(const struct buffer *buffer, uint32_t offset)
{
	return (volatile uint64_t *)(buffer->memory + offset);
}

static void wait_bo(const struct buffer *buffer)
{
	struct drm_panfrost_wait_bo wait = { .handle = buffer->handle, .timeout_ns = INT64_MAX };

	CHECK(!ioctl(node, DRM_IOCTL_PANFROST_WAIT_BO, &wait));
}

/* A job on a slot that writes 0 there, and names others that are not mapped. */
static void zero(const struct buffer *jobs, uint32_t slot, const struct buffer *buffer,
		 uint32_t offset, const uint32_t *others, uint32_t count)
{
	struct job *job = (struct job *)jobs->memory + offset / sizeof(*job);
	uint32_t handles[2 + count];
	struct drm_panfrost_submit submit = {
		.jc = jobs->address + (uintptr_t)((uint8_t *)job - jobs->memory),
		.bo_handles = (uintptr_t)handles,
		.bo_handle_count = 2 + count,
		.requirements = slot ? 0 : PANFROST_JD_REQ_FS,
	};

	handles[0] = buffer->handle;
	handles[1] = jobs->handle;
	for (uint32_t i = 0; i < count; i++)
		handles[2 + i] = others[i];
	*at(buffer, offset) = ~0ull;
	memset(job, 0, sizeof(*job));
	job->type = WRITE_VALUE << 1 | 1 | 1u << 16;
	job->address = buffer->address + offset;
	job->value = ZERO;
	CHECK(!ioctl(node, DRM_IOCTL_PANFROST_SUBMIT, &submit));
}

#endif
