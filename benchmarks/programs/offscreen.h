/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the measured programs of OpenGL ES share: a context of OpenGL ES 3 without a window,
 * shaders, and the clock. */
#ifndef OFFSCREEN_H
#define OFFSCREEN_H

#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GLES3/gl3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WITHOUT_ERROR(what) without_error(what, __LINE__)

static inline long long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static inline void fail(const char *what, unsigned error)
{
	fprintf(stderr, "%s failed with error %#x\n", what, error);
	exit(1);
}

static inline void without_error(const char *what, int line)
{
	GLenum error = glGetError();

	if (error != GL_NO_ERROR) {
		fprintf(stderr, "%s failed with OpenGL ES error %#x in line %d\n", what, error, line);
		exit(1);
	}
}

/* Without a window system, where the driver has that. */
static inline EGLDisplay offscreen_display(void)
{
	PFNEGLGETPLATFORMDISPLAYEXTPROC get = (PFNEGLGETPLATFORMDISPLAYEXTPROC)
		eglGetProcAddress("eglGetPlatformDisplayEXT");
	PFNEGLQUERYDEVICESEXTPROC devices = (PFNEGLQUERYDEVICESEXTPROC)
		eglGetProcAddress("eglQueryDevicesEXT");
	EGLDisplay display = get ? get(EGL_PLATFORM_SURFACELESS_MESA, NULL, NULL) : EGL_NO_DISPLAY;
	EGLDeviceEXT device;
	EGLint count = 0;

	if (display != EGL_NO_DISPLAY)
		return display;
	if (get && devices && devices(1, &device, &count) && count == 1)
		return get(EGL_PLATFORM_DEVICE_EXT, device, NULL);
	return eglGetDisplay(EGL_DEFAULT_DISPLAY);
}

/* Makes a context current; prints the renderer's name. */
static inline void offscreen_open(void)
{
	static const EGLint wanted[] = { EGL_SURFACE_TYPE, EGL_PBUFFER_BIT, EGL_RENDERABLE_TYPE,
		EGL_OPENGL_ES3_BIT_KHR, EGL_RED_SIZE, 8, EGL_ALPHA_SIZE, 8, EGL_NONE };
	static const EGLint size[] = { EGL_WIDTH, 16, EGL_HEIGHT, 16, EGL_NONE };
	static const EGLint version[] = { EGL_CONTEXT_CLIENT_VERSION, 3, EGL_NONE };
	EGLDisplay display = offscreen_display();
	EGLSurface surface;
	EGLContext context;
	EGLConfig config;
	EGLint count = 0;

	if (!eglInitialize(display, NULL, NULL))
		fail("eglInitialize", eglGetError());
	if (!eglBindAPI(EGL_OPENGL_ES_API))
		fail("eglBindAPI", eglGetError());
	if (!eglChooseConfig(display, wanted, &config, 1, &count) || count != 1)
		fail("eglChooseConfig", eglGetError());
	surface = eglCreatePbufferSurface(display, config, size);
	context = eglCreateContext(display, config, EGL_NO_CONTEXT, version);
	if (!eglMakeCurrent(display, surface, surface, context))
		fail("eglMakeCurrent", eglGetError());
	printf("%s\n", glGetString(GL_RENDERER));
}

static inline void offscreen_shader(GLuint program, GLenum kind, const char *text)
{
	GLuint shader = glCreateShader(kind);
	char log[1024] = "";
	GLint is_fine;

	glShaderSource(shader, 1, &text, NULL);
	glCompileShader(shader);
	glGetShaderiv(shader, GL_COMPILE_STATUS, &is_fine);
	if (!is_fine) {
		glGetShaderInfoLog(shader, sizeof(log), NULL, log);
		fprintf(stderr, "a shader does not compile: %s\n", log);
		exit(1);
	}
	glAttachShader(program, shader);
	glDeleteShader(shader);
}

/* Of these shaders; with `captured`, that output of the first is kept by transform feedback. */
static inline GLuint offscreen_program(const char *vertices, const char *fragments,
				       const char *captured)
{
	GLuint program = glCreateProgram();
	GLint is_fine;

	offscreen_shader(program, GL_VERTEX_SHADER, vertices);
	offscreen_shader(program, GL_FRAGMENT_SHADER, fragments);
	if (captured)
		glTransformFeedbackVaryings(program, 1, &captured, GL_INTERLEAVED_ATTRIBS);
	glLinkProgram(program);
	glGetProgramiv(program, GL_LINK_STATUS, &is_fine);
	if (!is_fine) {
		fprintf(stderr, "a program does not link\n");
		exit(1);
	}
	return program;
}

/* The device's time of all that was asked for: what a finish takes more than one behind it,
 * where the calls before have been executed. */
static inline long long offscreen_finish(void)
{
	long long began, ended, more;

	glGetError();
	began = now();
	glFinish();
	ended = now();
	glFinish();
	more = (ended - began) - (now() - ended);
	return more > 0 ? more : 0;
}

#endif
