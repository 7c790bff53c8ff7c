/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Bad input of EGL and OpenGL ES, as programs give it by mistake or on purpose: each
 * kind in a process of its own, and behind all of them a process that draws. The first
 * argument names a list: what prints the same natively, or what only a driver that
 * checks survives. */
#define _GNU_SOURCE
#include "gles_scene.h"

#include <GLES3/gl32.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static const EGLint third[] = { EGL_CONTEXT_CLIENT_VERSION, 3, EGL_NONE };
static struct scene scene;

static void gl(const char *what)
{
	printf("  %s: %#x\n", what, glGetError());
}

static void begin(void)
{
	scene = scene_begin(third);
}

/* Surfaces of absurd sizes. */
static void surfaces(void)
{
	static const EGLint sizes[][2] = {
		{ -1, 4 }, { 4, -2147483647 }, { 0, 0 }, { 2147483647, 2147483647 }, { 1 << 20, 1 << 20 },
	};

	begin();
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		EGLint size[] = { EGL_WIDTH, sizes[i][0], EGL_HEIGHT, sizes[i][1], EGL_NONE };
		EGLSurface made = eglCreatePbufferSurface(scene.display, scene.config, size);
		EGLint error = eglGetError();

		printf("  %d x %d: %d, %#x\n", sizes[i][0], sizes[i][1], !!made, error);
	}
	printf("  then %08x\n", scene_draw(&scene, 1));
}

static void compiles(const char *what, GLenum type, const char *source)
{
	GLuint shader = scene_shader(type, source);
	GLint compiled = -1, length = -1;

	glGetShaderiv(shader, GL_COMPILE_STATUS, &compiled);
	glGetShaderiv(shader, GL_INFO_LOG_LENGTH, &length);
	printf("  %s: %d, a log %d, %#x\n", what, compiled, length > 1, glGetError());
	glDeleteShader(shader);
}

static char *repeated(const char *piece, size_t times)
{
	size_t len = strlen(piece);
	char *all = malloc(len * times + 1);

	for (size_t i = 0; i < times; i++)
		memcpy(all + i * len, piece, len);
	all[len * times] = 0;
	return all;
}

/* Shaders that do not compile, and programs of them. */
static void shaders(void)
{
	char *opening = repeated("{", 2000), *comment = repeated("/* never ended ", 10000);
	char *words = repeated("\x80\xff\x01", 30000);
	const char *texts[] = { "void main(", ") { }" };
	const GLint lengths[] = { 10, -1 };
	GLuint program, shader;
	GLint linked = -1;

	begin();
	compiles("nothing", GL_VERTEX_SHADER, "");
	compiles("a word", GL_FRAGMENT_SHADER, "word");
	compiles("no main", GL_FRAGMENT_SHADER, "precision mediump float; float f() { return 1.0; }");
	compiles("open braces", GL_VERTEX_SHADER, opening);
	compiles("an open comment", GL_VERTEX_SHADER, comment);
	compiles("bytes", GL_FRAGMENT_SHADER, words);
	compiles("an unknown version", GL_VERTEX_SHADER, "#version 9999 es\nvoid main() {}");
	compiles("itself", GL_VERTEX_SHADER, "#define a a a\nvoid f() { f(); } void main() { f(); a }");
	program = scene_program(scene_vertex, "word");
	glGetProgramiv(program, GL_LINK_STATUS, &linked);
	printf("  linked: %d\n", linked);
	glUseProgram(program);
	gl("used");
	glUniform4f(7, 1, 2, 3, 4);
	gl("a uniform of none");
	glDrawArrays(GL_TRIANGLES, 0, 3);
	glUseProgram(123456);
	gl("no program");
	shader = glCreateShader(0x1234);
	printf("  an unknown kind: %u, %#x\n", shader, glGetError());
	shader = glCreateShader(GL_VERTEX_SHADER);
	glShaderSource(shader, -1, texts, lengths);
	gl("-1 texts");
	glShaderSource(shader, 2, texts, lengths);
	glCompileShader(shader);
	glGetShaderiv(shader, GL_COMPILE_STATUS, &linked);
	printf("  in two pieces: %d\n", linked);
	printf("  then %08x\n", scene_draw(&scene, 2));
}

