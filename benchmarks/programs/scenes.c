/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Small OpenGL ES programs whose times are known: what `gil calibrate programs --api gles`
 * runs natively and in the guest. Prints the renderer's name, then for each program and
 * repetition:
 *
 *     NAME WALL DEVICE OPERATIONS SUM
 *
 * WALL: nanoseconds from the program's first call until its picture is done, or read. DEVICE:
 * how long the device works on what is handed over to it OPERATIONS times, executed once more
 * with a finish before each. SUM: of the picture's words, which are the same natively and in
 * the guest. The first argument is the number of repetitions, more are names of programs;
 * none: all. */
#include "offscreen.h"
#include <stdint.h>

/* Repetitions that do not count: caches are cold, and drivers compile. */
#define WARM 2
/* Nanoseconds between repetitions, in which the device may go to sleep. */
#define PAUSE 1000000
/* Pixels of a side of the largest picture. */
#define SIDE 1024
/* Of a texture. */
#define TEXELS 512
/* Vertices of a side of the mesh. */
#define MESH 128
#define POINTS 16384

enum { QUAD, GRID, CLOUD, STREAM, CAPTURED, BUFFERS };
enum { FLAT, LIT, IMAGE, FRACTAL, WAVES, BLUR, COPIES, MOVED, PROGRAMS };
enum { PICTURE, PHOTO, FIRST, SECOND, TEXTURES };

static GLuint buffers[BUFFERS], indices, made[PROGRAMS], textures[TEXTURES], targets[3];
static GLint place[PROGRAMS], colour[PROGRAMS];
/* Whether the device's time is measured, which is in `device`. */
static int is_profiled, operations;
static long long device;
static uint32_t picture[SIDE * SIDE], photo[TEXELS * TEXELS], extra;
/* What an application makes of its own: that is no time of the device's, nor of its driver's. */
static float strips[32][1024 * 3];

static const char *const vertices =
	"#version 300 es\nlayout(location = 0) in vec3 at; uniform vec4 place; out vec2 uv;\n"
	"void main() { uv = at.xy * 0.5 + 0.5; gl_PointSize = 2.0;\n"
	"	gl_Position = vec4(at.xy * place.zw + place.xy, at.z, 1.0); }\n";
static const char *const lit =
	"#version 300 es\nlayout(location = 0) in vec3 at; uniform vec4 place; out vec2 uv;\n"
	"out vec3 n; void main() { uv = at.xy; float h = 0.2 * sin(9.0 * at.x) * cos(7.0 * at.y);\n"
	"	n = normalize(vec3(-1.8 * cos(9.0 * at.x), 1.4 * sin(7.0 * at.y), 1.0));\n"
	"	gl_Position = vec4(at.xy * place.zw + place.xy, h, 1.0); }\n";
static const char *const copies =
	"#version 300 es\nlayout(location = 0) in vec3 at; uniform vec4 place; out vec2 uv;\n"
	"void main() { uv = at.xy; int x = gl_InstanceID % 32, y = gl_InstanceID / 32;\n"
	"	gl_Position = vec4(at.xy * 0.025 + vec2(x, y) / 16.0 - 0.97 + place.xy, 0.0, 1.0); }\n";
static const char *const moved =
	"#version 300 es\nlayout(location = 0) in vec3 at; uniform vec4 place; out vec2 uv;\n"
	"out vec4 next; void main() { uv = at.xy; vec2 p = at.xy;\n"
	"	for (int k = 0; k < 16; k++) p += 0.01 * vec2(sin(5.0 * p.y), cos(5.0 * p.x));\n"
	"	next = vec4(p, at.z, place.x); gl_Position = vec4(p, at.z, 1.0); gl_PointSize = 1.0; }\n";

#define FRAGMENT "#version 300 es\nprecision highp float; in vec2 uv; uniform vec4 colour; out vec4 c;\n"
static const char *const flat = FRAGMENT "void main() { c = colour; }\n";
static const char *const shaded = FRAGMENT
	"in vec3 n; void main() { c = colour * max(dot(normalize(n), vec3(0.0, 0.6, 0.8)), 0.1); }\n";
static const char *const image = FRAGMENT
	"uniform sampler2D t; void main() { c = colour * texture(t, uv * 1.7); }\n";
