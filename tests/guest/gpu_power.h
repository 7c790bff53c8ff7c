/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The power of the device that has the render node, as the kernel shows it. */
#ifndef GPU_POWER_H
#define GPU_POWER_H

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define GPU_POWER "/sys/class/drm/renderD128/device/power/"

/* "auto": it is suspended when it is idle; "on": it is not. */
static inline int set_gpu_power(const char *control)
{
	FILE *file = fopen(GPU_POWER "control", "w");

	return file && fputs(control, file) >= 0 && !fclose(file);
}

/* "active", "suspending", "suspended", "resuming". */
static inline int gpu_is(const char *wanted)
{
	FILE *file = fopen(GPU_POWER "runtime_status", "r");
	char status[32] = "";

	if (file) {
		fscanf(file, "%31s", status);
		fclose(file);
	}
	return !strcmp(status, wanted);
}

/* Waits for it, much longer than drivers' delays are. */
static inline int gpu_becomes(const char *wanted)
{
	for (int i = 0; i < 300 && !gpu_is(wanted); i++)
		usleep(10000);
	return gpu_is(wanted);
}

#endif
