// Calls of virtio_gpu's ioctls that any such driver answers alike, and that each print the
// line which `gil run --watch-driver` has to print of it.
#include <drm/drm.h>
#include <drm/virtgpu_drm.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

static int failed;

static void expect(int fd, unsigned long request, void *argument, int error, const char *line)
{
	errno = 0;
	ioctl(fd, request, argument);
	if (errno != error) {
		printf("# %s: errno %d instead of %d\n", line, errno, error);
		failed = 1;
	}
	puts(line);
}

int main(void)
{
	int fd = open("/dev/dri/renderD128", O_RDWR | O_CLOEXEC);
	int value = -1;
	uint32_t buffers[2] = { 77, 78 };
	struct drm_virtgpu_getparam parameter = { .param = 1, .value = (uintptr_t)&value };
	struct drm_virtgpu_3d_wait wait = { .handle = 99, .flags = 1 };
	struct drm_virtgpu_map map = { .handle = 98 };
	struct drm_virtgpu_resource_info info = { .bo_handle = 97 };
	struct drm_virtgpu_3d_transfer_to_host transfer = { .bo_handle = 96, .box.w = 3 };
	struct drm_virtgpu_execbuffer execute = {
		.num_bo_handles = 2,
		.bo_handles = (uintptr_t)buffers,
	};

	if (fd < 0) {
		perror("/dev/dri/renderD128");
		return 2;
	}
	expect(fd, DRM_IOCTL_VIRTGPU_GETPARAM, &parameter, 0,
	       "VIRTGPU_GETPARAM(param=0x1, value=4 bytes to write)");
	expect(fd, DRM_IOCTL_VIRTGPU_WAIT, &wait, ENOENT, "VIRTGPU_WAIT(handle=0x63, flags=0x1)");
	expect(fd, DRM_IOCTL_VIRTGPU_MAP, &map, ENOENT,
	       "VIRTGPU_MAP(offset=0x0, handle=0x62, pad=0x0)");
	expect(fd, DRM_IOCTL_VIRTGPU_RESOURCE_INFO, &info, ENOENT,
	       "VIRTGPU_RESOURCE_INFO(bo_handle=0x61, res_handle=0x0, size=0x0, blob_mem=0x0)");
	expect(fd, DRM_IOCTL_VIRTGPU_TRANSFER_TO_HOST, &transfer, ENOENT,
	       "VIRTGPU_TRANSFER_TO_HOST(bo_handle=0x60, box.x=0x0, box.y=0x0, box.z=0x0, box.w=0x3, "
	       "box.h=0x0, box.d=0x0, level=0x0, offset=0x0, stride=0x0, layer_stride=0x0)");
	expect(fd, DRM_IOCTL_VIRTGPU_EXECBUFFER, &execute, ENOENT,
	       "VIRTGPU_EXECBUFFER(flags=0x0, size=0x0, command=0x0, bo_handles=[0x4d, 0x4e], "
	       "num_bo_handles=0x2, fence_fd=0x0, ring_idx=0x0, pad=0x0)");
	return failed;
}
