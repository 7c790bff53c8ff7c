/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What calls of OpenGL ES cost in the guest, in instructions: QEMU's -icount shift=0
 * makes one instruction a nanosecond of the guest's counter. The board is one that
 * reports no times, so that nothing else passes.
 *
 * A line a row: kind, instructions a call, name. Kinds: `numbers` (travels in a batch,
 * its arguments are numbers), `batched` (travels in a batch; the library knows something
 * of it, or it has memory of the program's), `answer` (has an answer). Of the first two,
 * a thousand calls with the doorbells that take them along. */
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GLES2/gl2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define GROUPS 9 /* whose median counts */
#define CALLS 1000

static uint64_t counter_hz(void)
{
	uint64_t hz;
#ifdef __aarch64__
	__asm__ volatile("mrs %0, cntfrq_el0" : "=r"(hz));
#elif !defined(__arm__)
	hz = 1000000000; /* of clock_gettime: no instructions are counted there */
#else
	uint32_t low;

	__asm__ volatile("mrc p15, 0, %0, c14, c0, 0" : "=r"(low));
	hz = low;
#endif
	return hz;
}

static uint64_t counter(void)
{
	uint64_t now;
#ifdef __aarch64__
	__asm__ volatile("isb; mrs %0, cntvct_el0" : "=r"(now)::"memory");
#elif !defined(__arm__)
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	now = time.tv_sec * 1000000000ull + time.tv_nsec;
#else
	uint32_t low, high;

	__asm__ volatile("isb; mrrc p15, 1, %0, %1, c14" : "=r"(low), "=r"(high)::"memory");
	now = (uint64_t)high << 32 | low;
#endif
	return now;
}

static int ascending(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

static void row(const char *kind, const char *name, int calls, void (*call)(int))
{
	uint64_t ticks[GROUPS], begin;

	call(0);
	call(1);
	for (int group = 0; group < GROUPS; group++) {
		glFinish();
		begin = counter();
		for (int n = 0; n < calls; n++)
			call(n);
		ticks[group] = counter() - begin;
	}
	qsort(ticks, GROUPS, sizeof(ticks[0]), ascending);
	printf("%s %.0f %s\n", kind, ticks[GROUPS / 2] * 1e9 / counter_hz() / calls, name);
	fflush(stdout);
}

static GLint one, four, matrix;
static GLuint buffers[2], textures[2], program;
static EGLDisplay display;
static EGLSurface surface;

static void uniform1f(int n) { glUniform1f(one, n); }
static void uniform4f(int n) { glUniform4f(four, n, 1, 2, 3); }
static void uniform1i(int n) { glUniform1i(one, n & 1); }
static void toggle(int n) { (n & 1 ? glEnable : glDisable)(GL_BLEND); }
static void blend(int n) { (void)n; glBlendFunc(GL_SRC_ALPHA, GL_ONE_MINUS_SRC_ALPHA); }
static void viewport(int n) { glViewport(0, 0, 64 + n % 2, 64); }
static void clear(int n) { (void)n; glClear(GL_COLOR_BUFFER_BIT); }
static void active(int n) { glActiveTexture(GL_TEXTURE0 + n % 2); }
static void bind_texture(int n) { glBindTexture(GL_TEXTURE_2D, textures[n % 2]); }
static void use_program(int n) { (void)n; glUseProgram(program); }
static void bind_buffer(int n) { glBindBuffer(GL_ARRAY_BUFFER, buffers[n % 2]); }
static void pointer(int n) { glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 8, (void *)(uintptr_t)(n % 2 * 8)); }
static void draw(int n) { (void)n; glDrawArrays(GL_TRIANGLES, 0, 3); }
static void uniform4fv(int n)
{
	static const float values[4] = { 1, 2, 3, 4 };

	(void)n;
	glUniform4fv(four, 1, values);
}
static void uniform_matrix(int n)
{
	static const float values[16] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 };

	(void)n;
	glUniformMatrix4fv(matrix, 1, GL_FALSE, values);
}
static void error(int n) { (void)n; glGetError(); }
static void swap(int n) { (void)n; eglSwapBuffers(display, surface); }
static void finish(int n) { (void)n; glFinish(); }

