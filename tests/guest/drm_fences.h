// The fence that a sync object of a DRM node has.
#ifndef DRM_FENCES_H
#define DRM_FENCES_H

#include <drm/drm.h>
#include <linux/sync_file.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <unistd.h>

// Its status, and when it signalled, as the kernel has noted it; a status of -ENOENT if
// there is none.
static inline struct sync_fence_info fence_of(int node, uint32_t sync)
{
	struct drm_syncobj_handle file = {
		.handle = sync, .flags = DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_EXPORT_SYNC_FILE, .fd = -1
	};
	struct sync_fence_info fence = { .status = -ENOENT };
	struct sync_file_info info = { .num_fences = 1, .sync_fence_info = (uintptr_t)&fence };

	if (ioctl(node, DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD, &file))
		return fence;
	ioctl(file.fd, SYNC_IOC_FILE_INFO, &info);
	close(file.fd);
	return fence;
}

#endif
