/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What the OpenGL ES examples share: a context of OpenGL ES 2.0 that draws into a
 * pbuffer, programs, textures made from integers, rotations, and a sum of every frame.
 * Plain EGL 1.4, OpenGL ES 2.0 and C99. With SCENE_GLES1 defined before it is included,
 * OpenGL ES 1.1.
 *
 * Each example understands
 *
 *     --out FILE    write every frame's bytes to FILE, RGBA, the lowest row first
 *     --times       print how long each frame took to be drawn and read, too
 *     --size WxH    draw frames of this size (256x192)
 *     FRAMES        how many frames (200)
 *
 * and prints a sum of each frame's bytes. Exit code: 0, 2 if EGL, OpenGL ES or the
 * system fails.
 *
 * Two processors compute the same numbers: products and sums are rounded apart, nothing
 * of libm is called, and rotations are rational points of the unit circle.
 */
#ifndef SCENE_H
#define SCENE_H

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#else
#pragma GCC optimize("fp-contract=off")
#endif

#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 199309L
#endif
#include <EGL/egl.h>
#include <EGL/eglext.h>
#ifdef SCENE_GLES1
#include <GLES/gl.h>
#else
#include <GLES2/gl2.h>
#endif
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* What a frame may have a side of, at most: any driver has that. */
enum { SCENE_SIDE = 2048 };

static int scene_width = 256, scene_height = 192;

/* The version of OpenGL ES, and the configurations that have it. */
#ifdef SCENE_GLES1
enum { SCENE_VERSION = 1, SCENE_BIT = EGL_OPENGL_ES_BIT };
#else
enum { SCENE_VERSION = 2, SCENE_BIT = EGL_OPENGL_ES2_BIT };
#endif

struct scene {
	EGLDisplay display;
	EGLSurface surface;
	const char *name;
	FILE *out;
	unsigned char *pixels;
	int frames, with_times;
	int64_t begun;
	uint64_t all;
};

static inline int64_t nanoseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline void fail(const char *what, unsigned code)
{
	fprintf(stderr, "%s failed (%#x)\n", what, code);
	exit(2);
}

/* A display without a window system: Mesa's, or that of the first device. */
static inline EGLDisplay scene_display(void)
{
	PFNEGLGETPLATFORMDISPLAYEXTPROC get = (PFNEGLGETPLATFORMDISPLAYEXTPROC)
		eglGetProcAddress("eglGetPlatformDisplayEXT");
	PFNEGLQUERYDEVICESEXTPROC devices = (PFNEGLQUERYDEVICESEXTPROC)
		eglGetProcAddress("eglQueryDevicesEXT");
	EGLDisplay display = get ? get(EGL_PLATFORM_SURFACELESS_MESA, NULL, NULL) : EGL_NO_DISPLAY;
	EGLDeviceEXT device;
	EGLint count = 0;

	if (display != EGL_NO_DISPLAY && eglInitialize(display, NULL, NULL))
		return display;
	if (get && devices && devices(1, &device, &count) && count > 0)
		return get(EGL_PLATFORM_DEVICE_EXT, device, NULL);
	return eglGetDisplay(EGL_DEFAULT_DISPLAY);
}

static inline void scene_size(const char *text)
{
	int is_size = sscanf(text, "%dx%d", &scene_width, &scene_height) == 2;

	if (!is_size || scene_width < 2 || scene_width > SCENE_SIDE || scene_width % 2 ||
	    scene_height < 1 || scene_height > SCENE_SIDE) {
		fprintf(stderr, "--size %s: give an even width and a height up to %d, as 256x192\n",
			text, SCENE_SIDE);
		exit(2);
	}
}

static inline void scene_open(struct scene *s, const char *name, int argc, char **argv)
{
	static const EGLint wanted[] = { EGL_SURFACE_TYPE, EGL_PBUFFER_BIT, EGL_RENDERABLE_TYPE,
		SCENE_BIT, EGL_RED_SIZE, 8, EGL_GREEN_SIZE, 8, EGL_BLUE_SIZE, 8,
		EGL_ALPHA_SIZE, 8, EGL_DEPTH_SIZE, 24, EGL_NONE };
	static const EGLint version[] = { EGL_CONTEXT_CLIENT_VERSION, SCENE_VERSION, EGL_NONE };
	EGLConfig config;
	EGLContext context;
	EGLint count = 0;

	memset(s, 0, sizeof(*s));
	s->name = name;
	s->frames = 200;
	s->all = 14695981039346656037u;
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--out") && i + 1 < argc) {
			s->out = fopen(argv[++i], "wb");
			if (!s->out) {
				perror(argv[i]);
				exit(2);
			}
		} else if (!strcmp(argv[i], "--times")) {
			s->with_times = 1;
		} else if (!strcmp(argv[i], "--size") && i + 1 < argc) {
			scene_size(argv[++i]);
		} else {
			s->frames = atoi(argv[i]);
		}
	}
	s->display = scene_display();
	if (!eglInitialize(s->display, NULL, NULL))
		fail("eglInitialize", eglGetError());
	if (!eglChooseConfig(s->display, wanted, &config, 1, &count) || count < 1)
		fail("eglChooseConfig", eglGetError());
	s->pixels = malloc((size_t)scene_width * scene_height * 4);
	if (!s->pixels)
		fail("malloc", 0);
	s->surface = eglCreatePbufferSurface(s->display, config,
					     (EGLint[]){ EGL_WIDTH, scene_width, EGL_HEIGHT,
							 scene_height, EGL_NONE });
	context = eglCreateContext(s->display, config, EGL_NO_CONTEXT, version);
	if (!eglMakeCurrent(s->display, s->surface, s->surface, context))
		fail("eglMakeCurrent", eglGetError());
	glViewport(0, 0, scene_width, scene_height);
	printf("%s: %d frames of %dx%d on %s\n", name, s->frames, scene_width, scene_height,
	       glGetString(GL_RENDERER));
}

