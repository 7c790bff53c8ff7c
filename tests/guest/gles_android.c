/* A driver as Android loads it: opens libGLES_gil.so and takes its functions by their names,
 * draws to windows of android_window.h in each format, and has the CPU read their buffers;
 * buffers as images, as their structure or a gralloc says; and what is wrong with either.
 * Prints "ok NAME" or "FAILED NAME" for each point. */
#define EGL_EGLEXT_PROTOTYPES
#define GL_GLEXT_PROTOTYPES
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GLES2/gl2.h>
#include <GLES2/gl2ext.h>
#include <dlfcn.h>
#include <stdio.h>

#include "../../synthetic-lib/egl/include/gil_buffers.h"
#include "android_window.h"

enum { WIDTH = 64, HEIGHT = 48 };
enum { XB24 = 0x34324258 };

#define FUNCTIONS(X)                                                                        \
	X(eglGetProcAddress) X(eglGetError) X(eglGetDisplay) X(eglGetPlatformDisplay)        \
	X(eglInitialize) X(eglTerminate) X(eglQueryString) X(eglChooseConfig)                 \
	X(eglGetConfigAttrib) X(eglCreateContext) X(eglDestroyContext) X(eglMakeCurrent)      \
	X(eglCreateWindowSurface) X(eglDestroySurface) X(eglQuerySurface) X(eglSwapBuffers)   \
	X(eglSwapInterval) X(eglCreateImageKHR) X(eglDestroyImageKHR) X(glEnable)             \
	X(glDisable) X(glScissor) X(glClearColor) X(glClear) X(glGetError) X(glFinish)        \
	X(glReadPixels) X(glGenTextures) X(glBindTexture) X(glDeleteTextures)                 \
	X(glGenFramebuffers) X(glBindFramebuffer) X(glDeleteFramebuffers)                     \
	X(glFramebufferTexture2D) X(glEGLImageTargetTexture2DOES) X(gilDescribeBuffer)        \
	X(gilForgetBuffer) X(gilRefusal)

#define FIELD(name) __typeof__(name) *name;
static struct {
	FUNCTIONS(FIELD)
} api;

static int failures;
static EGLDisplay display;
static EGLContext context;

static void says(int right, const char *what)
{
	const char *why = api.gilRefusal ? api.gilRefusal() : NULL;

	printf("%s %s\n", right ? "ok" : "FAILED", what);
	if (!right)
		printf("  (%s)\n", why ? why : "nothing was refused");
	failures += !right;
}

