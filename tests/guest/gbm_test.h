/* What programs share that draw to the guest's buffers through libgbm: its functions
 * (not every machine has its header), pixels that the CPU reads and writes, images.
 * says() prints "ok NAME" or "FAILED NAME" for each point. */
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GLES2/gl2.h>
#include <GLES2/gl2ext.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WIDTH = 64, HEIGHT = 48 };
enum { XRGB8888 = 0x34325258, RGB565 = 0x36314752 };
enum { USE_SCANOUT = 1, USE_RENDERING = 4, USE_WRITE = 8, TRANSFER_READ = 1, TRANSFER_WRITE = 2 };

static int failures;

static void says(int right, const char *what)
{
	printf("%s %s\n", right ? "ok" : "FAILED", what);
	failures += !right;
}

/* ---- libgbm, whose header not every machine has ---- */

struct gbm_device;
struct gbm_surface;
struct gbm_bo;

static struct {
	struct gbm_device *(*create_device)(int);
	void (*device_destroy)(struct gbm_device *);
	const char *(*device_get_backend_name)(struct gbm_device *);
	struct gbm_surface *(*surface_create)(struct gbm_device *, uint32_t, uint32_t, uint32_t,
					      uint32_t);
	void (*surface_destroy)(struct gbm_surface *);
	struct gbm_bo *(*surface_lock_front_buffer)(struct gbm_surface *);
	void (*surface_release_buffer)(struct gbm_surface *, struct gbm_bo *);
	int (*surface_has_free_buffers)(struct gbm_surface *);
	struct gbm_bo *(*bo_create)(struct gbm_device *, uint32_t, uint32_t, uint32_t, uint32_t);
	void (*bo_destroy)(struct gbm_bo *);
	void *(*bo_map)(struct gbm_bo *, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t,
			uint32_t *, void **);
	void (*bo_unmap)(struct gbm_bo *, void *);
	int (*bo_write)(struct gbm_bo *, const void *, size_t);
	int (*bo_get_fd)(struct gbm_bo *);
	struct gbm_bo *(*bo_import)(struct gbm_device *, uint32_t, void *, uint32_t);
	uint32_t (*bo_get_stride)(struct gbm_bo *);
	uint32_t (*bo_get_width)(struct gbm_bo *);
	uint32_t (*bo_get_height)(struct gbm_bo *);
	uint32_t (*bo_get_format)(struct gbm_bo *);
	int (*device_is_format_supported)(struct gbm_device *, uint32_t, uint32_t);
} gbm;

static int open_gbm(void)
{
	void *library = dlopen("libgbm.so.1", RTLD_NOW);

	if (!library)
		return 0;
#define FIND(name) *(void **)&gbm.name = dlsym(library, "gbm_" #name)
	FIND(create_device);
	FIND(device_destroy);
	FIND(device_get_backend_name);
	FIND(surface_create);
	FIND(surface_destroy);
	FIND(surface_lock_front_buffer);
	FIND(surface_release_buffer);
	FIND(surface_has_free_buffers);
	FIND(bo_create);
	FIND(bo_destroy);
	FIND(bo_map);
	FIND(bo_unmap);
	FIND(bo_write);
	FIND(bo_get_fd);
	FIND(bo_import);
	FIND(bo_get_stride);
	FIND(bo_get_width);
	FIND(bo_get_height);
	FIND(bo_get_format);
	FIND(device_is_format_supported);
	return 1;
}

/* A pixel of a buffer, as the CPU finds it; x and y from the upper left. */
static uint32_t pixel(struct gbm_bo *bo, unsigned x, unsigned y)
{
	uint32_t stride = 0, found;
	void *data = NULL;
	char *place = gbm.bo_map(bo, 0, 0, WIDTH, HEIGHT, TRANSFER_READ, &stride, &data);

	if (!place)
		return 0xdeadbeef;
	memcpy(&found, place + y * stride + x * 4, 4);
	gbm.bo_unmap(bo, data);
	return found & 0xffffff;
}

/* Fills a rectangle, in OpenGL ES's coordinates. */
static void fill(int x, int y, int width, int height, uint32_t colour)
{
	glEnable(GL_SCISSOR_TEST);
	glScissor(x, y, width, height);
	glClearColor((colour >> 16 & 255) / 255.f, (colour >> 8 & 255) / 255.f,
		     (colour & 255) / 255.f, 1);
	glClear(GL_COLOR_BUFFER_BIT);
	glDisable(GL_SCISSOR_TEST);
}

static EGLImageKHR image_of(EGLDisplay display, struct gbm_bo *bo, EGLint pitch, int fd)
{
	PFNEGLCREATEIMAGEKHRPROC create = (void *)eglGetProcAddress("eglCreateImageKHR");
	const EGLint list[] = { EGL_WIDTH, WIDTH, EGL_HEIGHT, HEIGHT,
				EGL_LINUX_DRM_FOURCC_EXT, XRGB8888,
				EGL_DMA_BUF_PLANE0_FD_EXT, fd,
				EGL_DMA_BUF_PLANE0_OFFSET_EXT, 0,
				EGL_DMA_BUF_PLANE0_PITCH_EXT, pitch, EGL_NONE };

	(void)bo;
	return create(display, EGL_NO_CONTEXT, EGL_LINUX_DMA_BUF_EXT, NULL, list);
}

/* The CPU draws a row. */
static void row(struct gbm_bo *bo, unsigned y, uint32_t colour)
{
	uint32_t stride = 0;
	void *data = NULL;
	char *place = gbm.bo_map(bo, 0, 0, WIDTH, HEIGHT, TRANSFER_WRITE, &stride, &data);

	for (unsigned x = 0; x < WIDTH; x++)
		memcpy(place + y * stride + 4 * x, &colour, 4);
	gbm.bo_unmap(bo, data);
}

/* A row of the framebuffer has a colour. */
static int has(unsigned y, uint32_t colour)
{
	unsigned char got[4] = { 0 };

	glReadPixels(5, (GLint)y, 1, 1, GL_RGBA, GL_UNSIGNED_BYTE, got);
	return ((uint32_t)got[0] << 16 | (uint32_t)got[1] << 8 | got[2]) == colour;
}
