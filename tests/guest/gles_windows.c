/* Windows and images of the guest's display. Through libgbm, which finds gil's back end
 * by itself: a window of 64 x 48 pixels whose buffers the CPU reads, frames that change
 * in part, the same through an imported buffer in both directions; then the whole
 * screen by the frame buffer device. Prints "ok NAME" or "FAILED NAME" for each point.
 *
 *     gles_windows            the window and the images
 *     gles_windows changes    images that change now and then: 12,800 bytes go to the board
 *     gles_windows fbdev      the screen, whose quarters are red, green, blue and white
 */
#include "gbm_test.h"

/* Red and green above, blue and white below. */
static void quarters(int width, int height)
{
	fill(0, height / 2, width / 2, height - height / 2, 0xff0000);
	fill(width / 2, height / 2, width - width / 2, height - height / 2, 0x00ff00);
	fill(0, 0, width / 2, height / 2, 0x0000ff);
	fill(width / 2, 0, width - width / 2, height / 2, 0xffffff);
}

static EGLConfig config_for(EGLDisplay display, EGLint visual)
{
	static const EGLint wanted[] = { EGL_SURFACE_TYPE, EGL_WINDOW_BIT, EGL_RENDERABLE_TYPE,
					 EGL_OPENGL_ES2_BIT, EGL_NONE };
	EGLConfig configs[256], found = NULL;
	EGLint count = 0, value;

	eglChooseConfig(display, wanted, configs, 256, &count);
	for (EGLint n = 0; n < count && !found; n++) {
		eglGetConfigAttrib(display, configs[n], EGL_NATIVE_VISUAL_ID, &value);
		if (!visual || value == visual)
			found = configs[n];
	}
	if (found) {
		eglGetConfigAttrib(display, found, EGL_SURFACE_TYPE, &value);
		says((value & EGL_WINDOW_BIT) != 0, "the configuration draws to windows");
	}
	return found;
}

static EGLContext context_of(EGLDisplay display, EGLConfig config)
{
	static const EGLint version[] = { EGL_CONTEXT_CLIENT_VERSION, 2, EGL_NONE };

	return eglCreateContext(display, config, NULL, version);
}

/* The board may have desktop OpenGL; a program is not offered it. */
static int has_desktop(EGLDisplay display, EGLint name)
{
	const EGLint wanted[] = { name, EGL_OPENGL_BIT, EGL_NONE };
	EGLint count = -1;

	return !eglChooseConfig(display, wanted, NULL, 0, &count) || count != 0;
}

static void frames(EGLDisplay display, EGLSurface surface, struct gbm_surface *window)
{
	struct gbm_bo *shown, *last = NULL;
	EGLint age = -1;
	int right = 1;

	eglQuerySurface(display, surface, EGL_BUFFER_AGE_EXT, &age);
	says(age == 0, "nothing was drawn before");
	quarters(WIDTH, HEIGHT);
	says(eglSwapBuffers(display, surface), "a frame ends");
	shown = gbm.surface_lock_front_buffer(window);
	says(shown && pixel(shown, 0, 0) == 0xff0000 && pixel(shown, WIDTH - 1, 0) == 0x00ff00 &&
		     pixel(shown, 0, HEIGHT - 1) == 0x0000ff &&
		     pixel(shown, WIDTH - 1, HEIGHT - 1) == 0xffffff,
	     "the picture is in the buffer, its first row above");
	eglQuerySurface(display, surface, EGL_BUFFER_AGE_EXT, &age);
	says(age == 1, "the last picture is there still");
	/* A square moves along the diagonal, over buffers that have older pictures. */
	for (int n = 0; n < 40 && right; n++) {
		last = shown;
		quarters(WIDTH, HEIGHT);
		fill(n, n, 4, 4, 0x808080);
		right = eglSwapBuffers(display, surface);
		shown = gbm.surface_lock_front_buffer(window);
		if (last)
			gbm.surface_release_buffer(window, last);
		right = right && shown && shown != last &&
			pixel(shown, n + 1, HEIGHT - 2 - n) == 0x808080 &&
			pixel(shown, 0, 0) == 0xff0000 && pixel(shown, WIDTH - 1, 0) == 0x00ff00;
		for (int old = 0; old < n - 4 && right; old += 5)
			right = pixel(shown, old, HEIGHT - 1 - old) != 0x808080;
	}
	says(right, "each of 40 frames is whole in its buffer");
	says(gbm.bo_get_width(shown) == WIDTH && gbm.bo_get_height(shown) == HEIGHT &&
		     gbm.bo_get_format(shown) == XRGB8888 && gbm.bo_get_stride(shown) >= 4 * WIDTH,
	     "libgbm knows a buffer's size and format");
	says(glGetError() == GL_NO_ERROR, "the frames leave no error");
	gbm.surface_release_buffer(window, shown);
}

