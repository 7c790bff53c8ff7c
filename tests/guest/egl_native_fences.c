/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* EGL_ANDROID_native_fence_sync: sync files that programs, other contexts and the kernel
 * wait for. Prints a line a point, "ok" or "FAILED". */
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GLES2/gl2.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sync_file.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { SIZE = 512 };

static EGLDisplay display;
static EGLConfig config;
static EGLContext context;
static EGLSurface surface;
static PFNEGLCREATESYNCKHRPROC create;
static PFNEGLDESTROYSYNCKHRPROC destroy;
static PFNEGLCLIENTWAITSYNCKHRPROC client_wait;
static PFNEGLGETSYNCATTRIBKHRPROC attribute;
static PFNEGLWAITSYNCKHRPROC server_wait;
static PFNEGLDUPNATIVEFENCEFDANDROIDPROC descriptor;

static void point(const char *what, int is_right)
{
	printf("%s %s\n", is_right ? "ok" : "FAILED", what);
}

#define POINT(condition) point(#condition, condition)

static void begin(void)
{
	static const EGLint wanted[] = { EGL_SURFACE_TYPE, EGL_PBUFFER_BIT, EGL_RENDERABLE_TYPE,
		EGL_OPENGL_ES2_BIT, EGL_NONE };
	static const EGLint size[] = { EGL_WIDTH, SIZE, EGL_HEIGHT, SIZE, EGL_NONE };
	static const EGLint version[] = { EGL_CONTEXT_CLIENT_VERSION, 2, EGL_NONE };
	EGLint count = 0;

	display = eglGetPlatformDisplay(EGL_PLATFORM_SURFACELESS_MESA, NULL, NULL);
	if (!eglInitialize(display, NULL, NULL) ||
	    !eglChooseConfig(display, wanted, &config, 1, &count) || count < 1) {
		printf("FAILED no EGL: %#x\n", eglGetError());
		exit(1);
	}
	context = eglCreateContext(display, config, EGL_NO_CONTEXT, version);
	surface = eglCreatePbufferSurface(display, config, size);
	create = (PFNEGLCREATESYNCKHRPROC)eglGetProcAddress("eglCreateSyncKHR");
	destroy = (PFNEGLDESTROYSYNCKHRPROC)eglGetProcAddress("eglDestroySyncKHR");
	client_wait = (PFNEGLCLIENTWAITSYNCKHRPROC)eglGetProcAddress("eglClientWaitSyncKHR");
	attribute = (PFNEGLGETSYNCATTRIBKHRPROC)eglGetProcAddress("eglGetSyncAttribKHR");
	server_wait = (PFNEGLWAITSYNCKHRPROC)eglGetProcAddress("eglWaitSyncKHR");
	descriptor = (PFNEGLDUPNATIVEFENCEFDANDROIDPROC)eglGetProcAddress(
		"eglDupNativeFenceFDANDROID");
}

static void draw(void)
{
	for (int i = 0; i < 50; i++) {
		glClearColor(i / 50.0f, 0.5f, 0.25f, 1);
		glClear(GL_COLOR_BUFFER_BIT);
	}
}

static int signals(int fd, int within_ms)
{
	struct pollfd one = { .fd = fd, .events = POLLIN };

	return poll(&one, 1, within_ms) == 1 && (one.revents & POLLIN);
}

static EGLint word(EGLSyncKHR sync, EGLint name)
{
	EGLint value = 0;

	return attribute(display, sync, name, &value) ? value : -1;
}

static EGLSyncKHR of(EGLint fd)
{
	const EGLint list[] = { EGL_SYNC_NATIVE_FENCE_FD_ANDROID, fd, EGL_NONE };

	return create(display, EGL_SYNC_NATIVE_FENCE_ANDROID, list);
}

static void made(void)
{
	struct sync_fence_info one = { .status = -1 };
	struct sync_file_info info = { .num_fences = 1, .sync_fence_info = (uintptr_t)&one };
	EGLSyncKHR fence;
	int fd, other;

	draw();
	fence = create(display, EGL_SYNC_NATIVE_FENCE_ANDROID, NULL);
	POINT(fence != EGL_NO_SYNC_KHR);
	fd = descriptor(display, fence);
	POINT(fd >= 0 && (fcntl(fd, F_GETFD) & FD_CLOEXEC));
	POINT(signals(fd, 10000));
	POINT(!ioctl(fd, SYNC_IOC_FILE_INFO, &info) && info.status == 1);
	POINT(!strcmp(one.driver_name, "gil"));
	POINT(word(fence, EGL_SYNC_TYPE_KHR) == EGL_SYNC_NATIVE_FENCE_ANDROID);
	POINT(word(fence, EGL_SYNC_CONDITION_KHR) == EGL_SYNC_PRIOR_COMMANDS_COMPLETE_KHR);
	POINT(word(fence, EGL_SYNC_STATUS_KHR) == EGL_SIGNALED_KHR);
	POINT(client_wait(display, fence, 0, 0) == EGL_CONDITION_SATISFIED_KHR);
	POINT(client_wait(display, fence, 0, EGL_FOREVER_KHR) == EGL_CONDITION_SATISFIED_KHR);
	POINT(server_wait(display, fence, 0));
	other = descriptor(display, fence);
	POINT(other >= 0 && other != fd);
	POINT(destroy(display, fence));
	POINT(signals(other, 0));
	close(other);
	close(fd);
}