static const char *const fractal = FRAGMENT
	"void main() { vec2 z = vec2(0.0), p = uv * 3.0 - vec2(2.0, 1.5); float k = 0.0;\n"
	"	for (; k < 100.0 && dot(z, z) < 4.0; k++) z = vec2(z.x * z.x - z.y * z.y, 2.0 * z.x * z.y) + p;\n"
	"	c = vec4(k / 100.0, colour.yzw); }\n";
static const char *const waves = FRAGMENT
	"void main() { float s = uv.x; for (int k = 1; k < 12; k++) s += sin(s * 3.0 + uv.y * float(k));\n"
	"	c = vec4(s * 0.05, fract(s), colour.zw); }\n";
static const char *const blur = FRAGMENT
	"uniform sampler2D t; void main() { c = vec4(0.0);\n"
	"	for (int k = -4; k <= 4; k++) c += texture(t, uv + colour.xy * float(k)) / 9.0; }\n";

static void set_up_buffers(void)
{
	static const float quad[] = { -1, -1, 0, 1, -1, 0, -1, 1, 0, 1, 1, 0 };
	static float grid[MESH * MESH * 3], cloud[POINTS * 3];
	static uint16_t triangles[(MESH - 1) * (MESH - 1) * 6];
	uint32_t state = 1;
	int count = 0;

	for (int n = 0; n < MESH * MESH; n++) {
		grid[n * 3] = n % MESH * 2.0f / (MESH - 1) - 1;
		grid[n * 3 + 1] = n / MESH * 2.0f / (MESH - 1) - 1;
	}
	for (int n = 0; n < (MESH - 1) * (MESH - 1); n++) {
		int at = n / (MESH - 1) * MESH + n % (MESH - 1);
		const int six[] = { at, at + 1, at + MESH, at + 1, at + MESH + 1, at + MESH };

		for (int k = 0; k < 6; k++)
			triangles[count++] = (uint16_t)six[k];
	}
	for (int n = 0; n < POINTS * 3; n++) {
		state = state * 1664525 + 1013904223;
		cloud[n] = (float)(state >> 8) / (1 << 23) - 1;
	}
	for (int n = 0; n < 32 * 1024; n++) {
		float *at = &strips[n / 1024][n % 1024 * 3];

		at[0] = n % 1024 / 512.0f - 1;
		at[1] = (n % 2 + n / 1024) / 16.0f - 1;
	}
	for (int n = 0; n < TEXELS * TEXELS; n++) {
		state = state * 1664525 + 1013904223;
		photo[n] = state | 0xff000000;
	}
	glGenBuffers(BUFFERS, buffers);
	glBindBuffer(GL_ARRAY_BUFFER, buffers[QUAD]);
	glBufferData(GL_ARRAY_BUFFER, sizeof(quad), quad, GL_STATIC_DRAW);
	glBindBuffer(GL_ARRAY_BUFFER, buffers[GRID]);
	glBufferData(GL_ARRAY_BUFFER, sizeof(grid), grid, GL_STATIC_DRAW);
	glBindBuffer(GL_ARRAY_BUFFER, buffers[CLOUD]);
	glBufferData(GL_ARRAY_BUFFER, sizeof(cloud), cloud, GL_STATIC_DRAW);
	glBindBuffer(GL_ARRAY_BUFFER, buffers[CAPTURED]);
	glBufferData(GL_ARRAY_BUFFER, POINTS * 16, NULL, GL_STREAM_READ);
	glGenBuffers(1, &indices);
	glBindBuffer(GL_ELEMENT_ARRAY_BUFFER, indices);
	glBufferData(GL_ELEMENT_ARRAY_BUFFER, sizeof(triangles), triangles, GL_STATIC_DRAW);
	glEnableVertexAttribArray(0);
}

static void set_up_target(int n, GLuint texture, int side)
{
	GLuint depth;

	glBindTexture(GL_TEXTURE_2D, texture);
	glTexStorage2D(GL_TEXTURE_2D, 1, GL_RGBA8, side, side);
	glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_LINEAR);
	glBindFramebuffer(GL_FRAMEBUFFER, targets[n]);
	glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, texture, 0);
	glGenRenderbuffers(1, &depth);
	glBindRenderbuffer(GL_RENDERBUFFER, depth);
	glRenderbufferStorage(GL_RENDERBUFFER, GL_DEPTH24_STENCIL8, side, side);
	glFramebufferRenderbuffer(GL_FRAMEBUFFER, GL_DEPTH_STENCIL_ATTACHMENT, GL_RENDERBUFFER,
				  depth);
	if (glCheckFramebufferStatus(GL_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE)
		fail("glCheckFramebufferStatus", glGetError());
}