/* A sum of bytes, eight at a time: in a simulator that steps through each instruction,
 * one of single bytes takes longer than all the rest of a frame. */
static inline uint64_t scene_sum(const unsigned char *bytes, size_t size)
{
	uint64_t sum = 14695981039346656037u, word;

	for (size_t at = 0; at < size; at += sizeof(word)) {
		memcpy(&word, bytes + at, sizeof(word));
		sum = (sum ^ word) * 1099511628211u;
		sum ^= sum >> 29;
	}
	return sum;
}

/* The frame is drawn: its bytes are read, and the next one begins. */
static inline void scene_frame(struct scene *s, int number)
{
	size_t size = (size_t)scene_width * scene_height * 4;
	uint64_t sum;
	int64_t took;

	glReadPixels(0, 0, scene_width, scene_height, GL_RGBA, GL_UNSIGNED_BYTE, s->pixels);
	took = nanoseconds() - s->begun;
	sum = scene_sum(s->pixels, size);
	s->all = (s->all ^ sum) * 1099511628211u;
	printf("%d %016" PRIx64 "\n", number, sum);
	if (s->with_times && number > 0)
		printf("time %" PRId64 "\n", took);
	if (s->out && fwrite(s->pixels, size, 1, s->out) != 1) {
		perror("writing frames");
		exit(2);
	}
	eglSwapBuffers(s->display, s->surface);
	s->begun = nanoseconds();
}

static inline int scene_close(struct scene *s)
{
	GLenum error = glGetError();

	if (error != GL_NO_ERROR)
		fail(s->name, error);
	if (s->out && fclose(s->out) != 0) {
		perror("writing frames");
		exit(2);
	}
	free(s->pixels);
	printf("%s: PASS, sum of all frames %016" PRIx64 "\n", s->name, s->all);
	return 0;
}

#ifndef SCENE_GLES1
static inline GLuint scene_shader(GLenum kind, const char *text)
{
	GLuint shader = glCreateShader(kind);
	GLint compiled = 0;
	char log[1024] = "";

	glShaderSource(shader, 1, &text, NULL);
	glCompileShader(shader);
	glGetShaderiv(shader, GL_COMPILE_STATUS, &compiled);
	if (!compiled) {
		glGetShaderInfoLog(shader, sizeof(log), NULL, log);
		fputs(log, stderr);
		fail("glCompileShader", 0);
	}
	return shader;
}

/* A program whose attributes have these names, from 0 on. */
static inline GLuint scene_program(const char *vertex, const char *fragment, const char *const *names)
{
	GLuint program = glCreateProgram();
	GLint linked = 0;

	glAttachShader(program, scene_shader(GL_VERTEX_SHADER, vertex));
	glAttachShader(program, scene_shader(GL_FRAGMENT_SHADER, fragment));
	for (GLuint i = 0; names[i]; i++)
		glBindAttribLocation(program, i, names[i]);
	glLinkProgram(program);
	glGetProgramiv(program, GL_LINK_STATUS, &linked);
	if (!linked)
		fail("glLinkProgram", 0);
	glUseProgram(program);
	return program;
}
#endif

