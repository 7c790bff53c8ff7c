/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a draw costs beside itself: what `gil calibrate calls --api gles` runs natively and in
 * the guest. Prints the renderer's name and
 *
 *     number NUMBER
 *
 * of its second argument, then for each repetition, in nanoseconds:
 *
 *     draw ONE MANY START DEVICE COLD SUBMIT QUEUED POSTS
 *
 * A draw is a triangle of few pixels. ONE: of a draw and glFinish. MANY: of NUMBER draws, of
 * which glFlush hands each to the device, and glFinish. START: from the call until the device begins,
 * where it has counters (GL_EXT_disjoint_timer_query), else 0. DEVICE: how long the device
 * works on each. COLD: of a draw that takes the device a while and glFinish, after a pause. SUBMIT: 0,
 * since boards say what the calls of OpenGL ES take.
 * QUEUED: what each adds that is handed over while the device is busy. POSTS: what calls of a
 * draw's state, for which nobody waits, add to a draw and glFinish. */
#include "offscreen.h"

/* Repetitions that do not count: drivers compile. */
#define WARM 2
/* Nanoseconds in which the device may go to sleep. */
#define PAUSE 1000000
/* Draws one at a time. */
#define TURNS 16
/* How often the calls of a draw's state come before it. */
#define STATES 2
#define NUMBER_MAX 4096
/* Turns of the loop of a draw that takes the device a while, natively as in the guest. */
#define SPINS 4096
/* Most turns of the loop of a draw that keeps the device busy. */
#define SPIN_MAX (1 << 24)
#define TIMESTAMP 0x8E28

typedef void (*query_counter)(GLuint, GLenum);
typedef void (*get_query)(GLuint, GLenum, GLuint64 *);

static GLuint plain, spinning, corners_in;
static GLint turns_at;
static int turns = 64;
static GLuint timer;
static query_counter count;
static get_query counted;

static void set_up(void)
{
	static const float corners[] = { -1, -1, 3, -1, -1, 3 };
	const char *vertices = "#version 300 es\nlayout(location = 0) in vec2 at;\n"
		"void main() { gl_Position = vec4(at, 0.0, 1.0); }\n";
	const char *extensions;

	offscreen_open();
	plain = offscreen_program(vertices, "#version 300 es\nprecision mediump float;\n"
		"out vec4 c; void main() { c = vec4(1.0, 0.5, 0.0, 1.0); }\n", NULL);
	spinning = offscreen_program(vertices, "#version 300 es\nprecision highp float;\n"
		"uniform int n; out vec4 c; void main() { float s = gl_FragCoord.x;\n"
		"for (int k = 0; k < n; k++) s = sin(s) + 1.0; c = vec4(s); }\n", NULL);
	turns_at = glGetUniformLocation(spinning, "n");
	glGenBuffers(1, &corners_in);
	glBindBuffer(GL_ARRAY_BUFFER, corners_in);
	glBufferData(GL_ARRAY_BUFFER, sizeof(corners), corners, GL_STATIC_DRAW);
	glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, NULL);
	glEnableVertexAttribArray(0);
	glViewport(0, 0, 4, 4);
	glEnable(GL_SCISSOR_TEST);
	glScissor(0, 0, 4, 4);
	extensions = (const char *)glGetString(GL_EXTENSIONS);
	if (extensions && strstr(extensions, "GL_EXT_disjoint_timer_query")) {
		count = (query_counter)eglGetProcAddress("glQueryCounterEXT");
		counted = (get_query)eglGetProcAddress("glGetQueryObjectui64vEXT");
	}
	if (count && counted)
		glGenQueries(1, &timer);
	WITHOUT_ERROR("setting up");
}

static void draw(void)
{
	glUseProgram(plain);
	glDrawArrays(GL_TRIANGLES, 0, 3);
}

/* The last is not handed over. */
static void draw_all(int number)
{
	for (int n = 0; n < number; n++) {
		draw();
		if (n < number - 1)
			glFlush();
	}
}

