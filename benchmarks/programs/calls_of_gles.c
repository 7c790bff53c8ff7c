/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A library to preload (LD_PRELOAD): has the driver finish after each call of OpenGL ES
 * that the examples make, and prints on standard error, as the program ends,
 *
 *     call NAME NUMBER NANOSECONDS
 *
 * of the calls between the first eglSwapBuffers and the last: what gil's board measures
 * with `gil run --gl-time call`. */
#define _GNU_SOURCE
#include <EGL/egl.h>
#include <GLES2/gl2.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Those of frames, with their parameters and what is passed on. */
#define CALLS(_) \
	_(glBindBuffer, (GLenum a, GLuint b), (a, b)) \
	_(glBindTexture, (GLenum a, GLuint b), (a, b)) \
	_(glBlendFunc, (GLenum a, GLenum b), (a, b)) \
	_(glBufferData, (GLenum a, GLsizeiptr b, const void *c, GLenum d), (a, b, c, d)) \
	_(glBufferSubData, (GLenum a, GLintptr b, GLsizeiptr c, const void *d), (a, b, c, d)) \
	_(glClear, (GLbitfield a), (a)) \
	_(glClearColor, (GLfloat a, GLfloat b, GLfloat c, GLfloat d), (a, b, c, d)) \
	_(glDisable, (GLenum a), (a)) \
	_(glDrawArrays, (GLenum a, GLint b, GLsizei c), (a, b, c)) \
	_(glDrawElements, (GLenum a, GLsizei b, GLenum c, const void *d), (a, b, c, d)) \
	_(glEnable, (GLenum a), (a)) \
	_(glReadPixels, (GLint a, GLint b, GLsizei c, GLsizei d, GLenum e, GLenum f, void *g), \
	  (a, b, c, d, e, f, g)) \
	_(glUniform3f, (GLint a, GLfloat b, GLfloat c, GLfloat d), (a, b, c, d)) \
	_(glUniform3fv, (GLint a, GLsizei b, const GLfloat *c), (a, b, c)) \
	_(glUniformMatrix4fv, (GLint a, GLsizei b, GLboolean c, const GLfloat *d), (a, b, c, d)) \
	_(glUseProgram, (GLuint a), (a)) \
	_(glVertexAttribPointer, \
	  (GLuint a, GLint b, GLenum c, GLboolean d, GLsizei e, const void *f), (a, b, c, d, e, f)) \
	_(glViewport, (GLint a, GLint b, GLsizei c, GLsizei d), (a, b, c, d))

#define NUMBER(name, parameters, passed) N_##name,
enum { CALLS(NUMBER) N_eglSwapBuffers, COUNT };
#define NAME(name, parameters, passed) #name,
static const char *const names[COUNT] = { CALLS(NAME) "eglSwapBuffers" };

/* Since the last swap, and between the first and the last. */
static struct { uint64_t calls, ns; } open_frame[COUNT], frames[COUNT];
static int swaps;

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void finish(void)
{
	static void (*real)(void);

	if (!real)
		real = (void (*)(void))dlsym(RTLD_NEXT, "glFinish");
	real();
}

static void took(int call, uint64_t begun)
{
	open_frame[call].calls++;
	open_frame[call].ns += now() - begun;
}

#define WRAPPER(name, parameters, passed) \
	void name parameters \
	{ \
		static void (*real) parameters; \
		uint64_t begun; \
\
		if (!real) \
			real = (void (*) parameters)dlsym(RTLD_NEXT, #name); \
		begun = now(); \
		real passed; \
		finish(); \
		took(N_##name, begun); \
	}
CALLS(WRAPPER)

EGLBoolean eglSwapBuffers(EGLDisplay display, EGLSurface surface)
{
	static EGLBoolean (*real)(EGLDisplay, EGLSurface);
	EGLBoolean result;
	uint64_t begun;

	if (!real)
		real = (EGLBoolean(*)(EGLDisplay, EGLSurface))dlsym(RTLD_NEXT, "eglSwapBuffers");
	begun = now();
	result = real(display, surface);
	finish();
	took(N_eglSwapBuffers, begun);
	for (int i = 0; i < COUNT && swaps > 0; i++) {
		frames[i].calls += open_frame[i].calls;
		frames[i].ns += open_frame[i].ns;
	}
	memset(open_frame, 0, sizeof(open_frame));
	swaps++;
	return result;
}

__attribute__((destructor)) static void print(void)
{
	for (int i = 0; i < COUNT; i++) {
		if (frames[i].calls)
			fprintf(stderr, "call %s %llu %llu\n", names[i],
				(unsigned long long)frames[i].calls, (unsigned long long)frames[i].ns);
	}
}
