/* Images of buffers in the guest's memory: gbm_bos as they are, dma-bufs in each format that
 * EGL lists, and textures of them that only shaders read. Prints "ok NAME" or "FAILED NAME"
 * for each point.
 */
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GLES2/gl2.h>
#include <GLES2/gl2ext.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { WIDTH = 61, HEIGHT = 48 };
enum { USE_RENDERING = 4, TRANSFER_READ_WRITE = 3 };

#define CODE(a, b, c, d) ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)
#define XRGB8888 CODE('X', 'R', '2', '4')

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
	struct gbm_surface *(*surface_create)(struct gbm_device *, uint32_t, uint32_t, uint32_t,
					      uint32_t);
	void (*surface_destroy)(struct gbm_surface *);
	struct gbm_bo *(*surface_lock_front_buffer)(struct gbm_surface *);
	void (*surface_release_buffer)(struct gbm_surface *, struct gbm_bo *);
	struct gbm_bo *(*bo_create)(struct gbm_device *, uint32_t, uint32_t, uint32_t, uint32_t);
	void (*bo_destroy)(struct gbm_bo *);
	void *(*bo_map)(struct gbm_bo *, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t,
			uint32_t *, void **);
	void (*bo_unmap)(struct gbm_bo *, void *);
	int (*bo_get_fd)(struct gbm_bo *);
	uint32_t (*bo_get_stride)(struct gbm_bo *);
} gbm;

static PFNEGLCREATEIMAGEKHRPROC create_image;
static PFNEGLDESTROYIMAGEKHRPROC destroy_image;
static PFNEGLQUERYDMABUFFORMATSEXTPROC query_formats;
static PFNEGLQUERYDMABUFMODIFIERSEXTPROC query_modifiers;
static PFNGLEGLIMAGETARGETTEXTURE2DOESPROC image_target;
static PFNGLEGLIMAGETARGETTEXSTORAGEEXTPROC image_storage;

static int load(void)
{
	void *library = dlopen("libgbm.so.1", RTLD_NOW);

	if (!library)
		return 0;
#define FIND(name) *(void **)&gbm.name = dlsym(library, "gbm_" #name)
	FIND(create_device);
	FIND(device_destroy);
	FIND(surface_create);
	FIND(surface_destroy);
	FIND(surface_lock_front_buffer);
	FIND(surface_release_buffer);
	FIND(bo_create);
	FIND(bo_destroy);
	FIND(bo_map);
	FIND(bo_unmap);
	FIND(bo_get_fd);
	FIND(bo_get_stride);
#define NAMED(place, name) *(void **)&place = (void *)eglGetProcAddress(name)
	NAMED(create_image, "eglCreateImageKHR");
	NAMED(destroy_image, "eglDestroyImageKHR");
	NAMED(query_formats, "eglQueryDmaBufFormatsEXT");
	NAMED(query_modifiers, "eglQueryDmaBufModifiersEXT");
	NAMED(image_target, "glEGLImageTargetTexture2DOES");
	NAMED(image_storage, "glEGLImageTargetTexStorageEXT");
	return create_image && destroy_image && query_formats && query_modifiers && image_target;
}

/* ---- what the CPU finds in a buffer, and draws there ---- */

/* Copies a pixel of so many bytes, from or to its place. */
static void at(struct gbm_bo *bo, unsigned x, unsigned y, unsigned bytes, void *pixel, int draws)
{
	uint32_t stride = 0;
	void *data = NULL;
	char *place = gbm.bo_map(bo, 0, 0, WIDTH, HEIGHT, TRANSFER_READ_WRITE, &stride, &data);

	if (!place)
		return;
	place += y * stride + x * bytes;
	memcpy(draws ? place : pixel, draws ? pixel : place, bytes);
	gbm.bo_unmap(bo, data);
}

static uint32_t pixel(struct gbm_bo *bo, unsigned x, unsigned y)
{
	uint32_t found = 0;

	at(bo, x, y, 4, &found, 0);
	return found & 0xffffff;
}

static void plot(struct gbm_bo *bo, unsigned x, unsigned y, uint32_t colour)
{
	at(bo, x, y, 4, &colour, 1);
}

/* ---- what the GPU finds, and draws ---- */

static void fill(uint32_t colour)
{
	glClearColor((colour >> 16 & 255) / 255.f, (colour >> 8 & 255) / 255.f,
		     (colour & 255) / 255.f, 1);
	glClear(GL_COLOR_BUFFER_BIT);
}