static void set_up(void)
{
	offscreen_open();
	set_up_buffers();
	made[FLAT] = offscreen_program(vertices, flat, NULL);
	made[LIT] = offscreen_program(lit, shaded, NULL);
	made[IMAGE] = offscreen_program(vertices, image, NULL);
	made[FRACTAL] = offscreen_program(vertices, fractal, NULL);
	made[WAVES] = offscreen_program(vertices, waves, NULL);
	made[BLUR] = offscreen_program(vertices, blur, NULL);
	made[COPIES] = offscreen_program(copies, flat, NULL);
	made[MOVED] = offscreen_program(moved, flat, "next");
	for (int n = 0; n < PROGRAMS; n++) {
		place[n] = glGetUniformLocation(made[n], "place");
		colour[n] = glGetUniformLocation(made[n], "colour");
	}
	glGenTextures(TEXTURES, textures);
	glGenFramebuffers(3, targets);
	set_up_target(1, textures[FIRST], TEXELS);
	set_up_target(2, textures[SECOND], TEXELS);
	set_up_target(0, textures[PICTURE], SIDE);
	glBindTexture(GL_TEXTURE_2D, textures[PHOTO]);
	glTexStorage2D(GL_TEXTURE_2D, 10, GL_RGBA8, TEXELS, TEXELS);
	glTexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, TEXELS, TEXELS, GL_RGBA, GL_UNSIGNED_BYTE, photo);
	WITHOUT_ERROR("setting up");
}

/* Behind all that the device is handed over next. */
static void handed_over(void)
{
	operations++;
	if (is_profiled)
		device += offscreen_finish();
}

static void flush(void)
{
	handed_over();
	glFlush();
}

static void finish(void)
{
	handed_over();
	glFinish();
}

static void get(int side)
{
	handed_over();
	glReadPixels(0, 0, side, side, GL_RGBA, GL_UNSIGNED_BYTE, picture);
}

/* What is drawn from now on: with this program, from this buffer, on so many pixels. */
static void use(int program, int buffer, int side)
{
	glUseProgram(made[program]);
	glUniform4f(place[program], 0, 0, 1, 1);
	glUniform4f(colour[program], 0.9f, 0.6f, 0.3f, 1);
	glBindBuffer(GL_ARRAY_BUFFER, buffers[buffer]);
	glVertexAttribPointer(0, 3, GL_FLOAT, GL_FALSE, 0, NULL);
	glViewport(0, 0, side, side);
}

static void at(int program, float x, float y, float size)
{
	glUniform4f(place[program], x, y, size, size);
}

static void clear(float red)
{
	glClearColor(red, 0.2f, 0.3f, 1);
	glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT | GL_STENCIL_BUFFER_BIT);
}

static void quad(void)
{
	glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
}

static void clears(void)
{
	for (int n = 0; n < 8; n++) {
		clear(n / 8.0f);
		get(16);
	}
}

static void triangle(void)
{
	clear(0);
	use(FLAT, QUAD, SIDE);
	glDrawArrays(GL_TRIANGLES, 0, 3);
	finish();
}

static void quads(void)
{
	clear(0);
	use(FLAT, QUAD, TEXELS);
	for (int n = 0; n < 200; n++) {
		at(FLAT, n % 20 / 10.0f - 0.95f, n / 20 / 5.0f - 0.9f, 0.04f);
		glUniform4f(colour[FLAT], n / 200.0f, 0.5f, 1 - n / 200.0f, 1);
		quad();
	}
	finish();
}

static void points(void)
{
	clear(0);
	use(FLAT, CLOUD, TEXELS);
	glDrawArrays(GL_POINTS, 0, POINTS);
	finish();
}

static void lines(void)
{
	clear(0);
	use(FLAT, CLOUD, TEXELS);
	glDrawArrays(GL_LINES, 0, 2048);
	finish();
}

