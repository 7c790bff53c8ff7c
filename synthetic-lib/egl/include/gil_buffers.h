/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What a gralloc says of its buffers: functions of libGLES_gil.so.
 *
 * An ANativeWindowBuffer says its width, height, stride and pixel format, and its native
 * handle has descriptors. gil takes the first descriptor for the picture's dma-buf, which
 * begins with the picture. A gralloc for whose buffers this is not true describes them here,
 * in each process that has them (where it imports a handle), and forgets them before it
 * closes the descriptor. What is described counts for windows and for images
 * (EGL_NATIVE_BUFFER_ANDROID) whose handle has a descriptor of the same dma-buf.
 */
#ifndef GIL_BUFFERS_H
#define GIL_BUFFERS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Says how the picture of a dma-buf lies: width and height in pixels (1 to 32767), bytes
 * from a row to the next, the first pixel's byte, and the pixels' format as the kernel codes
 * it (drm_fourcc.h): XR24, AR24, XB24 (Android's RGBX_8888), AB24 (RGBA_8888) or RG16
 * (RGB_565). Replaces what was said of it before.
 *
 * Returns 0, or -EBADF for what is no dma-buf, -EOPNOTSUPP for another format, -EINVAL for a
 * size that is out of bounds or does not fit into the dma-buf, -ENOSPC if 65536 are described.
 */
int gilDescribeBuffer(int fd, uint32_t width, uint32_t height, uint32_t stride, uint32_t offset,
		      uint32_t format);

/* Forgets what was said of a dma-buf. Returns 0, or -EBADF for what is no dma-buf. */
int gilForgetBuffer(int fd);

/*
 * Why a buffer or a window was last refused in this thread, by these functions or by EGL: a
 * sentence, which stays until the next one. NULL if none was.
 */
const char *gilRefusal(void);

#ifdef __cplusplus
}
#endif

#endif