static void state_stays(EGLDisplay display, EGLSurface surface, struct gbm_surface *window)
{
	GLuint framebuffer, texture;
	GLint bound = 0, alignment = 0;
	struct gbm_bo *shown;

	glGenTextures(1, &texture);
	glBindTexture(GL_TEXTURE_2D, texture);
	glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, 8, 8, 0, GL_RGBA, GL_UNSIGNED_BYTE, NULL);
	quarters(WIDTH, HEIGHT);
	glGenFramebuffers(1, &framebuffer);
	glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);
	glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, texture, 0);
	glPixelStorei(GL_PACK_ALIGNMENT, 8);
	says(eglSwapBuffers(display, surface), "a frame ends while another framebuffer is bound");
	shown = gbm.surface_lock_front_buffer(window);
	says(shown && pixel(shown, 0, 0) == 0xff0000, "the window's picture is shown, not its");
	gbm.surface_release_buffer(window, shown);
	glGetIntegerv(GL_FRAMEBUFFER_BINDING, &bound);
	glGetIntegerv(GL_PACK_ALIGNMENT, &alignment);
	says(bound == (GLint)framebuffer && alignment == 8, "what is bound stays");
	glBindFramebuffer(GL_FRAMEBUFFER, 0);
	glDeleteFramebuffers(1, &framebuffer);
	glDeleteTextures(1, &texture);
	says(glGetError() == GL_NO_ERROR, "no error comes of it");
}

/* What the program took away while its surface was current is drawn to no more, and the
 * next window of the same device is as good as any. */
static void destroyed_under(EGLDisplay display, EGLConfig config, struct gbm_device *device,
			    EGLContext context)
{
	struct gbm_surface *window = gbm.surface_create(device, WIDTH, HEIGHT, XRGB8888,
							USE_SCANOUT | USE_RENDERING);
	EGLSurface surface =
		eglCreateWindowSurface(display, config, (EGLNativeWindowType)window, NULL);
	int shown = 0;

	says(surface && eglMakeCurrent(display, surface, surface, context),
	     "a second window has a surface");
	quarters(WIDTH, HEIGHT);
	eglSwapBuffers(display, surface);
	gbm.surface_destroy(window);
	while (shown < 8 && eglSwapBuffers(display, surface))
		quarters(WIDTH, HEIGHT), shown++;
	says(shown < 8 && eglGetError() != EGL_SUCCESS,
	     "a surface whose window is gone has an error");
	says(eglMakeCurrent(display, NULL, NULL, NULL) && eglDestroySurface(display, surface),
	     "it can be destroyed");
	window = gbm.surface_create(device, WIDTH, HEIGHT, XRGB8888, USE_SCANOUT | USE_RENDERING);
	surface = eglCreateWindowSurface(display, config, (EGLNativeWindowType)window, NULL);
	eglMakeCurrent(display, surface, surface, context);
	quarters(WIDTH, HEIGHT);
	says(eglSwapBuffers(display, surface) &&
		     pixel(gbm.surface_lock_front_buffer(window), 0, 0) == 0xff0000,
	     "the next window is drawn to");
	eglMakeCurrent(display, NULL, NULL, NULL);
	eglDestroySurface(display, surface);
	gbm.surface_destroy(window);
}

static void mistakes(EGLDisplay display, EGLConfig config, EGLSurface surface,
		     struct gbm_device *device, struct gbm_surface *window)
{
	struct gbm_surface *other = gbm.surface_create(device, WIDTH, HEIGHT, RGB565, USE_SCANOUT);
	struct gbm_bo *taken[8] = { NULL };
	int count = 0;

