/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What calls of OpenGL ES cost in the guest, in instructions: QEMU's -icount shift=0
 * makes one instruction a nanosecond of the guest's counter. The board is one that
 * reports no times, so that nothing else passes.
 *
 * A line a row: kind, instructions a call, name. Kinds: `batched` (travels in a batch),
 * `bytes` (so does a copy of the program's memory), `answer` (has an answer). Of the first
 * two, a thousand calls with the doorbells that take them along. */
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GLES3/gl3.h>
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

static GLint one, two, three, four, whole, matrices[3];
static GLuint buffers[2], indices, textures[2], framebuffers[2], renderbuffers[2], arrays[2], samplers[2], program;
static const float values[16] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 };
static const GLint integers[4] = { 1, 2, 3, 4 };
static EGLDisplay display;
static EGLSurface surface;

#define CALL(name, call) static void name(int n) { (void)n; call; }

CALL(uniform1f, glUniform1f(one, n))
CALL(uniform2f, glUniform2f(two, n, 1))
CALL(uniform3f, glUniform3f(three, n, 1, 2))
CALL(uniform4f, glUniform4f(four, n, 1, 2, 3))
CALL(uniform1i, glUniform1i(whole, n & 1))
CALL(uniform1fv, glUniform1fv(one, 1, values))
CALL(uniform2fv, glUniform2fv(two, 1, values))
CALL(uniform3fv, glUniform3fv(three, 1, values))
CALL(uniform4fv, glUniform4fv(four, 1, values))
CALL(uniform1iv, glUniform1iv(whole, 1, integers))
CALL(matrix2, glUniformMatrix2fv(matrices[0], 1, GL_FALSE, values))
CALL(matrix3, glUniformMatrix3fv(matrices[1], 1, GL_FALSE, values))
CALL(matrix4, glUniformMatrix4fv(matrices[2], 1, GL_FALSE, values))
CALL(toggle, (n & 1 ? glEnable : glDisable)(GL_BLEND))
CALL(blend, glBlendFunc(GL_SRC_ALPHA, GL_ONE_MINUS_SRC_ALPHA))
CALL(blend_apart, glBlendFuncSeparate(GL_SRC_ALPHA, GL_ONE_MINUS_SRC_ALPHA, GL_ONE, GL_ZERO))
CALL(equation, glBlendEquation(GL_FUNC_ADD))
CALL(viewport, glViewport(0, 0, 64 + n % 2, 64))
CALL(scissor, glScissor(0, 0, 64 + n % 2, 64))
CALL(depth, glDepthFunc(GL_LESS + n % 2))
CALL(depth_mask, glDepthMask(n % 2))
CALL(colour_mask, glColorMask(1, 1, 1, n % 2))
CALL(cull, glCullFace(GL_FRONT + n % 2))
CALL(front, glFrontFace(GL_CW + n % 2))
CALL(offset, glPolygonOffset(1, n))
CALL(width, glLineWidth(1 + n % 2))
CALL(stencil, glStencilFunc(GL_ALWAYS, n % 2, 255))
CALL(stencil_op, glStencilOp(GL_KEEP, GL_KEEP, GL_REPLACE))
CALL(stencil_mask, glStencilMask(n % 255))
CALL(clear_colour, glClearColor(0, n % 2, 0, 1))
CALL(clear_depth, glClearDepthf(1))
CALL(clear, glClear(GL_COLOR_BUFFER_BIT))
CALL(active, glActiveTexture(GL_TEXTURE0 + n % 2))
CALL(bind_texture, glBindTexture(GL_TEXTURE_2D, textures[n % 2]))
CALL(parameter, glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, n & 1 ? GL_NEAREST : GL_LINEAR))
CALL(parameter_f, glTexParameterf(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST))
CALL(bind_sampler, glBindSampler(0, samplers[n % 2]))
CALL(sampler, glSamplerParameteri(samplers[0], GL_TEXTURE_MIN_FILTER, GL_NEAREST))
CALL(store, glPixelStorei(GL_UNPACK_ALIGNMENT, 1 + n % 2))
CALL(bind_framebuffer, glBindFramebuffer(GL_FRAMEBUFFER, framebuffers[n % 2]))
CALL(bind_renderbuffer, glBindRenderbuffer(GL_RENDERBUFFER, renderbuffers[n % 2]))
CALL(attach, glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, textures[n % 2], 0))
CALL(use_program, glUseProgram(program))
CALL(bind_buffer, glBindBuffer(GL_ARRAY_BUFFER, buffers[n % 2]))
CALL(bind_indices, glBindBuffer(GL_ELEMENT_ARRAY_BUFFER, indices))
CALL(bind_base, glBindBufferBase(GL_UNIFORM_BUFFER, 0, buffers[n % 2]))
CALL(bind_range, glBindBufferRange(GL_UNIFORM_BUFFER, 0, buffers[n % 2], 0, 16))
CALL(sub_data, glBufferSubData(GL_ARRAY_BUFFER, 0, 16, values))
CALL(bind_array, glBindVertexArray(arrays[n % 2]))
CALL(pointer, glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 8, (void *)(uintptr_t)(n % 2 * 8)))
CALL(integer_pointer, glVertexAttribIPointer(1, 2, GL_INT, 8, (void *)(uintptr_t)(n % 2 * 8)))
CALL(divisor, glVertexAttribDivisor(1, n % 2))
CALL(toggle_array, (n & 1 ? glEnableVertexAttribArray : glDisableVertexAttribArray)(1))
CALL(attribute4f, glVertexAttrib4f(2, n, 1, 2, 3))
CALL(attribute4fv, glVertexAttrib4fv(2, values))
CALL(draw, glDrawArrays(GL_TRIANGLES, 0, 3))
CALL(draw_elements, glDrawElements(GL_TRIANGLES, 3, GL_UNSIGNED_SHORT, NULL))
CALL(draw_instances, glDrawArraysInstanced(GL_TRIANGLES, 0, 3, 2))
CALL(draw_element_instances, glDrawElementsInstanced(GL_TRIANGLES, 3, GL_UNSIGNED_SHORT, NULL, 2))
CALL(draw_range, glDrawRangeElements(GL_TRIANGLES, 0, 2, 3, GL_UNSIGNED_SHORT, NULL))
static const struct {
	const char *name;
	void (*call)(int);
} batched[] = {
	{ "glUniform1f", uniform1f },
	{ "glUniform2f", uniform2f },
	{ "glUniform3f", uniform3f },
	{ "glUniform4f", uniform4f },
	{ "glUniform1i", uniform1i },
	{ "glUniform1fv", uniform1fv },
	{ "glUniform2fv", uniform2fv },
	{ "glUniform3fv", uniform3fv },
	{ "glUniform4fv", uniform4fv },
	{ "glUniform1iv", uniform1iv },
	{ "glUniformMatrix2fv", matrix2 },
	{ "glUniformMatrix3fv", matrix3 },
	{ "glUniformMatrix4fv", matrix4 },
	{ "glEnable", toggle },
	{ "glBlendFunc", blend },
	{ "glBlendFuncSeparate", blend_apart },
	{ "glBlendEquation", equation },
	{ "glViewport", viewport },
	{ "glScissor", scissor },
	{ "glDepthFunc", depth },
	{ "glDepthMask", depth_mask },
	{ "glColorMask", colour_mask },
	{ "glCullFace", cull },
	{ "glFrontFace", front },
	{ "glPolygonOffset", offset },
	{ "glLineWidth", width },
	{ "glStencilFunc", stencil },
	{ "glStencilOp", stencil_op },
	{ "glStencilMask", stencil_mask },
	{ "glClearColor", clear_colour },
	{ "glClearDepthf", clear_depth },
	{ "glClear", clear },
	{ "glActiveTexture", active },
	{ "glBindTexture", bind_texture },
	{ "glTexParameteri", parameter },
	{ "glTexParameterf", parameter_f },
	{ "glBindSampler", bind_sampler },
	{ "glSamplerParameteri", sampler },
	{ "glPixelStorei", store },
	{ "glBindRenderbuffer", bind_renderbuffer },
	{ "glUseProgram", use_program },
	{ "glBindBuffer", bind_buffer },
	{ "glBindBuffer, of indices", bind_indices },
	{ "glBindBufferBase", bind_base },
	{ "glBindBufferRange", bind_range },
	{ "glVertexAttribPointer", pointer },
	{ "glVertexAttribIPointer", integer_pointer },
	{ "glVertexAttribDivisor", divisor },
	{ "glEnableVertexAttribArray", toggle_array },
	{ "glVertexAttrib4f", attribute4f },
	{ "glVertexAttrib4fv", attribute4fv },
	{ "glDrawArrays", draw },
	{ "glDrawElements", draw_elements },
	{ "glDrawArraysInstanced", draw_instances },
	{ "glDrawElementsInstanced", draw_element_instances },
	{ "glDrawRangeElements", draw_range },
	{ "glBindFramebuffer", bind_framebuffer },
	{ "glFramebufferTexture2D", attach },
	{ "glBindVertexArray", bind_array },
};

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
		EGL_OPENGL_ES3_BIT, EGL_NONE };
	static const EGLint size[] = { EGL_WIDTH, 64, EGL_HEIGHT, 64, EGL_NONE };
	static const EGLint version[] = { EGL_CONTEXT_CLIENT_VERSION, 3, EGL_NONE };
	static const GLushort corner_numbers[3] = { 0, 1, 2 };
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
		"attribute vec4 at; uniform mat2 m2; uniform mat3 m3; uniform mat4 m4;"
		"void main() { gl_Position = m4 * at + vec4(m3[0] + vec3(m2[0], 0.0), 0.0); }"));
	glAttachShader(program, shader(GL_FRAGMENT_SHADER,
		"precision mediump float; uniform float one; uniform vec2 two; uniform vec3 three;"
		"uniform vec4 four; uniform int whole;"
		"void main() { gl_FragColor = four * one + vec4(two, three.xy) * float(whole); }"));
	glLinkProgram(program);
	glUseProgram(program);
	one = glGetUniformLocation(program, "one");
	two = glGetUniformLocation(program, "two");
	three = glGetUniformLocation(program, "three");
	four = glGetUniformLocation(program, "four");
	whole = glGetUniformLocation(program, "whole");
	matrices[0] = glGetUniformLocation(program, "m2");
	matrices[1] = glGetUniformLocation(program, "m3");
	matrices[2] = glGetUniformLocation(program, "m4");
	glGenTextures(2, textures);
	for (int i = 0; i < 2; i++) {
		glBindTexture(GL_TEXTURE_2D, textures[i]);
		glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, 4, 4, 0, GL_RGBA, GL_UNSIGNED_BYTE, NULL);
	}
	glGenFramebuffers(2, framebuffers);
	glGenRenderbuffers(2, renderbuffers);
	glGenVertexArrays(2, arrays);
	glGenSamplers(2, samplers);
	glGenBuffers(1, &indices);
	glBindBuffer(GL_ELEMENT_ARRAY_BUFFER, indices);
	glBufferData(GL_ELEMENT_ARRAY_BUFFER, 6, corner_numbers, GL_STATIC_DRAW);
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
	for (size_t i = 0; i < sizeof(batched) / sizeof(batched[0]); i++)
		row("batched", batched[i].name, CALLS, batched[i].call);
	row("bytes", "glBufferSubData", CALLS, sub_data);
	if (glGetError() != GL_NO_ERROR) {
		fputs("wrong calls\n", stderr);
		return 1;
	}
	row("answer", "glGetError", 10, error);
	row("answer", "eglSwapBuffers", 10, swap);
	row("answer", "glFinish", 10, finish);
	return 0;
}