/* Sizes that no texture and no buffer has. */
static void textures(void)
{
	static unsigned char little[64];
	GLuint texture, buffer;

	begin();
	glGenTextures(1, &texture);
	glBindTexture(GL_TEXTURE_2D, texture);
	glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, 1 << 20, 1 << 20, 0, GL_RGBA, GL_UNSIGNED_BYTE, NULL);
	gl("too large");
	glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, -1, 4, 0, GL_RGBA, GL_UNSIGNED_BYTE, little);
	gl("negative");
	glTexImage2D(GL_TEXTURE_2D, 99, GL_RGBA, 4, 4, 0, GL_RGBA, GL_UNSIGNED_BYTE, little);
	gl("level 99");
	glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, 4, 4, 0, GL_RGBA, GL_UNSIGNED_BYTE, little);
	glTexSubImage2D(GL_TEXTURE_2D, 0, 3, 3, 4, 4, GL_RGBA, GL_UNSIGNED_BYTE, little);
	gl("a part beyond");
	glTexStorage2D(GL_TEXTURE_2D, 40, GL_RGBA8, 4, 4);
	gl("40 levels");
	glGenBuffers(1, &buffer);
	glBindBuffer(GL_ARRAY_BUFFER, buffer);
	glBufferData(GL_ARRAY_BUFFER, -1, NULL, GL_STATIC_DRAW);
	gl("a buffer of -1");
	glBufferData(GL_ARRAY_BUFFER, 16, little, GL_STATIC_DRAW);
	glBufferSubData(GL_ARRAY_BUFFER, 8, 16, little);
	gl("bytes beyond");
	printf("  mapped: %p", glMapBufferRange(GL_ARRAY_BUFFER, 8, 16, GL_MAP_WRITE_BIT));
	printf(", %#x\n", glGetError());
	glCopyBufferSubData(GL_ARRAY_BUFFER, GL_ARRAY_BUFFER, 0, 12, 16);
	gl("copied beyond");
	glBindBuffer(GL_ARRAY_BUFFER, 0);
	glReadPixels(0, 0, -1, 4, GL_RGBA, GL_UNSIGNED_BYTE, little);
	gl("read negative");
	glViewport(0, 0, -1, 0);
	gl("a negative viewport");
	printf("  then %08x\n", scene_draw(&scene, 3));
}