static int load(void)
{
	void *driver = dlopen("libGLES_gil.so", RTLD_NOW | RTLD_LOCAL);
	int missing = 0;

	if (!driver) {
		printf("%s\n", dlerror());
		return 0;
	}
#define FIND(name)                                                                          \
	*(void **)&api.name = dlsym(driver, #name);                                           \
	missing += !api.name;
	FUNCTIONS(FIND)
	says(!missing, "the driver has all functions by their names");
	says(dlsym(driver, "glLightfv") && dlsym(driver, "glDispatchCompute"),
	     "those of every version of OpenGL ES");
	return !missing;
}

static int fails(int failed, EGLint code)
{
	return failed && api.eglGetError() == code;
}

/* Fills a rectangle, in OpenGL ES's coordinates, with red in the colour's highest byte. */
static void fill(int x, int y, int width, int height, uint32_t colour)
{
	api.glEnable(GL_SCISSOR_TEST);
	api.glScissor(x, y, width, height);
	api.glClearColor((colour >> 24) / 255.f, (colour >> 16 & 255) / 255.f,
			 (colour >> 8 & 255) / 255.f, (colour & 255) / 255.f);
	api.glClear(GL_COLOR_BUFFER_BIT);
	api.glDisable(GL_SCISSOR_TEST);
}

/* Red and green above, blue and white below. */
static void quarters(int width, int height)
{
	fill(0, height / 2, width / 2, height - height / 2, 0xff0000ff);
	fill(width / 2, height / 2, width - width / 2, height - height / 2, 0x00ff00ff);
	fill(0, 0, width / 2, height / 2, 0x0000ffff);
	fill(width / 2, 0, width - width / 2, height / 2, 0xffffffff);
}

/* Whether the buffer has them, in its format. */
static int has_quarters(const struct slot *slot, int width, int height)
{
	static const uint32_t of_565[] = { 0xf800, 0x07e0, 0x001f, 0xffff };
	static const uint32_t of_8888[] = { 0x0000ff, 0x00ff00, 0xff0000, 0xffffff };
	int is_short = slot && slot->buffer.format == RGB_565;
	uint32_t mask = is_short ? 0xffff : 0xffffff;
	const uint32_t *wanted = is_short ? of_565 : of_8888;

	return (pixel(slot, 0, 0) & mask) == wanted[0] &&
	       (pixel(slot, width / 2 - 1, height / 2 - 1) & mask) == wanted[0] &&
	       (pixel(slot, width - 1, 0) & mask) == wanted[1] &&
	       (pixel(slot, 0, height - 1) & mask) == wanted[2] &&
	       (pixel(slot, width - 1, height - 1) & mask) == wanted[3];
}

static EGLConfig config_of(int format)
{
	static const EGLint wanted[] = { EGL_SURFACE_TYPE, EGL_WINDOW_BIT, EGL_RENDERABLE_TYPE,
					 EGL_OPENGL_ES2_BIT, EGL_NONE };
	EGLConfig configs[256], found = NULL;
	EGLint count = 0, value;

	api.eglChooseConfig(display, wanted, configs, 256, &count);
	for (EGLint n = 0; n < count && !found; n++) {
		api.eglGetConfigAttrib(display, configs[n], EGL_NATIVE_VISUAL_ID, &value);
		if (value == format)
			found = configs[n];
	}
	return found;
}

static EGLSurface surface_of(EGLConfig config, void *window)
{
	return api.eglCreateWindowSurface(display, config, (EGLNativeWindowType)window, NULL);
}

/* A surface of a window, current with a context of its own. */
static EGLSurface current(int format, struct window_queue *queue)
{
	static const EGLint version[] = { EGL_CONTEXT_CLIENT_VERSION, 2, EGL_NONE };
	EGLConfig config = config_of(format);
	EGLSurface surface = config ? surface_of(config, &queue->window) : NULL;

	context = api.eglCreateContext(display, config, NULL, version);
	says(surface && context && api.eglMakeCurrent(display, surface, surface, context),
	     "a window has a surface");
	return surface;
}

static void end(EGLSurface surface, struct window_queue *queue)
{
	api.eglMakeCurrent(display, NULL, NULL, NULL);
	api.eglDestroyContext(display, context);
	api.eglDestroySurface(display, surface);
	says(!queue->references && !queue->mistakes, "it has no reference to the window any more");
	end_window(queue);
}

/* Frames of a format, over buffers that have older pictures. */
static void frames(int format, int count)
{
	struct window_queue queue;
	uint32_t mask = format == RGB_565 ? 0xffff : 0xffffff;
	EGLSurface surface;
	int right = 1;

	make_window(&queue, WIDTH, HEIGHT, count);
	queue.is_fenced = 1;
	surface = current(format, &queue);
	says(queue.references == 1 && queue.format == format && queue.usage == 0x230 &&
		     queue.asked_width == WIDTH && queue.asked_height == HEIGHT,
	     "it holds the window, and asks for such buffers");
	quarters(WIDTH, HEIGHT);
	says(api.eglSwapBuffers(display, surface) && !strcmp(queue.log, "dq"),
	     "a frame takes a buffer and gives it back");
	says(has_quarters(queue.shown, WIDTH, HEIGHT), "its picture is there, the first row above");
	queue.is_fenced = 0;
	for (int n = 0; n < 20 && right; n++) {
		quarters(WIDTH, HEIGHT);
		fill(2 * n, n, 4, 4, 0x000000ff);
		right = api.eglSwapBuffers(display, surface) &&
			has_quarters(queue.shown, WIDTH, HEIGHT) == (n > 0) &&
			!(pixel(queue.shown, 2 * n + 1, HEIGHT - 2 - n) & mask);
		for (int old = 1; old < n - 4 && right; old += 3)
			right = (pixel(queue.shown, 2 * old, HEIGHT - 1 - old) & mask) != 0;
	}
	says(right, "each of 20 frames is whole in its buffer");
	fill(0, 0, WIDTH, HEIGHT, 0x33669980);
	api.eglSwapBuffers(display, surface);
	says(format != RGBA_8888 || pixel(queue.shown, 5, 5) == 0x80996633, "alpha is kept");
	api.eglSwapInterval(display, 0);
	says(queue.swap_interval == 0, "the interval is the window's");
	says(api.glGetError() == GL_NO_ERROR, "no error comes of it");
	end(surface, &queue);
}

static void resizes(void)
{
	struct window_queue queue;
	EGLSurface surface;
	EGLint width = 0, height = 0;

	make_window(&queue, WIDTH, HEIGHT, 3);
	surface = current(RGBA_8888, &queue);
	quarters(WIDTH, HEIGHT);
	api.eglSwapBuffers(display, surface);
	queue.width = 100;
	queue.height = 30;
	quarters(WIDTH, HEIGHT);
	says(api.eglSwapBuffers(display, surface) && queue.shown->buffer.width == WIDTH &&
		     has_quarters(queue.shown, WIDTH, HEIGHT),
	     "a frame that was begun ends in its size");
	api.eglQuerySurface(display, surface, EGL_WIDTH, &width);
	api.eglQuerySurface(display, surface, EGL_HEIGHT, &height);
	says(width == 100 && height == 30, "the next has the window's new one");
	quarters(100, 30);
	says(api.eglSwapBuffers(display, surface) && queue.shown->buffer.width == 100 &&
		     queue.shown->buffer.height == 30 && has_quarters(queue.shown, 100, 30),
	     "and its picture is there");
	end(surface, &queue);
}

static void wrong_windows(void)
{
	EGLConfig config = config_of(RGBX_8888);
	struct window_queue queue;
	int right;

	make_window(&queue, WIDTH, HEIGHT, 3);
	says(fails(!surface_of(config, NULL), EGL_BAD_NATIVE_WINDOW), "no window is refused");
	queue.window.base.magic = BUFFER_MAGIC;
	says(fails(!surface_of(config, &queue.window), EGL_BAD_NATIVE_WINDOW) &&
		     strstr(api.gilRefusal(), "0x5f626672"),
	     "another structure is refused, with a sentence");
	make_window(&queue, WIDTH, HEIGHT, 3);
	queue.window.base.version -= 8;
	says(fails(!surface_of(config, &queue.window), EGL_BAD_NATIVE_WINDOW), "so is a short one");
	make_window(&queue, WIDTH, HEIGHT, 3);
	queue.window.perform = NULL;
	right = fails(!surface_of(config, &queue.window), EGL_BAD_NATIVE_WINDOW);
	says(right && !queue.references, "and one without its functions");
	for (int n = 0; n < 3; n++) {
		static const int widths[] = { 0, -1, 1 << 20 };

		make_window(&queue, widths[n], HEIGHT, 3);
		right = fails(!surface_of(config, &queue.window), EGL_BAD_NATIVE_WINDOW);
		says(right && !queue.references, "and one of no possible size");
	}
}

/* Windows that cannot be drawn to any more, or whose buffers are of no use. */
static void lost_windows(void)
{
	struct window_queue queue;
	EGLSurface surface;

	make_window(&queue, WIDTH, HEIGHT, 3);
	surface = current(RGBX_8888, &queue);
	says(fails(!surface_of(config_of(RGBX_8888), &queue.window), EGL_BAD_ALLOC),
	     "a window has one surface");
	queue.has_no_fds = 1;
	says(fails(!api.eglSwapBuffers(display, surface), EGL_BAD_ALLOC) && !strcmp(queue.log, "dc"),
	     "a handle without descriptors is refused, and its buffer cancelled");
	queue.has_no_fds = 0;
	queue.is_stubborn = 1;
	says(fails(!api.eglSwapBuffers(display, surface), EGL_BAD_SURFACE) &&
		     !strcmp(queue.log, "dcdc"),
	     "so is a buffer of another size");
	queue.is_stubborn = 0;
	quarters(WIDTH, HEIGHT);
	says(api.eglSwapBuffers(display, surface) && has_quarters(queue.shown, WIDTH, HEIGHT),
	     "with right ones it goes on");
	queue.is_abandoned = 1;
	says(fails(!api.eglSwapBuffers(display, surface), EGL_BAD_SURFACE) &&
		     !strcmp(queue.log, "dcdcdq"),
	     "a window that gives no buffer is a bad surface");
	end(surface, &queue);
}

static EGLImageKHR image_of(const struct android_buffer *buffer)
{
	return api.eglCreateImageKHR(display, EGL_NO_CONTEXT, EGL_NATIVE_BUFFER_ANDROID,
				     (EGLClientBuffer)buffer, NULL);
}

static void draw_by_cpu(struct slot *slot, int offset, uint32_t colour)
{
	for (int y = 0; y < HEIGHT; y++) {
		uint32_t *row = (uint32_t *)(slot->bytes + offset) + y * slot->buffer.stride;

		for (int x = 0; x < WIDTH; x++)
			row[x] = y < 8 ? colour : 0xff3c3228;
	}
}

/* The GPU's red, green, blue and alpha of a pixel of an image, whose first row is its lowest. */
static uint32_t seen(EGLImageKHR image, int x, int y)
{
	GLuint texture, framebuffer;
	uint32_t found = 0;

	api.glGenTextures(1, &texture);
	api.glBindTexture(GL_TEXTURE_2D, texture);
	api.glEGLImageTargetTexture2DOES(GL_TEXTURE_2D, image);
	api.glGenFramebuffers(1, &framebuffer);
	api.glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);
	api.glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, texture, 0);
	api.glReadPixels(x, y, 1, 1, GL_RGBA, GL_UNSIGNED_BYTE, &found);
	/* What it draws comes back to the buffer. */
	fill(40, 20, 4, 4, 0x11223344);
	api.glFinish();
	api.glBindFramebuffer(GL_FRAMEBUFFER, 0);
	api.glDeleteFramebuffers(1, &framebuffer);
	api.glDeleteTextures(1, &texture);
	return found;
}