static long long draws(int number)
{
	long long began = now();

	draw_all(number);
	glFinish();
	return now() - began;
}

static long long turn(void)
{
	long long began = now();

	for (int n = 0; n < TURNS; n++) {
		draw();
		glFinish();
	}
	return (now() - began) / TURNS;
}

static void spin(int times)
{
	glUseProgram(spinning);
	glUniform1i(turns_at, times);
	glDrawArrays(GL_TRIANGLES, 0, 3);
}

/* The state that a program sets for a draw, before each of them. */
static void state(void)
{
	for (int n = 0; n < STATES; n++) {
		glUseProgram(spinning);
		glUniform1i(turns_at, n);
		glBindBuffer(GL_ARRAY_BUFFER, corners_in);
		glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, NULL);
		glEnableVertexAttribArray(0);
		glViewport(0, 0, 4, 4);
		glScissor(0, 0, 4, 4);
	}
}

/* What they add. */
static long long posts(void)
{
	long long began = now(), plainly, stated;

	for (int n = 0; n < TURNS; n++) {
		draw();
		glFinish();
	}
	plainly = now() - began;
	began = now();
	for (int n = 0; n < TURNS; n++) {
		state();
		draw();
		glFinish();
	}
	stated = now() - began;
	return stated > plainly ? (stated - plainly) / TURNS : 0;
}

/* A draw that takes the device a while. */
static long long spun(void)
{
	long long began = now();

	spin(SPINS);
	glFinish();
	return now() - began;
}

/* Behind a draw that keeps the device busy. */
static long long behind(int number)
{
	long long began = now();

	spin(turns);
	glFlush();
	draw_all(number);
	glFinish();
	return now() - began;
}

static long long queued(int number)
{
	long long one = behind(1), all = behind(number);

	return all > one ? (all - one) / (number - 1) : 0;
}

/* Keeps the device busy for longer than it takes to hand over so many draws. */
static void spin_for(int number)
{
	while (turns < SPIN_MAX && behind(1) < 3 * draws(number))
		turns *= 2;
}

/* By the device's clock, from the call to the begin. */
static long long latency(void)
{
	long long all = 0;

	for (int n = 0; timer && n < TURNS; n++) {
		GLint64 before = 0;
		GLuint64 began = 0;

		glFinish();
		glGetInteger64v(TIMESTAMP, &before);
		count(timer, TIMESTAMP);
		draw();
		glFinish();
		counted(timer, GL_QUERY_RESULT, &began);
		if (began > (GLuint64)before)
			all += (long long)(began - (GLuint64)before);
	}
	return all / TURNS;
}

static long long worked(int number)
{
	long long all = 0;

	for (int n = 0; n < number; n++) {
		draw();
		all += offscreen_finish();
	}
	return all / number;
}

int main(int argc, char **argv)
{
	const struct timespec pause = { .tv_nsec = PAUSE };
	int repetitions = argc > 1 ? atoi(argv[1]) : 0;
	int number = argc > 2 ? atoi(argv[2]) : 0;

	if (repetitions < 1 || number < 2 || number > NUMBER_MAX) {
		fprintf(stderr, "usage: draws REPETITIONS NUMBER\n");
		return 2;
	}
	set_up();
	printf("number %d\n", number);
	spin_for(number);
	for (int n = -WARM; n < repetitions; n++) {
		long long cold, one, many, start, each, added, posted;

		nanosleep(&pause, NULL);
		cold = spun();
		turn();
		one = turn();
		many = draws(number);
		start = latency();
		each = worked(number);
		added = queued(number);
		posted = posts();
		WITHOUT_ERROR("drawing");
		if (n >= 0)
			printf("draw %lld %lld %lld %lld %lld 0 %lld %lld\n", one, many, start, each,
			       cold, added, posted);
	}
	return 0;
}