static void mesh(void)
{
	clear(0);
	use(LIT, GRID, TEXELS);
	glEnable(GL_DEPTH_TEST);
	glDrawElements(GL_TRIANGLES, (MESH - 1) * (MESH - 1) * 6, GL_UNSIGNED_SHORT, NULL);
	glDisable(GL_DEPTH_TEST);
	finish();
}

static void mandel(void)
{
	use(FRACTAL, QUAD, TEXELS);
	quad();
	finish();
}

static void sines(void)
{
	use(WAVES, QUAD, SIDE);
	quad();
	finish();
}

static void texture(void)
{
	use(IMAGE, QUAD, TEXELS);
	glBindTexture(GL_TEXTURE_2D, textures[PHOTO]);
	glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_LINEAR);
	for (int n = 0; n < 4; n++) {
		at(IMAGE, 0, 0, 1 - n * 0.1f);
		quad();
	}
	finish();
}

static void layers(void)
{
	clear(0);
	use(FLAT, QUAD, TEXELS);
	glEnable(GL_BLEND);
	glBlendFunc(GL_SRC_ALPHA, GL_ONE_MINUS_SRC_ALPHA);
	for (int n = 0; n < 16; n++) {
		glUniform4f(colour[FLAT], n / 16.0f, 0.5f, 0.2f, 0.3f);
		quad();
	}
	glDisable(GL_BLEND);
	finish();
}

static void blurred(void)
{
	use(BLUR, QUAD, TEXELS);
	for (int n = 0; n < 4; n++) {
		glBindFramebuffer(GL_FRAMEBUFFER, targets[n % 2 + 1]);
		glBindTexture(GL_TEXTURE_2D, n == 0 ? textures[PHOTO] :
			      textures[n % 2 ? FIRST : SECOND]);
		glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_LINEAR);
		glUniform4f(colour[BLUR], n % 2 ? 0 : 1.0f / TEXELS, n % 2 ? 1.0f / TEXELS : 0, 0, 0);
		quad();
	}
	get(256);
	glBindFramebuffer(GL_FRAMEBUFFER, targets[0]);
}

static void upload(void)
{
	use(IMAGE, QUAD, 256);
	glBindTexture(GL_TEXTURE_2D, textures[PHOTO]);
	glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_LINEAR);
	glTexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, TEXELS, TEXELS, GL_RGBA, GL_UNSIGNED_BYTE, photo);
	quad();
	finish();
}

static void stream(void)
{
	clear(0);
	use(FLAT, STREAM, TEXELS);
	for (int n = 0; n < 32; n++) {
		glBufferData(GL_ARRAY_BUFFER, sizeof(strips[n]), strips[n], GL_STREAM_DRAW);
		glDrawArrays(GL_TRIANGLE_STRIP, 0, 1024);
	}
	finish();
}

/* Each before all that were drawn. */
static void depth(void)
{
	clear(0);
	use(LIT, QUAD, TEXELS);
	glEnable(GL_DEPTH_TEST);
	glDepthFunc(GL_LEQUAL);
	for (int n = 0; n < 16; n++) {
		glDepthRangef(0, 1 - n / 32.0f);
		quad();
	}
	glDepthRangef(0, 1);
	glDepthFunc(GL_LESS);
	glDisable(GL_DEPTH_TEST);
	finish();
}

static void stencil(void)
{
	clear(0);
	use(FLAT, CLOUD, TEXELS);
	glEnable(GL_STENCIL_TEST);
	glStencilFunc(GL_ALWAYS, 1, 255);
	glStencilOp(GL_KEEP, GL_KEEP, GL_REPLACE);
	glDrawArrays(GL_TRIANGLES, 0, 60);
	use(WAVES, QUAD, TEXELS);
	glStencilFunc(GL_EQUAL, 0, 255);
	glStencilOp(GL_KEEP, GL_KEEP, GL_KEEP);
	quad();
	glDisable(GL_STENCIL_TEST);
	finish();
}

static void mipmaps(void)
{
	use(IMAGE, QUAD, 256);
	glBindTexture(GL_TEXTURE_2D, textures[PHOTO]);
	glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_LINEAR_MIPMAP_LINEAR);
	glGenerateMipmap(GL_TEXTURE_2D);
	quad();
	finish();
}