static void wrong_images(struct slot *slot)
{
	struct android_buffer *buffer = &slot->buffer;
	int fd = slot->handle.data[0];

	says(fails(!image_of(NULL), EGL_BAD_PARAMETER), "no buffer is no image");
	buffer->base.magic = WINDOW_MAGIC;
	says(fails(!image_of(buffer), EGL_BAD_PARAMETER), "neither is another structure");
	buffer->base.magic = BUFFER_MAGIC;
	says(fails(!api.eglCreateImageKHR(display, context, EGL_NATIVE_BUFFER_ANDROID,
					  (EGLClientBuffer)buffer, NULL),
		   EGL_BAD_CONTEXT),
	     "a buffer is no context's");
	for (int n = -1; n < 5; n++) {
		static const int counts[] = { 0, -1, 1025, 1 << 30, 1 };

		slot->handle.fds = n < 0 ? 1 : counts[n];
		slot->handle.version = n == 4 ? 13 : 12;
		buffer->handle = n < 0 ? NULL : &slot->handle;
		says(fails(!image_of(buffer), EGL_BAD_ALLOC), "a handle without descriptors is refused");
	}
	slot->handle.version = 12;
	for (int n = 0; n < 3; n++) {
		slot->handle.data[0] = n == 0 ? -1 : n == 1 ? 1 << 20 : open("/dev/null", O_RDWR);
		says(fails(!image_of(buffer), EGL_BAD_ALLOC) && strstr(api.gilRefusal(), "dma-buf"),
		     "a descriptor of something else is refused, with a sentence");
	}
	close(slot->handle.data[0]);
	slot->handle.data[0] = fd;
	buffer->height = 30000;
	says(fails(!image_of(buffer), EGL_BAD_ACCESS), "rows beyond the buffer are no image");
	buffer->height = HEIGHT;
	buffer->width = buffer->stride + 1;
	says(fails(!image_of(buffer), EGL_BAD_ALLOC), "nor are rows that overlap");
	buffer->width = WIDTH;
}