	says(!eglCreateWindowSurface(display, config, (EGLNativeWindowType)window, NULL) &&
		     eglGetError() == EGL_BAD_ALLOC,
	     "a window has one surface");
	says(!eglCreateWindowSurface(display, config, (EGLNativeWindowType)&taken, NULL) &&
		     eglGetError() == EGL_BAD_NATIVE_WINDOW,
	     "what is no window is refused");
	says(!other || (!eglCreateWindowSurface(display, config, (EGLNativeWindowType)other, NULL) &&
			eglGetError() == EGL_BAD_MATCH),
	     "a window of another format is refused");
	if (other)
		gbm.surface_destroy(other);
	says(!gbm.surface_create(device, WIDTH, HEIGHT, 0x20202020, 0) &&
		     !gbm.bo_create(device, 0, HEIGHT, XRGB8888, 0) &&
		     !gbm.bo_create(device, 1 << 30, 1 << 30, XRGB8888, 0),
	     "buffers of no size and of no format are refused");
	while (count < 8 && eglSwapBuffers(display, surface))
		taken[count++] = gbm.surface_lock_front_buffer(window);
	says(count == 4 && eglGetError() == EGL_BAD_ALLOC &&
		     !gbm.surface_has_free_buffers(window),
	     "a program that keeps all buffers gets no more");
	while (count--)
		gbm.surface_release_buffer(window, taken[count]);
	says(eglSwapBuffers(display, surface), "one that gives them back goes on");
	gbm.surface_release_buffer(window, gbm.surface_lock_front_buffer(window));
}

static void images(EGLDisplay display, struct gbm_device *device)
{
	PFNEGLDESTROYIMAGEKHRPROC destroy = (void *)eglGetProcAddress("eglDestroyImageKHR");
	PFNGLEGLIMAGETARGETTEXTURE2DOESPROC target =
		(void *)eglGetProcAddress("glEGLImageTargetTexture2DOES");
	struct gbm_bo *bo = gbm.bo_create(device, WIDTH, HEIGHT, XRGB8888,
					  USE_SCANOUT | USE_RENDERING);
	static uint32_t drawn[WIDTH * HEIGHT];
	int fd = bo ? gbm.bo_get_fd(bo) : -1, notbuffer = open("/dev/null", O_RDWR);
	EGLint pitch = bo ? (EGLint)gbm.bo_get_stride(bo) : 0;
	unsigned char got[4] = { 0 };
	GLuint texture, framebuffer;
	EGLImageKHR image;

	says(fd >= 0, "a buffer is exported");
	says(!image_of(display, bo, pitch, notbuffer) && eglGetError() == EGL_BAD_ALLOC,
	     "what is no buffer is no image");
	says(!image_of(display, bo, 1 << 20, fd) && eglGetError() == EGL_BAD_ACCESS,
	     "rows beyond the buffer are no image");
	image = image_of(display, bo, pitch, fd);
	says(image != NULL, "a buffer is an image");
	close(fd);
	close(notbuffer);
	/* What the CPU drew is there for the GPU. */
	for (int n = 0; n < WIDTH * HEIGHT; n++)
		drawn[n] = n / WIDTH < 8 ? 0x0a141e : 0x28323c;
	says(!gbm.bo_write(bo, drawn, sizeof(drawn)), "the CPU draws");
	glGenTextures(1, &texture);
	glBindTexture(GL_TEXTURE_2D, texture);
	target(GL_TEXTURE_2D, image);
	glGenFramebuffers(1, &framebuffer);
	glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);
	glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, texture, 0);
	says(glCheckFramebufferStatus(GL_FRAMEBUFFER) == GL_FRAMEBUFFER_COMPLETE,
	     "an image is drawn to");
	glReadPixels(3, 3, 1, 1, GL_RGBA, GL_UNSIGNED_BYTE, got);
	says(got[0] == 0x0a && got[1] == 0x14 && got[2] == 0x1e && got[3] == 0xff,
	     "the GPU sees what the CPU drew");
	/* What the GPU draws is there for the CPU. */
	fill(0, 0, WIDTH, HEIGHT, 0x112233);
	fill(2, 5, 4, 4, 0xffeedd);
	glFinish();
	says(pixel(bo, 0, 0) == 0x112233 && pixel(bo, 2, 5) == 0xffeedd &&
		     pixel(bo, 5, 8) == 0xffeedd && pixel(bo, 6, 9) == 0x112233,
	     "the CPU sees what the GPU drew, the first row first");
	fill(2, 5, 4, 4, 0x445566);
	glFlush();
	says(pixel(bo, 3, 6) == 0x445566, "a flush is enough");
	says(destroy(display, image), "an image is destroyed");
	fill(2, 5, 4, 4, 0x778899);
	glFinish();
	says(pixel(bo, 3, 6) == 0x778899, "its texture still is the buffer");
	glBindFramebuffer(GL_FRAMEBUFFER, 0);
	glDeleteFramebuffers(1, &framebuffer);
	glDeleteTextures(1, &texture);
	says(glGetError() == GL_NO_ERROR, "images leave no error");
	gbm.bo_destroy(bo);
}