static void instances(void)
{
	clear(0);
	use(COPIES, QUAD, TEXELS);
	glDrawArraysInstanced(GL_TRIANGLE_STRIP, 0, 4, 1024);
	finish();
}

static void feedback(void)
{
	const uint32_t *words;

	use(MOVED, CLOUD, TEXELS);
	glBindBufferBase(GL_TRANSFORM_FEEDBACK_BUFFER, 0, buffers[CAPTURED]);
	glEnable(GL_RASTERIZER_DISCARD);
	glBeginTransformFeedback(GL_POINTS);
	glDrawArrays(GL_POINTS, 0, POINTS);
	glEndTransformFeedback();
	glDisable(GL_RASTERIZER_DISCARD);
	handed_over();
	words = glMapBufferRange(GL_TRANSFORM_FEEDBACK_BUFFER, 0, POINTS * 16, GL_MAP_READ_BIT);
	for (int n = 0; words && n < POINTS * 4; n += 1024)
		extra += words[n];
	glUnmapBuffer(GL_TRANSFORM_FEEDBACK_BUFFER);
	glBindBufferBase(GL_TRANSFORM_FEEDBACK_BUFFER, 0, 0);
}

static void frames(void)
{
	for (int n = 0; n < 50; n++) {
		use(FLAT, QUAD, 64);
		at(FLAT, n / 50.0f, 0, 0.2f);
		quad();
		flush();
	}
	finish();
}

static void turns(void)
{
	for (int n = 0; n < 50; n++) {
		use(FLAT, QUAD, 64);
		at(FLAT, 0, n / 50.0f, 0.2f);
		quad();
		finish();
	}
}

static void answers(void)
{
	for (int n = 0; n < 20; n++) {
		use(WAVES, QUAD, 64);
		at(WAVES, 0, n / 50.0f, 0.5f);
		quad();
		get(4);
	}
}

static void reads(void)
{
	use(IMAGE, QUAD, SIDE);
	glBindTexture(GL_TEXTURE_2D, textures[PHOTO]);
	glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_LINEAR);
	quad();
	get(SIDE);
}

static const struct { const char *name; void (*body)(void); } programs[] = {
	{ "clears", clears }, { "triangle", triangle }, { "quads", quads }, { "points", points },
	{ "lines", lines }, { "mesh", mesh }, { "mandel", mandel }, { "sines", sines },
	{ "texture", texture }, { "layers", layers }, { "blur", blurred }, { "upload", upload },
	{ "stream", stream }, { "depth", depth }, { "stencil", stencil }, { "mipmaps", mipmaps },
	{ "instances", instances }, { "feedback", feedback }, { "frames", frames },
	{ "turns", turns }, { "answers", answers }, { "reads", reads },
};

static long long executed(void (*body)(void), int profiled)
{
	const struct timespec pause = { .tv_nsec = PAUSE };
	long long began;

	nanosleep(&pause, NULL);
	is_profiled = profiled;
	device = operations = 0;
	extra = 0;
	began = now();
	body();
	return now() - began;
}

static uint32_t sum(void)
{
	uint32_t all = extra;

	glReadPixels(0, 0, TEXELS, TEXELS, GL_RGBA, GL_UNSIGNED_BYTE, picture);
	for (int n = 0; n < TEXELS * TEXELS; n++)
		all += picture[n];
	return all;
}

static void run(int n, int repetitions)
{
	clear(1);
	for (int r = -WARM; r < repetitions; r++) {
		long long wall = executed(programs[n].body, 0);

		executed(programs[n].body, 1);
		if (r >= 0)
			printf("%s %lld %lld %d %u\n", programs[n].name, wall, device, operations,
			       sum());
	}
	WITHOUT_ERROR(programs[n].name);
}

int main(int argc, char **argv)
{
	int repetitions = argc > 1 ? atoi(argv[1]) : 0;

	if (repetitions < 1) {
		fprintf(stderr, "usage: scenes REPETITIONS [PROGRAM]...\n");
		return 2;
	}
	set_up();
	for (size_t n = 0; n < sizeof(programs) / sizeof(programs[0]); n++) {
		int is_named = argc == 2;

		for (int k = 2; k < argc; k++)
			is_named |= !strcmp(argv[k], programs[n].name);
		if (is_named)
			run((int)n, repetitions);
	}
	return 0;
}
