/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What programs share that draw one thing: a context on a pbuffer, a program, a
 * picture's sum. */
#ifndef GLES_SCENE_H
#define GLES_SCENE_H

#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GLES3/gl3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef SIDE
#define SIDE 64
#endif

struct scene {
	EGLDisplay display;
	EGLConfig config;
	EGLSurface surface;
	EGLContext context;
	GLuint program;
	GLint turn;
};

static const char scene_vertex[] =
	"attribute vec2 corner; varying vec2 at;"
	"void main() { at = corner; gl_Position = vec4(corner, 0.0, 1.0); }";
static const char scene_fragment[] =
	"precision mediump float; varying vec2 at; uniform float turn;"
	"void main() { gl_FragColor = vec4(at * 0.5 + 0.5, turn, 1.0); }";

static inline EGLDisplay scene_display(void)
{
	PFNEGLGETPLATFORMDISPLAYEXTPROC get = (PFNEGLGETPLATFORMDISPLAYEXTPROC)
		eglGetProcAddress("eglGetPlatformDisplayEXT");

	return get(EGL_PLATFORM_SURFACELESS_MESA, NULL, NULL);
}

static inline GLuint scene_shader(GLenum type, const char *source)
{
	GLuint shader = glCreateShader(type);

	glShaderSource(shader, 1, &source, NULL);
	glCompileShader(shader);
	return shader;
}

static inline GLuint scene_program(const char *vertex, const char *fragment)
{
	GLuint program = glCreateProgram();

	glAttachShader(program, scene_shader(GL_VERTEX_SHADER, vertex));
	glAttachShader(program, scene_shader(GL_FRAGMENT_SHADER, fragment));
	glBindAttribLocation(program, 0, "corner");
	glLinkProgram(program);
	return program;
}

/* A context of this version that is current, and a pbuffer; ends the program if
 * there is none. */
static inline struct scene scene_begin(const EGLint *attributes)
{
	static const EGLint wanted[] = { EGL_SURFACE_TYPE, EGL_PBUFFER_BIT, EGL_RENDERABLE_TYPE,
		EGL_OPENGL_ES2_BIT, EGL_RED_SIZE, 8, EGL_ALPHA_SIZE, 8, EGL_NONE };
	static const EGLint size[] = { EGL_WIDTH, SIDE, EGL_HEIGHT, SIDE, EGL_NONE };
	static const EGLint second[] = { EGL_CONTEXT_CLIENT_VERSION, 2, EGL_NONE };
	struct scene scene = { .display = scene_display() };
	EGLint count = 0;

	if (!eglInitialize(scene.display, NULL, NULL) ||
	    !eglChooseConfig(scene.display, wanted, &scene.config, 1, &count) || !count) {
		printf("there is no EGL: %#x\n", eglGetError());
		exit(1);
	}
	scene.surface = eglCreatePbufferSurface(scene.display, scene.config, size);
	scene.context = eglCreateContext(scene.display, scene.config, EGL_NO_CONTEXT,
					 attributes ? attributes : second);
	if (!eglMakeCurrent(scene.display, scene.surface, scene.surface, scene.context)) {
		printf("there is no context: %#x\n", eglGetError());
		exit(1);
	}
	scene.program = scene_program(scene_vertex, scene_fragment);
	scene.turn = glGetUniformLocation(scene.program, "turn");
	return scene;
}

static inline unsigned scene_sum(const unsigned char *bytes, size_t len)
{
	unsigned sum = 2166136261u;

	for (size_t i = 0; i < len; i++)
		sum = (sum ^ bytes[i]) * 16777619u;
	return sum;
}

/* Draws with its program, and the sum of the picture. */
static inline unsigned scene_draw(const struct scene *scene, int round)
{
	static const float corners[] = { -1, -1, 3, -1, -1, 3 };
	static __thread unsigned char picture[4 * SIDE * SIDE];

	memset(picture, 0, sizeof(picture));
	glUseProgram(scene->program);
	glUniform1f(scene->turn, (round % 16) / 16.0f);
	glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, corners);
	glEnableVertexAttribArray(0);
	glDrawArrays(GL_TRIANGLES, 0, 3);
	glReadPixels(0, 0, SIDE, SIDE, GL_RGBA, GL_UNSIGNED_BYTE, picture);
	return scene_sum(picture, sizeof(picture));
}

#endif