static int reads(int x, int y, unsigned red, unsigned green, unsigned blue, unsigned alpha)
{
	const unsigned char want[4] = { red, green, blue, alpha };
	unsigned char got[4] = { 0 };

	glReadPixels(x, y, 1, 1, GL_RGBA, GL_UNSIGNED_BYTE, got);
	if (!memcmp(got, want, 4))
		return 1;
	printf("%02x%02x%02x%02x at %d, %d\n", got[0], got[1], got[2], got[3], x, y);
	return 0;
}

/* A texture, and a framebuffer that has it; both stay bound. */
static void target_of(EGLImageKHR image, GLuint names[2])
{
	glGenTextures(1, &names[0]);
	glBindTexture(GL_TEXTURE_2D, names[0]);
	glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
	if (image)
		image_target(GL_TEXTURE_2D, image);
	else
		glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, WIDTH, HEIGHT, 0, GL_RGBA,
			     GL_UNSIGNED_BYTE, NULL);
	glGenFramebuffers(1, &names[1]);
	glBindFramebuffer(GL_FRAMEBUFFER, names[1]);
	glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, names[0], 0);
}

static void drop(GLuint names[2])
{
	glBindFramebuffer(GL_FRAMEBUFFER, 0);
	glDeleteFramebuffers(1, &names[1]);
	glDeleteTextures(1, &names[0]);
}

/* ---- gbm_bos ---- */

static EGLImageKHR of_bo(EGLDisplay display, void *bo)
{
	return create_image(display, EGL_NO_CONTEXT, EGL_NATIVE_PIXMAP_KHR, bo, NULL);
}

static int refused(EGLImageKHR image)
{
	return !image && eglGetError() == EGL_BAD_PARAMETER;
}

static void pixmaps(EGLDisplay display, struct gbm_device *device, EGLContext context)
{
	static const EGLint keeps[] = { EGL_IMAGE_PRESERVED_KHR, EGL_TRUE, EGL_NONE };
	static const EGLint odd[] = { EGL_WIDTH, 3, EGL_NONE };
	struct gbm_bo *bo = gbm.bo_create(device, WIDTH, HEIGHT, XRGB8888, USE_RENDERING);
	EGLImageKHR image, again;
	GLuint names[2];

	says(strstr(eglQueryString(display, EGL_EXTENSIONS), "EGL_KHR_image_pixmap") != NULL,
	     "the display names images of pixmaps");
	image = of_bo(display, bo);
	says(image != NULL, "a gbm_bo is an image");
	again = create_image(display, EGL_NO_CONTEXT, EGL_NATIVE_PIXMAP_KHR, bo, keeps);
	says(again && again != image && destroy_image(display, again), "it may be several");
	plot(bo, 3, 4, 0x0a141e);
	target_of(image, names);
	says(reads(3, 4, 0x0a, 0x14, 0x1e, 0xff), "the GPU sees what the CPU drew to it");
	fill(0x112233);
	glFinish();
	says(pixel(bo, 3, 4) == 0x112233 && pixel(bo, WIDTH - 1, HEIGHT - 1) == 0x112233,
	     "the CPU sees what the GPU drew to it");
	says(refused(of_bo(display, device)) && refused(of_bo(display, &image)) &&
		     refused(of_bo(display, NULL)),
	     "what is no gbm_bo is no image");
	says(refused(create_image(display, context, EGL_NATIVE_PIXMAP_KHR, bo, NULL)) &&
		     refused(create_image(display, EGL_NO_CONTEXT, EGL_NATIVE_PIXMAP_KHR, bo, odd)),
	     "a context and a width are refused");
	gbm.bo_destroy(bo);
	says(refused(of_bo(display, bo)), "one that is destroyed is none");
	fill(0x445566);
	says(reads(0, 0, 0x44, 0x55, 0x66, 0xff), "its image is there still");
	says(destroy_image(display, image), "an image is destroyed");
	drop(names);
	says(glGetError() == GL_NO_ERROR, "pixmaps leave no error");
}

