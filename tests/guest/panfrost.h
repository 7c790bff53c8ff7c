/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Buffers and jobs of panfrost's, for programs that call it directly.
 */
#ifndef GIL_TEST_PANFROST_H
#define GIL_TEST_PANFROST_H

#include "driver_test.h"
#include "panfrost_job.h"

#include <drm/drm.h>
#include <drm/panfrost_drm.h>
#include <sys/mman.h>

struct buffer {
	uint32_t handle, size;
	uint64_t address, offset;
	uint8_t *memory;
};

/* One that is not mapped. */
static inline struct buffer created(int file, uint32_t size)
{
	struct drm_panfrost_create_bo bo = { .size = size };
	struct drm_panfrost_mmap_bo map = { 0 };

	CHECK(!ioctl(file, DRM_IOCTL_PANFROST_CREATE_BO, &bo));
	map.handle = bo.handle;
	CHECK(!ioctl(file, DRM_IOCTL_PANFROST_MMAP_BO, &map));
	return (struct buffer){ bo.handle, size, bo.offset, map.offset, NULL };
}

static inline struct buffer mapped(int file, uint32_t size)
{
	struct buffer buffer = created(file, size);

	buffer.memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, buffer.offset);
	CHECK(buffer.memory != MAP_FAILED);
	return buffer;
}

static inline volatile uint64_t *at(const struct buffer *buffer, uint32_t offset)
{
	return (volatile uint64_t *)(buffer->memory + offset);
}

static inline uint32_t sync_new(int file)
{
	struct drm_syncobj_create sync = { 0 };

	CHECK(!ioctl(file, DRM_IOCTL_SYNCOBJ_CREATE, &sync));
	return sync.handle;
}

static inline int sync_wait(int file, uint32_t sync)
{
	struct drm_syncobj_wait wait = {
		.handles = (uintptr_t)&sync, .count_handles = 1, .timeout_nsec = INT64_MAX
	};

	return ioctl(file, DRM_IOCTL_SYNCOBJ_WAIT, &wait);
}

static inline int wait_bo(int file, uint32_t handle)
{
	struct drm_panfrost_wait_bo wait = { .handle = handle, .timeout_ns = INT64_MAX };

	return ioctl(file, DRM_IOCTL_PANFROST_WAIT_BO, &wait);
}

/* The job of this number, which names the buffer, and writes there. */
static inline void start_in(const struct buffer *jobs, int file, int n, uint32_t type, uint32_t value,
		     const struct buffer *buffer, uint32_t offset, uint32_t sync)
{
	struct job *job = (struct job *)jobs->memory + n;
	uint32_t handles[] = { jobs->handle, buffer->handle };
	struct drm_panfrost_submit submit = { .jc = jobs->address + n * sizeof(*job),
					      .bo_handles = (uintptr_t)handles,
					      .bo_handle_count = 2,
					      .out_sync = sync };

	memset(job, 0, sizeof(*job));
	job->type = type << 1 | 1 | (uint32_t)(n + 1) << 16;
	job->address = buffer->address + offset;
	job->value = value;
	CHECK(!ioctl(file, DRM_IOCTL_PANFROST_SUBMIT, &submit));
}

#endif