/* Where the picture lies otherwise than the structure says. */
static void described(struct slot *slot)
{
	uint32_t stride = slot->buffer.stride * 4, offset = 4 * stride;
	int fd = slot->handle.data[0];
	EGLImageKHR image;

	slot->buffer.format = IMPLEMENTATION_DEFINED;
	slot->buffer.stride = 1;
	says(fails(!image_of(&slot->buffer), EGL_BAD_MATCH), "a format of the gralloc's own is refused");
	slot->buffer.stride = stride / 4;
	says(!api.gilDescribeBuffer(fd, WIDTH, HEIGHT, stride, offset, XB24),
	     "the gralloc says what it is");
	draw_by_cpu(slot, offset, 0x80102030);
	image = image_of(&slot->buffer);
	says(image && seen(image, 1, 0) == 0xff102030 && seen(image, 1, 8) == 0xff3c3228,
	     "then its picture is found");
	says((pixel(slot, 41, 25) & 0xffffff) == 0x332211, "and drawn to");
	api.eglDestroyImageKHR(display, image);
	says(api.gilDescribeBuffer(fd, WIDTH, 1 << 14, stride, 0, XB24) == -EINVAL &&
		     api.gilDescribeBuffer(fd, 1 << 20, HEIGHT, stride, 0, XB24) == -EINVAL &&
		     api.gilDescribeBuffer(fd, WIDTH, HEIGHT, stride, 0, 7) == -EOPNOTSUPP &&
		     api.gilDescribeBuffer(-1, WIDTH, HEIGHT, stride, 0, XB24) == -EBADF,
	     "a gralloc's mistakes are refused");
	says(!api.gilForgetBuffer(fd) && fails(!image_of(&slot->buffer), EGL_BAD_MATCH),
	     "what is forgotten counts no longer");
}