/* What a window shows is an image for who composes it. */
static void front_buffers(EGLDisplay display, struct gbm_device *device, EGLConfig config,
			  EGLContext context)
{
	struct gbm_surface *window =
		gbm.surface_create(device, WIDTH, HEIGHT, XRGB8888, USE_RENDERING);
	EGLSurface surface =
		eglCreateWindowSurface(display, config, (EGLNativeWindowType)window, NULL);
	struct gbm_bo *shown;
	EGLImageKHR image;
	GLuint names[2];

	eglMakeCurrent(display, surface, surface, context);
	says(refused(of_bo(display, window)), "a surface of libgbm is no pixmap");
	fill(0x998877);
	eglSwapBuffers(display, surface);
	shown = gbm.surface_lock_front_buffer(window);
	image = of_bo(display, shown);
	target_of(image, names);
	says(image && reads(9, 9, 0x99, 0x88, 0x77, 0xff), "a window's picture is an image");
	drop(names);
	destroy_image(display, image);
	eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, context);
	gbm.surface_release_buffer(window, shown);
	eglDestroySurface(display, surface);
	gbm.surface_destroy(window);
}

/* ---- formats and modifiers of dma-bufs ---- */

/* A pixel's bytes in memory, and what the GPU reads there. */
static const struct format {
	uint32_t code;
	unsigned bytes;
	unsigned char memory[4], read[4];
} formats[] = {
	{ XRGB8888, 4, { 30, 20, 10, 255 }, { 10, 20, 30, 255 } },
	{ CODE('A', 'R', '2', '4'), 4, { 30, 20, 10, 40 }, { 10, 20, 30, 40 } },
	{ CODE('X', 'B', '2', '4'), 4, { 10, 20, 30, 255 }, { 10, 20, 30, 255 } },
	{ CODE('A', 'B', '2', '4'), 4, { 10, 20, 30, 40 }, { 10, 20, 30, 40 } },
	{ CODE('R', 'G', '1', '6'), 2, { 0x04, 0x81 }, { 0x84, 0x20, 0x21, 255 } },
	{ CODE('R', '8', ' ', ' '), 1, { 10 }, { 10, 0, 0, 255 } },
	{ CODE('G', 'R', '8', '8'), 2, { 10, 20 }, { 10, 20, 0, 255 } },
};

enum { FORMATS = sizeof(formats) / sizeof(formats[0]), ATTRIBUTES = 24 };

/* An image of a dma-buf, with more attributes. */
static EGLImageKHR of_fd(EGLDisplay display, uint32_t code, int fd, uint32_t pitch,
			 const EGLint *more)
{
	EGLint list[ATTRIBUTES] = { EGL_WIDTH, WIDTH, EGL_HEIGHT, HEIGHT,
				    EGL_LINUX_DRM_FOURCC_EXT, (EGLint)code,
				    EGL_DMA_BUF_PLANE0_FD_EXT, fd,
				    EGL_DMA_BUF_PLANE0_OFFSET_EXT, 0,
				    EGL_DMA_BUF_PLANE0_PITCH_EXT, (EGLint)pitch };
	int end = 12;

	while (more && *more != EGL_NONE)
		list[end++] = *more++;
	list[end] = EGL_NONE;
	return create_image(display, EGL_NO_CONTEXT, EGL_LINUX_DMA_BUF_EXT, NULL, list);
}

static const EGLint linear[] = { EGL_DMA_BUF_PLANE0_MODIFIER_LO_EXT, 0,
				 EGL_DMA_BUF_PLANE0_MODIFIER_HI_EXT, 0, EGL_NONE };

static void one_format(EGLDisplay display, struct gbm_device *device, const struct format *format)
{
	struct gbm_bo *bo = gbm.bo_create(device, WIDTH, HEIGHT, format->code, USE_RENDERING);
	int fd = bo ? gbm.bo_get_fd(bo) : -1;
	unsigned char found[4] = { 0 };
	EGLImageKHR image;
	GLuint names[2];
	char name[32];
	int drawn;

	snprintf(name, sizeof(name), "%.4s, by the CPU", (const char *)&format->code);
	image = fd >= 0 ? of_fd(display, format->code, fd, gbm.bo_get_stride(bo), linear) : NULL;
	if (!image) {
		says(0, name);
		return;
	}
	close(fd);
	memcpy(found, format->memory, format->bytes);
	at(bo, WIDTH - 1, 7, format->bytes, found, 1);
	target_of(image, names);
	says(reads(WIDTH - 1, 7, format->read[0], format->read[1], format->read[2],
		   format->read[3]), name);
	glClearColor(format->read[0] / 255.f, format->read[1] / 255.f, format->read[2] / 255.f,
		     format->read[3] / 255.f);
	glClear(GL_COLOR_BUFFER_BIT);
	glFinish();
	memset(found, 0, 4);
	at(bo, 2, HEIGHT - 1, format->bytes, found, 0);
	drawn = !memcmp(found, format->memory, format->bytes);
	snprintf(name, sizeof(name), "%.4s, by the GPU", (const char *)&format->code);
	says(drawn, name);
	drop(names);
	destroy_image(display, image);
	gbm.bo_destroy(bo);
}