/* Sizes and places by which a driver was seen to write over its own memory. */
static void absurd(void)
{
	static const GLenum whole = GL_RGBA8;
	static unsigned char little[64];
	GLuint names[2];

	begin();
	for (int size = 1 << 21; size > 0; size = size < 1 << 30 ? 2 * size : size == 1 << 30 ? 0x7fffffff : 0) {
		glGenTextures(2, names);
		glBindTexture(GL_TEXTURE_2D, names[0]);
		glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, size, 4, 0, GL_RGBA, GL_UNSIGNED_BYTE, NULL);
		glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, size, size, 0, GL_RGBA, GL_UNSIGNED_BYTE, NULL);
		glTexStorage2D(GL_TEXTURE_2D, 1, whole, 4, size);
		glBindTexture(GL_TEXTURE_3D, names[1]);
		glTexImage3D(GL_TEXTURE_3D, 0, GL_RGBA, 4, size, 4, 0, GL_RGBA, GL_UNSIGNED_BYTE, NULL);
		glTexStorage3D(GL_TEXTURE_3D, 1, whole, size, 4, size);
		glTexStorage2DMultisample(GL_TEXTURE_2D_MULTISAMPLE, 4, whole, size, 4, 1);
		glGenRenderbuffers(1, names);
		glBindRenderbuffer(GL_RENDERBUFFER, names[0]);
		glRenderbufferStorage(GL_RENDERBUFFER, whole, size, size);
		glRenderbufferStorageMultisample(GL_RENDERBUFFER, 4, whole, size, 4);
		printf("  %d: an error: %d\n", size, glGetError() == GL_INVALID_VALUE);
		while (glGetError())
			;
	}
	glGenTextures(1, names);
	glBindTexture(GL_TEXTURE_2D, names[0]);
	glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, 4, 4, 0, GL_RGBA, GL_UNSIGNED_BYTE, little);
	glTexSubImage2D(GL_TEXTURE_2D, 0, 2147483647, 0, 2, 2, GL_RGBA, GL_UNSIGNED_BYTE, little);
	printf("  a part far beyond: an error: %d\n", glGetError() == GL_INVALID_VALUE);
	glCopyTexSubImage2D(GL_TEXTURE_2D, 0, 2147483647, 0, 0, 0, 2, 2);
	printf("  a copy far beyond: an error: %d\n", glGetError() == GL_INVALID_VALUE);
	glGenTextures(2, names);
	for (int i = 0; i < 2; i++) {
		glBindTexture(GL_TEXTURE_2D, names[i]);
		glTexStorage2D(GL_TEXTURE_2D, 1, whole, 4, 4);
	}
	glCopyImageSubData(names[0], GL_TEXTURE_2D, 0, 2147483647, 0, 0, names[1], GL_TEXTURE_2D, 0, 0, 0, 0, 2, 2, 1);
	printf("  a copy of images far beyond: an error: %d\n", glGetError() == GL_INVALID_VALUE);
	glBindTexture(GL_TEXTURE_2D, 0);
	printf("  then %08x\n", scene_draw(&scene, 3));
}

/* Objects and names that are not there. */
static void objects(void)
{
	EGLint value = 0;

	begin();
	printf("  another display: %d", !!eglMakeCurrent((EGLDisplay)0x1234, scene.surface, scene.surface,
							 scene.context));
	printf(", %#x\n", eglGetError());
	printf("  another context: %d", !!eglMakeCurrent(scene.display, scene.surface, scene.surface,
							 (EGLContext)0x1230));
	printf(", %#x\n", eglGetError());
	printf("  a surface as context: %d", !!eglMakeCurrent(scene.display, scene.surface, scene.surface,
							      (EGLContext)scene.surface));
	printf(", %#x\n", eglGetError());
	printf("  a context as surface: %d", !!eglQuerySurface(scene.display, (EGLSurface)scene.context,
							       EGL_WIDTH, &value));
	printf(", %#x\n", eglGetError());
	printf("  destroyed while current: %d", !!eglDestroyContext(scene.display, scene.context));
	printf(", %d", !!eglDestroySurface(scene.display, scene.surface));
	printf(", %#x\n", eglGetError());
	printf("  it draws: %08x\n", scene_draw(&scene, 4));
	printf("  destroyed again: %d\n", !!eglDestroyContext(scene.display, scene.context));
	eglMakeCurrent(scene.display, NULL, NULL, NULL);
	printf("  gone: %d", !!eglMakeCurrent(scene.display, NULL, NULL, scene.context));
	printf(", %#x\n", eglGetError());
	glClear(GL_COLOR_BUFFER_BIT);
	printf("  no context: %u\n", glCreateShader(GL_VERTEX_SHADER));
}