static void images(void)
{
	struct window_queue queue;
	EGLSurface surface;
	struct slot slot;
	EGLImageKHR image;

	make_window(&queue, WIDTH, HEIGHT, 3);
	surface = current(RGBA_8888, &queue);
	says(!allocate(&slot, WIDTH, HEIGHT, RGBA_8888), "there is a buffer");
	draw_by_cpu(&slot, 0, 0x80102030);
	image = image_of(&slot.buffer);
	says(image != NULL, "it is an image");
	says(seen(image, 3, 3) == 0x80102030 && seen(image, 3, 9) == 0xff3c3228,
	     "the GPU sees what the CPU drew");
	says(pixel(&slot, 41, 21) == 0x44332211 && pixel(&slot, 39, 21) == 0xff3c3228,
	     "the CPU sees what the GPU drew");
	says(api.eglDestroyImageKHR(display, image), "the image is destroyed");
	wrong_images(&slot);
	described(&slot);
	says(api.glGetError() == GL_NO_ERROR, "images leave no error");
	release(&slot);
	end(surface, &queue);
}

static int has(EGLDisplay of, const char *extension)
{
	const char *all = api.eglQueryString(of, EGL_EXTENSIONS);

	return all && strstr(all, extension);
}

int main(void)
{
	static const int formats[] = { RGBA_8888, RGBX_8888, RGB_565 };

	card = open("/dev/dri/card0", O_RDWR | O_CLOEXEC);
	if (card < 0 || !load())
		return 1;
	display = api.eglGetPlatformDisplay(EGL_PLATFORM_ANDROID_KHR, NULL, NULL);
	says(display && has(EGL_NO_DISPLAY, "EGL_KHR_platform_android"), "Android is a platform");
	setenv("EGL_PLATFORM", "android", 1);
	says(api.eglGetDisplay(EGL_DEFAULT_DISPLAY) == display, "it can be the default one");
	says(!api.eglGetPlatformDisplay(EGL_PLATFORM_ANDROID_KHR, &display, NULL),
	     "it has no other display");
	says(api.eglInitialize(display, NULL, NULL), "it is initialised");
	says(has(display, "EGL_ANDROID_image_native_buffer"), "it has images of its buffers");
	for (int n = 0; n < 3; n++)
		frames(formats[n], n ? 3 : SLOTS_MAX);
	resizes();
	wrong_windows();
	lost_windows();
	images();
	says(api.eglTerminate(display), "the display ends");
	return failures != 0;
}