static int knows(const EGLint *list, EGLint count, uint32_t code)
{
	for (EGLint n = 0; n < count; n++)
		if ((uint32_t)list[n] == code)
			return 1;
	return 0;
}

static void queries(EGLDisplay display)
{
	EGLint list[32] = { 0 }, count = -1, some = -1, right = 1;

	says(strstr(eglQueryString(display, EGL_EXTENSIONS),
		    "EGL_EXT_image_dma_buf_import_modifiers") != NULL,
	     "the display names modifiers");
	says(query_formats(display, 0, NULL, &count) && count == FORMATS, "formats are counted");
	says(query_formats(display, 2, list, &some) && some == 2 && list[1] && !list[2],
	     "some of them are listed");
	says(query_formats(display, 32, list, &count) && count == FORMATS, "all are listed");
	for (int n = 0; n < FORMATS; n++) {
		EGLuint64KHR modifiers[4] = { 7, 7, 7, 7 };
		EGLBoolean external[4] = { 7, 7, 7, 7 };
		EGLint code = (EGLint)formats[n].code, found = -1;

		right = right && knows(list, count, formats[n].code) &&
			query_modifiers(display, code, 0, NULL, NULL, &found) && found == 1 &&
			query_modifiers(display, code, 4, modifiers, external, &found) &&
			found == 1 && !modifiers[0] && modifiers[1] == 7 && !external[0] &&
			external[1] == 7 && query_modifiers(display, code, 1, modifiers, NULL, &found);
	}
	says(right, "each is linear and for any texture");
	says(!query_formats(display, -1, list, &count) && eglGetError() == EGL_BAD_PARAMETER &&
		     !query_formats(display, 4, NULL, &count) &&
		     eglGetError() == EGL_BAD_PARAMETER &&
		     !query_modifiers(display, 7, 0, NULL, NULL, &count) &&
		     eglGetError() == EGL_BAD_PARAMETER,
	     "wrong questions are refused");
}

static int fails(EGLDisplay display, int fd, uint32_t pitch, EGLint name, EGLint value,
		 EGLint other, EGLint code)
{
	const EGLint more[] = { name, value, other, value, EGL_NONE };
	EGLImageKHR image = of_fd(display, XRGB8888, fd, pitch, more);

	return !image && eglGetError() == code;
}

static void mistakes(EGLDisplay display, struct gbm_device *device)
{
	static const EGLint half[] = { EGL_DMA_BUF_PLANE0_MODIFIER_LO_EXT, 0, EGL_NONE };
	struct gbm_bo *bo = gbm.bo_create(device, WIDTH, HEIGHT, XRGB8888, USE_RENDERING);
	int fd = gbm.bo_get_fd(bo);
	uint32_t pitch = gbm.bo_get_stride(bo);

	says(fails(display, fd, pitch, EGL_DMA_BUF_PLANE0_MODIFIER_LO_EXT, 1,
		   EGL_DMA_BUF_PLANE0_MODIFIER_HI_EXT, EGL_BAD_MATCH),
	     "tiles are refused");
	says(!of_fd(display, XRGB8888, fd, pitch, half) && eglGetError() == EGL_BAD_PARAMETER,
	     "half a modifier is none");
	says(fails(display, fd, pitch, EGL_DMA_BUF_PLANE1_FD_EXT, 1, EGL_DMA_BUF_PLANE1_PITCH_EXT,
		   EGL_BAD_ATTRIBUTE) &&
		     fails(display, fd, pitch, EGL_DMA_BUF_PLANE2_OFFSET_EXT, 1,
			   EGL_DMA_BUF_PLANE2_MODIFIER_LO_EXT, EGL_BAD_ATTRIBUTE) &&
		     fails(display, fd, pitch, EGL_DMA_BUF_PLANE3_FD_EXT, 1,
			   EGL_DMA_BUF_PLANE3_PITCH_EXT, EGL_BAD_ATTRIBUTE),
	     "planes that a format lacks are refused");
	says(!of_fd(display, XRGB8888, fd, 4 * WIDTH - 4, NULL) && eglGetError() == EGL_BAD_ACCESS,
	     "rows over each other are refused");
	says(!of_fd(display, CODE('N', 'V', '1', '2'), fd, pitch, NULL) &&
		     eglGetError() == EGL_BAD_MATCH,
	     "a format that is not listed is refused");
	close(fd);
	gbm.bo_destroy(bo);
}