/* Ranges beyond buffers and the program's memory. */
static void ranges(void)
{
	size_t page = sysconf(_SC_PAGESIZE);
	char *memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static const unsigned far_indices[] = { 0, 1, 0xffffff00u }, near_indices[] = { 0, 1, 2 };
	static const float corners[] = { -1, -1, 3, -1, -1, 3 };
	GLuint buffers[2], array;

	begin();
	munmap(memory + page, page);
	memcpy(memory + page - sizeof(corners), corners, sizeof(corners));
	glUseProgram(scene.program);
	glEnableVertexAttribArray(0);
	glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, memory + page - sizeof(corners));
	glDrawArrays(GL_TRIANGLES, 0, 3);
	gl("to the end of memory");
	glDrawArrays(GL_TRIANGLES, 0, 300000);
	printf("  beyond it, an error: %d\n", glGetError() != 0);
	glDrawArrays(GL_TRIANGLES, 2147483000, 600);
	printf("  far beyond it, an error: %d\n", glGetError() != 0);
	glDrawArrays(GL_TRIANGLES, -100000000, 3);
	printf("  before it, an error: %d\n", glGetError() != 0);
	glDrawElements(GL_TRIANGLES, 3, GL_UNSIGNED_INT, far_indices);
	printf("  by a large index, an error: %d\n", glGetError() != 0);
	glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 2147483647, corners);
	while (glGetError())
		;
	glGenBuffers(2, buffers);
	glBindBuffer(GL_ARRAY_BUFFER, buffers[0]);
	glBufferData(GL_ARRAY_BUFFER, sizeof(corners), corners, GL_STATIC_DRAW);
	glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, (void *)4);
	glDrawArrays(GL_TRIANGLES, 0, 30000);
	glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, (void *)(size_t)0x70000000);
	glDrawArrays(GL_TRIANGLES, 0, 3);
	glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, NULL);
	glBindBuffer(GL_ELEMENT_ARRAY_BUFFER, buffers[1]);
	glBufferData(GL_ELEMENT_ARRAY_BUFFER, sizeof(near_indices), near_indices, GL_STATIC_DRAW);
	glDrawElements(GL_TRIANGLES, 30000, GL_UNSIGNED_INT, NULL);
	glDrawElements(GL_TRIANGLES, 3, GL_UNSIGNED_INT, (void *)(size_t)0x70000000);
	glFinish();
	while (glGetError())
		;
	glGenVertexArrays(1, &array);
	glBindVertexArray(array);
	glEnableVertexAttribArray(0);
	glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, (void *)4096);
	glDeleteBuffers(1, buffers);
	glDrawArrays(GL_TRIANGLES, 0, 3);
	printf("  without a buffer, an error: %d\n", glGetError() != 0);
	glBindVertexArray(0);
	glBindBuffer(GL_ARRAY_BUFFER, 0);
	glBindBuffer(GL_ELEMENT_ARRAY_BUFFER, 0);
	glReadPixels(0, 0, SIDE, SIDE, GL_RGBA, GL_UNSIGNED_BYTE, memory + page - 16);
	printf("  a picture to nowhere, an error: %d\n", glGetError() != 0);
	glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, SIDE, SIDE, 0, GL_RGBA, GL_UNSIGNED_BYTE, memory + page - 16);
	printf("  a picture from nowhere, an error: %d\n", glGetError() != 0);
	printf("  then %08x\n", scene_draw(&scene, 5));
}

/* Indices that are nowhere end the program, as natively: it reads them itself. */
static void wild(void)
{
	size_t page = sysconf(_SC_PAGESIZE);
	char *memory = mmap(NULL, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	begin();
	munmap(memory, page);
	glUseProgram(scene.program);
	glEnableVertexAttribArray(0);
	glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, scene_vertex);
	glDrawElements(GL_TRIANGLES, 3, GL_UNSIGNED_INT, memory);
	glFinish();
	exit(glGetError() ? 3 : 4);
}

static void *draws_and_ends(void *unused)
{
	(void)unused;
	eglMakeCurrent(scene.display, scene.surface, scene.surface, scene.context);
	printf("  in a thread %08x\n", scene_draw(&scene, 6));
	return NULL;
}

/* A thread ends with a current context; others can have it then. */
static void thread_ends(void)
{
	pthread_t thread;

	begin();
	eglMakeCurrent(scene.display, NULL, NULL, NULL);
	for (int i = 0; i < 3; i++) {
		pthread_create(&thread, NULL, draws_and_ends, NULL);
		pthread_join(thread, NULL);
	}
	printf("  here: %d", !!eglMakeCurrent(scene.display, scene.surface, scene.surface, scene.context));
	printf(", %08x\n", scene_draw(&scene, 6));
}