static GLuint shader(GLenum kind, const char *text)
{
	GLuint made = glCreateShader(kind);

	glShaderSource(made, 1, &text, NULL);
	glCompileShader(made);
	return made;
}

static int prepare(void)
{
	static const EGLint wanted[] = { EGL_SURFACE_TYPE, EGL_PBUFFER_BIT, EGL_RENDERABLE_TYPE,
		EGL_OPENGL_ES2_BIT, EGL_NONE };
	static const EGLint size[] = { EGL_WIDTH, 64, EGL_HEIGHT, 64, EGL_NONE };
	static const EGLint version[] = { EGL_CONTEXT_CLIENT_VERSION, 2, EGL_NONE };
	static const float corners[8] = { 0, 0, 1, 0, 0, 1, 1, 1 };
	PFNEGLGETPLATFORMDISPLAYEXTPROC get = (PFNEGLGETPLATFORMDISPLAYEXTPROC)
		eglGetProcAddress("eglGetPlatformDisplayEXT");
	EGLConfig config;
	EGLContext context;
	EGLint count = 0;

	display = get(EGL_PLATFORM_SURFACELESS_MESA, NULL, NULL);
	if (!eglInitialize(display, NULL, NULL) ||
	    !eglChooseConfig(display, wanted, &config, 1, &count) || count < 1)
		return 0;
	surface = eglCreatePbufferSurface(display, config, size);
	context = eglCreateContext(display, config, EGL_NO_CONTEXT, version);
	if (!eglMakeCurrent(display, surface, surface, context))
		return 0;
	program = glCreateProgram();
	glAttachShader(program, shader(GL_VERTEX_SHADER,
		"attribute vec4 at; uniform mat4 m; void main() { gl_Position = m * at; }"));
	glAttachShader(program, shader(GL_FRAGMENT_SHADER,
		"precision mediump float; uniform float one; uniform vec4 four;"
		"void main() { gl_FragColor = four * one; }"));
	glLinkProgram(program);
	glUseProgram(program);
	one = glGetUniformLocation(program, "one");
	four = glGetUniformLocation(program, "four");
	matrix = glGetUniformLocation(program, "m");
	glGenTextures(2, textures);
	glGenBuffers(2, buffers);
	for (int i = 0; i < 2; i++) {
		glBindBuffer(GL_ARRAY_BUFFER, buffers[i]);
		glBufferData(GL_ARRAY_BUFFER, sizeof(corners), corners, GL_STATIC_DRAW);
	}
	glEnableVertexAttribArray(0);
	glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 8, NULL);
	return glGetError() == GL_NO_ERROR;
}

int main(void)
{
	if (!prepare()) {
		fputs("no context\n", stderr);
		return 1;
	}
	row("numbers", "glUniform1f", CALLS, uniform1f);
	row("numbers", "glUniform4f", CALLS, uniform4f);
	row("numbers", "glUniform1i", CALLS, uniform1i);
	row("batched", "glEnable", CALLS, toggle);
	row("numbers", "glBlendFunc", CALLS, blend);
	row("numbers", "glViewport", CALLS, viewport);
	row("numbers", "glClear", CALLS, clear);
	row("numbers", "glActiveTexture", CALLS, active);
	row("batched", "glBindTexture", CALLS, bind_texture);
	row("numbers", "glUseProgram", CALLS, use_program);
	row("batched", "glUniform4fv", CALLS, uniform4fv);
	row("batched", "glUniformMatrix4fv", CALLS, uniform_matrix);
	row("batched", "glBindBuffer", CALLS, bind_buffer);
	row("batched", "glVertexAttribPointer", CALLS, pointer);
	row("batched", "glDrawArrays", CALLS, draw);
	row("answer", "glGetError", 10, error);
	row("answer", "eglSwapBuffers", 10, swap);
	row("answer", "glFinish", 10, finish);
	return 0;
}
