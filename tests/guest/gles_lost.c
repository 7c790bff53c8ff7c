/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Two processes that draw, one after the other. The first may lose the board on the
 * way: then its context is lost, and every way to ask says so. The second must not
 * notice. */
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GLES2/gl2.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIDE 64
#define ROUNDS 8
#define GL_CONTEXT_LOST 0x0507
#define GL_UNKNOWN_CONTEXT_RESET 0x8255

enum { FINISHED = 0, WRONG = 1, LOST = 2 };

static int wrong;

static void check(int right, const char *what)
{
	if (!right) {
		printf("not so: %s\n", what);
		wrong = 1;
	}
}

/* Whether the context is gone for good, as the APIs say it. */
static int stays_lost(EGLDisplay display, EGLSurface surface, GLenum (*status)(void))
{
	EGLContext context = eglGetCurrentContext();
	GLint value = 7;

	check(!eglSwapBuffers(display, surface), "eglSwapBuffers fails");
	check(eglGetError() == EGL_CONTEXT_LOST, "EGL_CONTEXT_LOST");
	check(!eglSwapBuffers(display, surface), "it fails again");
	glGetIntegerv(GL_MAX_TEXTURE_SIZE, &value);
	check(value == 7, "nothing is answered");
	check(glGetError() == GL_CONTEXT_LOST, "GL_CONTEXT_LOST");
	check(status && status() == GL_UNKNOWN_CONTEXT_RESET, "GL_UNKNOWN_CONTEXT_RESET");
	glFinish();
	check(eglMakeCurrent(display, NULL, NULL, NULL), "a lost context is let go");
	check(eglDestroyContext(display, context), "it is destroyed");
	check(eglDestroySurface(display, surface), "its surface is");
	check(eglTerminate(display), "the display ends");
	return wrong ? WRONG : LOST;
}

static int use(void)
{
	static const EGLint wanted[] = { EGL_SURFACE_TYPE, EGL_PBUFFER_BIT, EGL_RENDERABLE_TYPE,
		EGL_OPENGL_ES2_BIT, EGL_RED_SIZE, 8, EGL_NONE };
	static const EGLint size[] = { EGL_WIDTH, SIDE, EGL_HEIGHT, SIDE, EGL_NONE };
	static const EGLint version[] = { EGL_CONTEXT_CLIENT_VERSION, 2, EGL_NONE };
	static unsigned char pixels[SIDE][SIDE][4];
	PFNEGLGETPLATFORMDISPLAYEXTPROC get = (PFNEGLGETPLATFORMDISPLAYEXTPROC)
		eglGetProcAddress("eglGetPlatformDisplayEXT");
	GLenum (*status)(void) = (GLenum (*)(void))eglGetProcAddress("glGetGraphicsResetStatus");
	EGLDisplay display = get(EGL_PLATFORM_SURFACELESS_MESA, NULL, NULL);
	EGLConfig config;
	EGLSurface surface;
	EGLContext context;
	EGLint count = 0;

	if (!eglInitialize(display, NULL, NULL) ||
	    !eglChooseConfig(display, wanted, &config, 1, &count) || count < 1)
		return WRONG;
	surface = eglCreatePbufferSurface(display, config, size);
	context = eglCreateContext(display, config, EGL_NO_CONTEXT, version);
	if (!eglMakeCurrent(display, surface, surface, context))
		return WRONG;
	for (int round = 0; round < ROUNDS; round++) {
		glClearColor((float)round / 255, 0, 0, 1);
		glClear(GL_COLOR_BUFFER_BIT);
		glReadPixels(0, 0, SIDE, SIDE, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
		if (status && status())
			return stays_lost(display, surface, status);
		check(pixels[SIDE - 1][1][0] == round, "the colour is there");
		if (!eglSwapBuffers(display, surface))
			return stays_lost(display, surface, status);
	}
	check(glGetError() == GL_NO_ERROR, "no error");
	return wrong ? WRONG : FINISHED;
}

int main(void)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		status = use();
		fflush(stdout);
		_exit(status);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		return 3;
	status = WIFEXITED(status) ? WEXITSTATUS(status) : WRONG;
	printf("first: %s\n", status == FINISHED ? "finished" : status == LOST ? "lost" : "wrong");
	fflush(stdout);
	printf("second: %s\n", use() == FINISHED ? "finished" : "wrong");
	return 0;
}