/* A child of a process with a current context cannot use it, its parent goes on. */
static void forks(void)
{
	int status = -1;
	pid_t child;

	begin();
	fflush(stdout);
	child = fork();
	if (!child) {
		GLenum error;

		glClear(GL_COLOR_BUFFER_BIT);
		glFinish();
		error = glGetError();
		printf("  in the child: %d", error != 0);
		printf(", %d\n", !!eglMakeCurrent(scene.display, NULL, NULL, NULL));
		exit(7);
	}
	waitpid(child, &status, 0);
	printf("  the child: %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
	printf("  its parent %08x, %#x\n", scene_draw(&scene, 7), glGetError());
}

static volatile int over;

static void *draws_on(void *ready)
{
	eglMakeCurrent(scene.display, scene.surface, scene.surface, scene.context);
	for (int i = 0; !over && i < 100000; i++) {
		scene_draw(&scene, i);
		if (i == 2)
			pthread_barrier_wait(ready);
	}
	eglMakeCurrent(scene.display, NULL, NULL, NULL);
	return NULL;
}

/* A display is terminated while another thread draws. */
static void terminates(void)
{
	pthread_barrier_t ready;
	pthread_t thread;
	EGLint major = 0;

	begin();
	eglMakeCurrent(scene.display, NULL, NULL, NULL);
	pthread_barrier_init(&ready, NULL, 2);
	pthread_create(&thread, NULL, draws_on, &ready);
	pthread_barrier_wait(&ready);
	printf("  terminated: %d\n", !!eglTerminate(scene.display));
	for (int i = 0; i < 1000; i++)
		sched_yield();
	over = 1;
	pthread_join(thread, NULL);
	printf("  not initialized: %d", !!eglCreateContext(scene.display, scene.config, NULL, third));
	printf(", %#x\n", eglGetError());
	printf("  again: %d, %d\n", !!eglInitialize(scene.display, &major, NULL), major);
	begin();
	printf("  then %08x\n", scene_draw(&scene, 8));
}

/* More pictures than the board gives one program. */
static void fills(void)
{
	enum { WIDE = 4096, MOST = 64 };
	GLuint textures[MOST];
	GLenum error = 0;
	int made;

	begin();
	glGenTextures(MOST, textures);
	for (made = 0; made < MOST && !error; made++) {
		glBindTexture(GL_TEXTURE_2D, textures[made]);
		glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, WIDE, WIDE, 0, GL_RGBA, GL_UNSIGNED_BYTE, NULL);
		error = glGetError();
	}
	printf("  all: %d, %#x\n", made == MOST, error);
	glDeleteTextures(MOST, textures);
	glFinish();
	while (glGetError())
		;
	glBindTexture(GL_TEXTURE_2D, 0);
	printf("  then %08x\n", scene_draw(&scene, 9));
}

/* A shader that never ends, on as many pixels as take hours where the driver leaves
 * loops in the end. */
static void endless(void)
{
	enum { WIDE = 4096 };
	GLuint framebuffer, renderbuffer;

	begin();
	scene.program = scene_program(scene_vertex,
				      "precision highp float; uniform float turn; varying vec2 at;"
				      "void main() { float x = 1.0;"
				      "while (turn < 2.0) { x = sin(x + at.x); }"
				      "gl_FragColor = vec4(x); }");
	scene.turn = glGetUniformLocation(scene.program, "turn");
	glGenFramebuffers(1, &framebuffer);
	glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);
	glGenRenderbuffers(1, &renderbuffer);
	glBindRenderbuffer(GL_RENDERBUFFER, renderbuffer);
	glRenderbufferStorage(GL_RENDERBUFFER, GL_RGBA8, WIDE, WIDE);
	glFramebufferRenderbuffer(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_RENDERBUFFER, renderbuffer);
	glViewport(0, 0, WIDE, WIDE);
	printf("  endless, %#x\n", glGetError());
	scene_draw(&scene, 1);
	printf("  an error: %d\n", glGetError() != 0);
}

