/* SPDX-License-Identifier: GPL-2.0-only */
/* A running ioctl: what mirror_ioctl.c has of it for mirror_jobs.c. */
#ifndef GIL_MIRROR_RUN_H
#define GIL_MIRROR_RUN_H

#include "mirror.h"

struct gil_mirror_run {
	struct gil_mirror *mirror;
	struct gil_mirror_file *own;
	struct gil_mirror_args args;
};

/* mirror_ioctl.c */
u64 gil_run_get(const struct gil_mirror_run *run,
		const struct gil_mirror_field *field);
void gil_run_set(struct gil_mirror_run *run,
		 const struct gil_mirror_field *field, u64 value);
struct gil_mirror_buffer *gil_run_buffer(const struct gil_mirror_run *run);
void gil_run_call(struct gil_mirror_run *run, struct gil_mirror_call *call,
		  u8 class);
int gil_run_send_buffers(struct gil_mirror_run *run);

/* mirror_jobs.c */
int gil_run_start(struct gil_mirror_run *run);
int gil_run_wait(struct gil_mirror_run *run);

#endif
