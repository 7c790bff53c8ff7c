/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Draws frames of 1920x1080, each a colour and a triangle, and has each in memory:
 *
 *     screen read|show all|part FRAMES
 *
 * `read`: a pbuffer, by glReadPixels. `show`: a window of libgbm, whose buffer is taken and
 * given back as a compositor does. With `all` the colour is another in each frame, with
 * `part` that of a hundredth of the picture.
 * A line at the begin and at the end, behind a first frame that does not count. */
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GLES2/gl2.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 1920, HEIGHT = 1080, XRGB8888 = 0x34325258, SCANOUT_AND_RENDERING = 5 };

static struct {
	void *(*create_device)(int fd);
	void *(*surface_create)(void *device, uint32_t width, uint32_t height, uint32_t format,
				uint32_t flags);
	void *(*surface_lock_front_buffer)(void *surface);
	void (*surface_release_buffer)(void *surface, void *buffer);
} gbm;
/* The window, with `show`. */
static void *window;
static EGLDisplay display;
static EGLSurface surface;

static void *in_libgbm(const char *name)
{
	return dlsym(dlopen("libgbm.so.1", RTLD_NOW), name);
}

static void *open_window(void **device)
{
	*(void **)&gbm.create_device = in_libgbm("gbm_create_device");
	*(void **)&gbm.surface_create = in_libgbm("gbm_surface_create");
	*(void **)&gbm.surface_lock_front_buffer = in_libgbm("gbm_surface_lock_front_buffer");
	*(void **)&gbm.surface_release_buffer = in_libgbm("gbm_surface_release_buffer");
	*device = gbm.create_device(open("/dev/dri/card0", O_RDWR | O_CLOEXEC));
	return gbm.surface_create(*device, WIDTH, HEIGHT, XRGB8888, SCANOUT_AND_RENDERING);
}

static GLuint shader(GLenum kind, const char *text)
{
	GLuint made = glCreateShader(kind);

	glShaderSource(made, 1, &text, NULL);
	glCompileShader(made);
	return made;
}

/* One for windows has the visual of the window. */
static EGLConfig config(void)
{
	const EGLint wanted[] = { EGL_SURFACE_TYPE, window ? EGL_WINDOW_BIT : EGL_PBUFFER_BIT,
		EGL_RENDERABLE_TYPE, EGL_OPENGL_ES2_BIT, EGL_RED_SIZE, 8,
		EGL_ALPHA_SIZE, window ? 0 : 8, EGL_NONE };
	EGLConfig all[256];
	EGLint count = 0, visual = 0;

	eglChooseConfig(display, wanted, all, 256, &count);
	for (EGLint n = 0; n < count; n++) {
		eglGetConfigAttrib(display, all[n], EGL_NATIVE_VISUAL_ID, &visual);
		if (!window || visual == XRGB8888)
			return all[n];
	}
	fputs("no configuration\n", stderr);
	exit(1);
}

static void open_surface(int is_shown)
{
	static const EGLint size[] = { EGL_WIDTH, WIDTH, EGL_HEIGHT, HEIGHT, EGL_NONE };
	static const EGLint version[] = { EGL_CONTEXT_CLIENT_VERSION, 2, EGL_NONE };
	PFNEGLGETPLATFORMDISPLAYEXTPROC get = (PFNEGLGETPLATFORMDISPLAYEXTPROC)
		eglGetProcAddress("eglGetPlatformDisplayEXT");
	void *device = NULL;
	EGLConfig with;

	if (is_shown)
		window = open_window(&device);
	display = get(is_shown ? EGL_PLATFORM_GBM_KHR : EGL_PLATFORM_SURFACELESS_MESA, device,
		      NULL);
	eglInitialize(display, NULL, NULL);
	with = config();
	surface = is_shown ?
		eglCreateWindowSurface(display, with, (EGLNativeWindowType)window, NULL) :
		eglCreatePbufferSurface(display, with, size);
	if (!eglMakeCurrent(display, surface, surface,
			    eglCreateContext(display, with, EGL_NO_CONTEXT, version))) {
		fprintf(stderr, "no surface: %#x\n", eglGetError());
		exit(1);
	}
}

static void prepare(void)
{
	static const float corners[] = { -0.5f, -0.5f, 0.5f, -0.5f, 0, 0.5f };
	GLuint program = glCreateProgram(), buffer;

	glAttachShader(program, shader(GL_VERTEX_SHADER,
		"attribute vec2 at; void main() { gl_Position = vec4(at, 0.0, 1.0); }"));
	glAttachShader(program, shader(GL_FRAGMENT_SHADER,
		"void main() { gl_FragColor = vec4(1.0, 0.5, 0.0, 1.0); }"));
	glBindAttribLocation(program, 0, "at");
	glLinkProgram(program);
	glUseProgram(program);
	glGenBuffers(1, &buffer);
	glBindBuffer(GL_ARRAY_BUFFER, buffer);
	glBufferData(GL_ARRAY_BUFFER, sizeof(corners), corners, GL_STATIC_DRAW);
	glEnableVertexAttribArray(0);
	glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, NULL);
}

static void draw(int frame, int is_all)
{
	float other = (float)(frame & 15) / 15;

	glClearColor(is_all ? other : 0, 0, 0.5f, 1);
	glClear(GL_COLOR_BUFFER_BIT);
	glDrawArrays(GL_TRIANGLES, 0, 3);
	if (is_all)
		return;
	glEnable(GL_SCISSOR_TEST);
	glScissor(WIDTH / 2, HEIGHT / 2, WIDTH / 10, HEIGHT / 10);
	glClearColor(other, 1, 0, 1);
	glClear(GL_COLOR_BUFFER_BIT);
	glDisable(GL_SCISSOR_TEST);
}

/* The picture into memory, and the frame's end. */
static void finish(void)
{
	static unsigned char pixels[WIDTH * HEIGHT * 4];

	if (!window)
		glReadPixels(0, 0, WIDTH, HEIGHT, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
	eglSwapBuffers(display, surface);
	if (window)
		gbm.surface_release_buffer(window, gbm.surface_lock_front_buffer(window));
}

int main(int argc, char **argv)
{
	int frames;

	if (argc != 4)
		return 2;
	frames = atoi(argv[3]);
	open_surface(!strcmp(argv[1], "show"));
	prepare();
	for (int frame = -1; frame < frames; frame++) {
		if (frame == 0) {
			puts("begin");
			fflush(stdout);
		}
		draw(frame, !strcmp(argv[2], "all"));
		finish();
	}
	puts("end");
	fflush(stdout);
	return glGetError() != GL_NO_ERROR;
}
