/* SPDX-License-Identifier: GPL-2.0-only */
/* Parts of gil_gpu.ko. */
#ifndef GIL_GPU_H
#define GIL_GPU_H

#include <linux/types.h>

/* The GPU's clock has this rate from now on; -EINVAL if the host says that it cannot. */
int gil_gpu_tell_rate(u64 hz);

int gil_gpu_clock_begin(void);
void gil_gpu_clock_end(void);

#endif
