/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The calls of a sample of a vendor's driver, /dev/sample_gpu0: as such drivers do, it has its own
 * buffers, jobs and waits, and nothing of the kernel's DRM.
 */
#ifndef SAMPLE_GPU_H
#define SAMPLE_GPU_H

#include <linux/ioctl.h>
#include <linux/types.h>

struct sample_gpu_info {
	__u32 version;
	__u32 units;
};

struct sample_gpu_alloc {
	__u64 size;
	__u32 flags; /* 0 */
	__u32 handle; /* out */
};

struct sample_gpu_map {
	__u32 handle;
	__u32 pad; /* 0 */
	__u64 offset; /* out: mmap's, in the device */
};

/* `fence` is waited for, or comes back. */
#define SAMPLE_GPU_FENCE_IN 1
#define SAMPLE_GPU_FENCE_OUT 2

/* A job: adds a number to each 32-bit word of the buffers. */
struct sample_gpu_submit {
	__u64 buffers; /* __u32 handles */
	__u32 count;
	__u32 add;
	__u32 flags;
	__s32 fence; /* a sync file */
};

struct sample_gpu_wait {
	__u32 handle;
	__u32 pad; /* 0 */
	__s64 deadline_ns; /* CLOCK_MONOTONIC */
};

struct sample_gpu_free {
	__u32 handle;
	__u32 pad; /* 0 */
};

#define SAMPLE_GPU_INFO _IOR('T', 0, struct sample_gpu_info)
#define SAMPLE_GPU_ALLOC _IOWR('T', 1, struct sample_gpu_alloc)
#define SAMPLE_GPU_MAP _IOWR('T', 2, struct sample_gpu_map)
#define SAMPLE_GPU_SUBMIT _IOWR('T', 3, struct sample_gpu_submit)
#define SAMPLE_GPU_WAIT _IOW('T', 4, struct sample_gpu_wait)
#define SAMPLE_GPU_FREE _IOW('T', 5, struct sample_gpu_free)

#endif
