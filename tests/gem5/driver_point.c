/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Asks gem5 for a checkpoint after it asked lima's render node something, which cannot be
 * saved. With "before" it asks gem5 first, and the node then. */
#include <drm/lima_drm.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "m5.h"

static int ask(void)
{
	struct drm_lima_get_param param = { .param = DRM_LIMA_PARAM_GPU_ID };
	int node = open("/dev/dri/renderD128", O_RDWR);

	return node < 0 ? node : ioctl(node, DRM_IOCTL_LIMA_GET_PARAM, &param);
}

int main(int argc, char **argv)
{
	int is_before = argc > 1 && !strcmp(argv[1], "before");

	if (is_before)
		m5_checkpoint();
	if (ask() < 0) {
		perror("/dev/dri/renderD128");
		return 1;
	}
	if (!is_before)
		m5_checkpoint();
	puts("driver_point: went on");
	return 0;
}