static void imported(void)
{
	EGLSyncKHR fence = of(EGL_NO_NATIVE_FENCE_FD_ANDROID), again;
	int fd = descriptor(display, fence);

	POINT(destroy(display, fence));
	again = of(fd);
	POINT(again != EGL_NO_SYNC_KHR);
	POINT(word(again, EGL_SYNC_CONDITION_KHR) == EGL_SYNC_NATIVE_FENCE_SIGNALED_ANDROID);
	POINT(server_wait(display, again, 0));
	draw();
	POINT(client_wait(display, again, 0, 1000000000) == EGL_CONDITION_SATISFIED_KHR);
	POINT(destroy(display, again));
	errno = 0;
	POINT(fcntl(fd, F_GETFD) == -1 && errno == EBADF);
}

/* What has not signaled is waited for, as long as the program says. */
static void unsignaled(void)
{
	int ends[2];
	struct timespec began, ended;
	EGLSyncKHR fence;
	long waited;

	/* A pipe is no sync file, and readable only once something is in it. */
	if (pipe(ends))
		exit(1);
	fence = of(ends[0]);
	POINT(word(fence, EGL_SYNC_STATUS_KHR) == EGL_UNSIGNALED_KHR);
	POINT(client_wait(display, fence, 0, 0) == EGL_TIMEOUT_EXPIRED_KHR);
	clock_gettime(CLOCK_MONOTONIC, &began);
	POINT(client_wait(display, fence, 0, 5000000) == EGL_TIMEOUT_EXPIRED_KHR);
	clock_gettime(CLOCK_MONOTONIC, &ended);
	waited = (ended.tv_sec - began.tv_sec) * 1000000000 + ended.tv_nsec - began.tv_nsec;
	POINT(waited >= 5000000);
	if (write(ends[1], "x", 1) != 1)
		exit(1);
	POINT(client_wait(display, fence, 0, EGL_FOREVER_KHR) == EGL_CONDITION_SATISFIED_KHR);
	POINT(destroy(display, fence));
	close(ends[1]);
}

static void errors(void)
{
	static const EGLint wrong[] = { EGL_WIDTH, 1, EGL_NONE };
	EGLSyncKHR plain = create(display, EGL_SYNC_FENCE_KHR, NULL);

	POINT(descriptor(display, plain) == EGL_NO_NATIVE_FENCE_FD_ANDROID);
	POINT(eglGetError() == EGL_BAD_PARAMETER);
	POINT(descriptor(display, EGL_NO_SYNC_KHR) == EGL_NO_NATIVE_FENCE_FD_ANDROID);
	POINT(eglGetError() == EGL_BAD_PARAMETER);
	POINT(of(12345) == EGL_NO_SYNC_KHR && eglGetError() == EGL_BAD_PARAMETER);
	POINT(of(-7) == EGL_NO_SYNC_KHR && eglGetError() == EGL_BAD_PARAMETER);
	POINT(create(display, EGL_SYNC_NATIVE_FENCE_ANDROID, wrong) == EGL_NO_SYNC_KHR);
	POINT(eglGetError() == EGL_BAD_ATTRIBUTE);
	destroy(display, plain);
	eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
	POINT(create(display, EGL_SYNC_NATIVE_FENCE_ANDROID, NULL) == EGL_NO_SYNC_KHR);
	POINT(eglGetError() == EGL_BAD_MATCH);
}

/* A context without a surface, which draws to a framebuffer of its own. */
static void without_surface(void)
{
	GLuint framebuffer, renderbuffer;

	POINT(eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, context));
	glGenFramebuffers(1, &framebuffer);
	glGenRenderbuffers(1, &renderbuffer);
	glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);
	glBindRenderbuffer(GL_RENDERBUFFER, renderbuffer);
	glRenderbufferStorage(GL_RENDERBUFFER, GL_RGBA4, SIZE, SIZE);
	glFramebufferRenderbuffer(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_RENDERBUFFER, renderbuffer);
	made();
	POINT(glGetError() == GL_NO_ERROR);
}

int main(void)
{
	begin();
	POINT(strstr(eglQueryString(display, EGL_EXTENSIONS), "EGL_ANDROID_native_fence_sync") !=
	      NULL);
	POINT(eglMakeCurrent(display, surface, surface, context));
	made();
	imported();
	unsignaled();
	errors();
	without_surface();
	return 0;
}