/* Two imports of one buffer have one number of the display driver's, as long as either is. */
static void imports(struct gbm_device *device)
{
	enum { IMPORT_FD = 0x5503 };
	struct {
		int fd;
		uint32_t width, height, stride, format;
	} data = { -1, WIDTH, HEIGHT, 0, XRGB8888 };
	struct gbm_bo *bo = gbm.bo_create(device, WIDTH, HEIGHT, XRGB8888, USE_SCANOUT);
	struct gbm_bo *first, *second;
	uint32_t colour = 0x0a1b2c;

	gbm.bo_write(bo, &colour, sizeof(colour));
	data.fd = gbm.bo_get_fd(bo);
	data.stride = gbm.bo_get_stride(bo);
	first = gbm.bo_import(device, IMPORT_FD, &data, USE_SCANOUT);
	second = gbm.bo_import(device, IMPORT_FD, &data, USE_SCANOUT);
	says(first && second, "a buffer is imported twice");
	if (!first || !second)
		return;
	close(data.fd);
	gbm.bo_destroy(first);
	says(pixel(second, 0, 0) == colour, "an import outlives another");
	gbm.bo_destroy(second);
	data.fd = gbm.bo_get_fd(bo);
	says(data.fd >= 0, "a buffer outlives its imports");
	close(data.fd);
	first = gbm.bo_import(device, IMPORT_FD, &data, USE_SCANOUT);
	says(!first, "what is closed is not imported");
	gbm.bo_destroy(bo);
}

static void changes(EGLDisplay display, struct gbm_device *device)
{
	PFNGLEGLIMAGETARGETTEXTURE2DOESPROC target =
		(void *)eglGetProcAddress("glEGLImageTargetTexture2DOES");
	struct gbm_bo *bo = gbm.bo_create(device, WIDTH, HEIGHT, XRGB8888, USE_RENDERING);
	EGLImageKHR image;
	GLuint texture, framebuffer;
	int fd = gbm.bo_get_fd(bo);

	image = image_of(display, bo, (EGLint)gbm.bo_get_stride(bo), fd);
	close(fd);
	for (unsigned y = 0; y < HEIGHT; y++)
		row(bo, y, 0x010101 * y);
	glGenTextures(1, &texture);
	glBindTexture(GL_TEXTURE_2D, texture);
	target(GL_TEXTURE_2D, image);
	for (int n = 0; n < 5; n++)
		glBindTexture(GL_TEXTURE_2D, texture);
	target(GL_TEXTURE_2D, image);
	row(bo, 7, 0x123456);
	glBindTexture(GL_TEXTURE_2D, texture);
	glGenFramebuffers(1, &framebuffer);
	glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);
	glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, texture, 0);
	says(has(6, 0x060606) && has(7, 0x123456) && has(8, 0x080808), "a row that changed is sent");
	fill(0, 0, WIDTH, HEIGHT, 0x112233);
	glFinish();
	says(pixel(bo, 5, 7) == 0x112233, "what the GPU drew is in the buffer");
	glBindFramebuffer(GL_FRAMEBUFFER, 0);
	row(bo, 3, 0x654321);
	glBindTexture(GL_TEXTURE_2D, texture);
	glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);
	says(has(2, 0x112233) && has(3, 0x654321) && has(4, 0x112233),
	     "what the CPU draws over it is sent");
	fill(0, 0, WIDTH, HEIGHT, 0x112233);
	glFinish();
	says(pixel(bo, 5, 3) == 0x112233, "what the GPU draws over that is in the buffer");
	says(glGetError() == GL_NO_ERROR, "images leave no error");
	glBindFramebuffer(GL_FRAMEBUFFER, 0);
	gbm.bo_destroy(bo);
}