/* ---- textures that only shaders read, and textures that keep their image ---- */

static GLuint shader(GLenum kind, const char *text)
{
	GLuint made = glCreateShader(kind);

	glShaderSource(made, 1, &text, NULL);
	glCompileShader(made);
	return made;
}

/* A program that draws a texture over everything, y as in memory. */
static int use_program(void)
{
	static const GLfloat corners[] = { -1, -1, 1, -1, -1, 1, 1, 1 };
	GLuint program = glCreateProgram();
	GLint linked = 0, kind = 0, size = 0;
	char name[8];

	glAttachShader(program, shader(GL_VERTEX_SHADER,
				       "attribute vec2 corner;\n"
				       "varying vec2 place;\n"
				       "void main() {\n"
				       "	place = corner * 0.5 + 0.5;\n"
				       "	gl_Position = vec4(corner, 0, 1);\n"
				       "}\n"));
	glAttachShader(program, shader(GL_FRAGMENT_SHADER,
				       "#extension GL_OES_EGL_image_external : require\n"
				       "precision mediump float;\n"
				       "uniform samplerExternalOES picture;\n"
				       "varying vec2 place;\n"
				       "void main() { gl_FragColor = texture2D(picture, place); }\n"));
	glBindAttribLocation(program, 0, "corner");
	glLinkProgram(program);
	glGetProgramiv(program, GL_LINK_STATUS, &linked);
	glUseProgram(program);
	glUniform1i(glGetUniformLocation(program, "picture"), 1);
	glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, corners);
	glEnableVertexAttribArray(0);
	glGetActiveUniform(program, 0, sizeof(name), NULL, &size, (GLenum *)&kind, name);
	return linked && size == 1 && kind == GL_SAMPLER_EXTERNAL_OES;
}