/* A texture of 64 x 64, a brick wall or a soft disk. */
static inline GLuint scene_texture(int is_disk)
{
	static unsigned char texels[64][64][4];
	GLuint texture;

	for (int y = 0; y < 64; y++) {
		for (int x = 0; x < 64; x++) {
			int far = (2 * x - 63) * (2 * x - 63) + (2 * y - 63) * (2 * y - 63);
			int joint = y % 16 == 0 || (x + (y / 16 % 2) * 16) % 32 == 0;
			int value = joint ? 200 : 110 + (x * 7 + y * 13) % 32;

			texels[y][x][0] = (unsigned char)(is_disk ? 255 : value);
			texels[y][x][1] = (unsigned char)(is_disk ? 255 - far / 64 : joint ? 200 : value / 2);
			texels[y][x][2] = (unsigned char)(is_disk ? 192 : joint ? 190 : value / 3);
			texels[y][x][3] = (unsigned char)(is_disk ? (far < 3969 ? 255 - far / 16 : 0) : 255);
		}
	}
	glGenTextures(1, &texture);
	glBindTexture(GL_TEXTURE_2D, texture);
#ifdef SCENE_GLES1
	glTexParameteri(GL_TEXTURE_2D, GL_GENERATE_MIPMAP, GL_TRUE);
#endif
	glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, 64, 64, 0, GL_RGBA, GL_UNSIGNED_BYTE, texels);
	glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_LINEAR_MIPMAP_LINEAR);
#ifndef SCENE_GLES1
	glGenerateMipmap(GL_TEXTURE_2D);
#endif
	return texture;
}

/* ---- matrices, column by column ---- */

static inline void identity(float m[16])
{
	for (int i = 0; i < 16; i++)
		m[i] = i % 5 == 0;
}

static inline void multiply(float out[16], const float a[16], const float b[16])
{
	float r[16];

	for (int column = 0; column < 4; column++) {
		for (int row = 0; row < 4; row++) {
			float sum = 0;

			for (int k = 0; k < 4; k++)
				sum += a[k * 4 + row] * b[column * 4 + k];
			r[column * 4 + row] = sum;
		}
	}
	memcpy(out, r, sizeof(r));
}

/* Cosine and sine of a part of a turn, in 1/4096: a rational point of the unit circle,
 * near enough the angle. */
static inline void turn(int part, float *cosine, float *sine)
{
	static const float cosines[4] = { 1, 0, -1, 0 }, sines[4] = { 0, 1, 0, -1 };
	int quarter = (part >> 10) & 3;
	float t = (float)(part & 1023) / 1024.0f * 0.41421356f;
	float c, s, whole;

	/* Half of the quarter's angle at most: the tangent of an eighth, twice. */
	c = (1 - t * t) / (1 + t * t);
	s = 2 * t / (1 + t * t);
	whole = c;
	c = c * c - s * s;
	s = 2 * whole * s;
	*cosine = cosines[quarter] * c - sines[quarter] * s;
	*sine = sines[quarter] * c + cosines[quarter] * s;
}

/* Turns by a part of 4096 about an axis: 0, 1, 2. */
static inline void rotate(float m[16], int axis, int part)
{
	float r[16], c, s;
	int a = (axis + 1) % 3, b = (axis + 2) % 3;

	turn(part, &c, &s);
	identity(r);
	r[a * 4 + a] = c;
	r[a * 4 + b] = s;
	r[b * 4 + a] = -s;
	r[b * 4 + b] = c;
	multiply(m, m, r);
}

static inline void translate(float m[16], float x, float y, float z)
{
	float t[16];

	identity(t);
	t[12] = x;
	t[13] = y;
	t[14] = z;
	multiply(m, m, t);
}

static inline void scale(float m[16], float x, float y, float z)
{
	float t[16];

	identity(t);
	t[0] = x;
	t[5] = y;
	t[10] = z;
	multiply(m, m, t);
}

/* A view of what lies from `near` to `far` in front, twice as wide as far away. */
static inline void perspective(float m[16], float near, float far)
{
	memset(m, 0, 16 * sizeof(*m));
	m[0] = 1.5f * (float)scene_height / (float)scene_width;
	m[5] = 1.5f;
	m[10] = (near + far) / (near - far);
	m[11] = -1;
	m[14] = 2 * near * far / (near - far);
}

/* The sides of a cube from -1 to 1: place, direction, place in a texture. */
struct corner {
	float at[3], out[3], texture[2];
};

static inline void cube(struct corner corners[36])
{
	static const int order[6] = { 0, 1, 2, 2, 1, 3 };
	int n = 0;

	for (int side = 0; side < 6; side++) {
		int axis = side / 2, a = (axis + 1) % 3, b = (axis + 2) % 3;
		float towards = side % 2 ? -1 : 1;

		for (int i = 0; i < 6; i++, n++) {
			float u = (float)(order[i] % 2) * 2 - 1, v = (float)(order[i] / 2) * 2 - 1;

			memset(&corners[n], 0, sizeof(corners[n]));
			corners[n].at[axis] = towards;
			corners[n].at[a] = u * towards;
			corners[n].at[b] = v;
			corners[n].out[axis] = towards;
			corners[n].texture[0] = (u + 1) / 2;
			corners[n].texture[1] = (v + 1) / 2;
		}
	}
}

#endif