static void with_gbm(int only_changes)
{
	PFNEGLGETPLATFORMDISPLAYEXTPROC get =
		(void *)eglGetProcAddress("eglGetPlatformDisplayEXT");
	int card = open("/dev/dri/card0", O_RDWR | O_CLOEXEC);
	struct gbm_device *device = open_gbm() && card >= 0 ? gbm.create_device(card) : NULL;
	struct gbm_surface *window;
	EGLDisplay display;
	EGLContext context;
	EGLSurface surface;
	EGLConfig config;

	says(device && !strcmp(gbm.device_get_backend_name(device), "gil"),
	     "libgbm finds gil's back end");
	if (!device)
		return;
	says(gbm.device_is_format_supported(device, XRGB8888, USE_RENDERING) &&
		     !gbm.device_is_format_supported(device, 0x20202020, 0),
	     "formats are known");
	display = get(EGL_PLATFORM_GBM_KHR, device, NULL);
	says(display != NULL && display == eglGetDisplay((EGLNativeDisplayType)device),
	     "a device is a display");
	says(!get(EGL_PLATFORM_GBM_KHR, &device, NULL), "what is no device is none");
	says(eglInitialize(display, NULL, NULL), "it is initialised");
	config = config_for(display, XRGB8888);
	says(config != NULL, "there is a configuration for XRGB8888");
	says(!has_desktop(display, EGL_RENDERABLE_TYPE) && !has_desktop(display, EGL_CONFORMANT),
	     "there is none for desktop OpenGL");
	window = gbm.surface_create(device, WIDTH, HEIGHT, XRGB8888, USE_SCANOUT | USE_RENDERING);
	surface = eglCreateWindowSurface(display, config, (EGLNativeWindowType)window, NULL);
	says(surface != NULL, "a window has a surface");
	context = context_of(display, config);
	says(eglMakeCurrent(display, surface, surface, context), "it is drawn to");
	if (only_changes) {
		changes(display, device);
	} else {
		frames(display, surface, window);
		state_stays(display, surface, window);
		mistakes(display, config, surface, device, window);
		images(display, device);
		destroyed_under(display, config, device, context);
		imports(device);
	}
	eglMakeCurrent(display, NULL, NULL, NULL);
	eglDestroySurface(display, surface);
	gbm.surface_destroy(window);
	eglDestroyContext(display, context);
	says(eglTerminate(display), "the display ends");
	gbm.device_destroy(device);
	close(card);
}

static void with_fbdev(void)
{
	EGLDisplay display = eglGetDisplay(EGL_DEFAULT_DISPLAY);
	EGLint width = 0, height = 0;
	EGLSurface surface;
	EGLConfig config;

	says(eglInitialize(display, NULL, NULL), "the screen is a display");
	config = config_for(display, 0);
	surface = eglCreateWindowSurface(display, config, (EGLNativeWindowType)0, NULL);
	says(surface != NULL, "the whole screen is a window");
	eglMakeCurrent(display, surface, surface, context_of(display, config));
	eglQuerySurface(display, surface, EGL_WIDTH, &width);
	eglQuerySurface(display, surface, EGL_HEIGHT, &height);
	printf("%d x %d\n", width, height);
	for (int n = 0; n < 3; n++) {
		quarters(width, height);
		says(eglSwapBuffers(display, surface), "a frame ends");
	}
	says(glGetError() == GL_NO_ERROR, "the frames leave no error");
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "fbdev"))
		with_fbdev();
	else
		with_gbm(argc > 1 && !strcmp(argv[1], "changes"));
	return failures != 0;
}