static void external(EGLDisplay display, struct gbm_device *device)
{
	struct gbm_bo *bo = gbm.bo_create(device, WIDTH, HEIGHT, XRGB8888, USE_RENDERING);
	EGLImageKHR image = of_bo(display, bo);
	GLuint names[2], texture;
	GLint bound = 0, units = 0;

	says(strstr((const char *)glGetString(GL_EXTENSIONS), "GL_OES_EGL_image_external") != NULL,
	     "external textures are named");
	says(use_program(), "a shader reads them");
	target_of(NULL, names);
	glActiveTexture(GL_TEXTURE1);
	glGenTextures(1, &texture);
	glBindTexture(GL_TEXTURE_EXTERNAL_OES, texture);
	glTexParameteri(GL_TEXTURE_EXTERNAL_OES, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
	glTexParameteri(GL_TEXTURE_EXTERNAL_OES, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
	plot(bo, 5, 6, 0x123456);
	image_target(GL_TEXTURE_EXTERNAL_OES, image);
	glViewport(0, 0, WIDTH, HEIGHT);
	glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
	says(reads(5, 6, 0x12, 0x34, 0x56, 0xff) && reads(6, 6, 0, 0, 0, 0xff),
	     "a draw has the buffer's picture");
	plot(bo, 5, 6, 0);
	plot(bo, 7, 8, 0x654321);
	glBindTexture(GL_TEXTURE_EXTERNAL_OES, texture);
	glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
	says(reads(5, 6, 0, 0, 0, 0xff) && reads(7, 8, 0x65, 0x43, 0x21, 0xff),
	     "the next has what changed");
	glGetIntegerv(GL_TEXTURE_BINDING_EXTERNAL_OES, &bound);
	glGetTexParameteriv(GL_TEXTURE_EXTERNAL_OES, GL_REQUIRED_TEXTURE_IMAGE_UNITS_OES, &units);
	says(bound == (GLint)texture && units == 1, "its state is known");
	glTexParameteri(GL_TEXTURE_EXTERNAL_OES, GL_TEXTURE_WRAP_S, GL_REPEAT);
	says(glGetError() == GL_INVALID_ENUM, "it does not repeat");
	destroy_image(display, image);
	glDeleteTextures(1, &texture);
	glActiveTexture(GL_TEXTURE0);
	drop(names);
	says(glGetError() == GL_NO_ERROR, "external textures leave no error");
	gbm.bo_destroy(bo);
}

static void storage(EGLDisplay display, struct gbm_device *device)
{
	static const GLint none[] = { GL_NONE }, some[] = { 1, 2, GL_NONE };
	struct gbm_bo *bo = gbm.bo_create(device, WIDTH, HEIGHT, XRGB8888, USE_RENDERING);
	EGLImageKHR image = of_bo(display, bo);
	GLuint names[2];

	says(strstr((const char *)glGetString(GL_EXTENSIONS), "GL_EXT_EGL_image_storage") &&
		     image_storage,
	     "images are named as storage");
	if (!image_storage)
		return;
	target_of(NULL, names);
	image_storage(GL_TEXTURE_2D, image, some);
	says(glGetError() == GL_INVALID_VALUE, "attributes of storage are refused");
	plot(bo, 1, 2, 0x13579b);
	image_storage(GL_TEXTURE_2D, image, none);
	says(reads(1, 2, 0x13, 0x57, 0x9b, 0xff), "a texture's storage is a buffer");
	fill(0x2468ac);
	glFinish();
	says(pixel(bo, 1, 2) == 0x2468ac, "what the GPU draws there is in the buffer");
	glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, 1, 1, 0, GL_RGBA, GL_UNSIGNED_BYTE, NULL);
	says(glGetError() == GL_INVALID_OPERATION, "it stays as it is");
	destroy_image(display, image);
	drop(names);
	says(glGetError() == GL_NO_ERROR, "storage leaves no error");
	gbm.bo_destroy(bo);
}

/* A client that draws to images has no surface, and a fence for each. */
static void fences(EGLDisplay display)
{
	PFNEGLCREATESYNCKHRPROC create = (void *)eglGetProcAddress("eglCreateSyncKHR");
	PFNEGLDUPNATIVEFENCEFDANDROIDPROC dup =
		(void *)eglGetProcAddress("eglDupNativeFenceFDANDROID");
	EGLSyncKHR sync = create(display, EGL_SYNC_NATIVE_FENCE_ANDROID, NULL);
	int fd = sync ? dup(display, sync) : -1;
	struct pollfd file = { fd, POLLIN, 0 };

	says(fd >= 0 && poll(&file, 1, 10000) == 1, "a context without a surface has fences");
	close(fd);
}

/* A compositor's client has no other device. */
static void render_node(EGLDisplay display)
{
	int node = open("/dev/dri/renderD128", O_RDWR | O_CLOEXEC);
	struct gbm_device *device = node >= 0 ? gbm.create_device(node) : NULL;

	says(device != NULL, "a render node is a device");
	if (!device)
		return;
	one_format(display, device, &formats[0]);
	one_format(display, device, &formats[FORMATS - 2]);
	gbm.device_destroy(device);
	close(node);
}

int main(void)
{
	static const EGLint version[] = { EGL_CONTEXT_CLIENT_VERSION, 2, EGL_NONE };
	static const EGLint wanted[] = { EGL_SURFACE_TYPE, EGL_WINDOW_BIT, EGL_RENDERABLE_TYPE,
					 EGL_OPENGL_ES2_BIT, EGL_ALPHA_SIZE, 0, EGL_NONE };
	int card = open("/dev/dri/card0", O_RDWR | O_CLOEXEC), n = 0;
	struct gbm_device *device = load() && card >= 0 ? gbm.create_device(card) : NULL;
	EGLConfig configs[256];
	EGLint count = 0, visual = 0;
	EGLDisplay display;
	EGLContext context;

	says(device != NULL, "there is a device");
	if (!device)
		return 1;
	display = eglGetDisplay((EGLNativeDisplayType)device);
	says(eglInitialize(display, NULL, NULL), "it is a display");
	eglChooseConfig(display, wanted, configs, 256, &count);
	while (n < count && eglGetConfigAttrib(display, configs[n], EGL_NATIVE_VISUAL_ID, &visual) &&
	       (uint32_t)visual != XRGB8888)
		n++;
	says(n < count, "there is a configuration");
	context = eglCreateContext(display, configs[n], NULL, version);
	says(eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, context), "a context draws");
	pixmaps(display, device, context);
	front_buffers(display, device, configs[n], context);
	queries(display);
	for (n = 0; n < FORMATS; n++)
		one_format(display, device, &formats[n]);
	mistakes(display, device);
	external(display, device);
	storage(display, device);
	render_node(display);
	fences(display);
	eglMakeCurrent(display, NULL, NULL, NULL);
	says(eglTerminate(display), "the display ends");
	gbm.device_destroy(device);
	return failures != 0;
}