/* Contexts until there are no more, each current once. */
static void contexts(void)
{
	enum { MOST = 20000 };
	static EGLContext made[MOST];
	EGLint error;
	int count = 0, is_current = 1;

	begin();
	printf("  first %08x, %#x\n", scene_draw(&scene, 1), glGetError());
	while (count < MOST && (made[count] = eglCreateContext(scene.display, scene.config, NULL, third)))
		is_current &= eglMakeCurrent(scene.display, scene.surface, scene.surface, made[count++]);
	error = eglGetError();
	printf("  many: %d, current %d, %#x\n", count > 10 && count < MOST, is_current, error);
	fprintf(stderr, "%d contexts\n", count);
	eglMakeCurrent(scene.display, scene.surface, scene.surface, scene.context);
	printf("  then %08x, %#x\n", scene_draw(&scene, 2), glGetError());
	for (int i = 0; i < count; i++)
		eglDestroyContext(scene.display, made[i]);
	made[0] = eglCreateContext(scene.display, scene.config, NULL, third);
	printf("  one more: %d, %#x\n", !!made[0], eglGetError());
	printf("  then %08x, %#x\n", scene_draw(&scene, 3), glGetError());
}

/* Draws until the context is lost. */
static void lost(void)
{
	EGLint robust[] = { EGL_CONTEXT_CLIENT_VERSION, 3, 0x30bf, 1, 0x3138, 0x31bf, EGL_NONE };
	GLenum (*status)(void) = (GLenum(*)(void))eglGetProcAddress("glGetGraphicsResetStatusEXT");
	GLenum reset = 0;
	int drawn = 1;

	scene = scene_begin(robust);
	printf("  begun\n");
	for (int i = 0; drawn && i < 1000000; i++) {
		scene_draw(&scene, i);
		drawn = eglSwapBuffers(scene.display, scene.surface);
	}
	printf("  lost: %#x", eglGetError());
	reset = status ? status() : 0;
	printf(", %#x, reset %#x\n", glGetError(), reset);
	printf("  another: %d", !!eglCreateContext(scene.display, scene.config, NULL, third));
	printf(", %#x\n", eglGetError());
	printf("  current: %d", !!eglMakeCurrent(scene.display, NULL, NULL, NULL));
	printf(", terminated: %d\n", !!eglTerminate(scene.display));
}

static void draws(void)
{
	begin();
	for (int i = 0; i < 4; i++)
		printf("  %08x, %#x\n", scene_draw(&scene, i), glGetError());
}

struct fault {
	const char *list, *name;
	void (*run)(void);
};

static const struct fault faults[] = {
	{ "same", "surfaces", surfaces },   { "same", "shaders", shaders },
	{ "same", "textures", textures },   { "same", "objects", objects },
	{ "checked", "ranges", ranges },    { "checked", "a thread ends", thread_ends },
	{ "checked", "absurd", absurd },    { "checked", "a fork", forks },	    { "checked", "terminated", terminates },
	{ "wild", "wild", wild },	    { "full", "too much", fills },	    { "endless", "endless", endless },
	{ "crowded", "contexts", contexts }, { "lost", "lost", lost },	    { "draws", "draws", draws },
};

int main(int argc, char **argv)
{
	const char *list = argc > 1 ? argv[1] : "same";

	setbuf(stdout, NULL);
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		int is_last = i + 1 == sizeof(faults) / sizeof(faults[0]), status = -1;
		pid_t child;

		if (strcmp(list, faults[i].list) && strcmp(list, faults[i].name) && !is_last)
			continue;
		printf("%s\n", faults[i].name);
		child = fork();
		if (!child) {
			faults[i].run();
			exit(0);
		}
		waitpid(child, &status, 0);
		if (status)
			printf("  ended by %s %d\n", WIFSIGNALED(status) ? "signal" : "code",
			       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	}
	return 0;
}
