/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Pictures that are read and sent in unusual ways: areas beyond the framebuffer, reads that
 * fail, rows that lie over each other; waits for what is no sync object; names without room.
 * It prints the same wherever the same driver draws. */
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GLES3/gl32.h>
#include <GLES2/gl2ext.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 24, BYTES = 4096 };

static unsigned char memory[BYTES];

static void error(const char *what)
{
	printf("%s: %#x\n", what, glGetError());
}

/* A sum of the memory, and how many of its bytes are as `prepare` left them. */
static void show(const char *what)
{
	uint64_t sum = 14695981039346656037u;
	unsigned left = 0;

	for (size_t i = 0; i < BYTES; i++) {
		sum = (sum ^ memory[i]) * 1099511628211u;
		left += memory[i] == (unsigned char)(i * 7 + 3);
	}
	printf("%s: %016llx, %u bytes left, error %#x\n", what, (unsigned long long)sum, left, glGetError());
}

static void prepare(void)
{
	for (size_t i = 0; i < BYTES; i++)
		memory[i] = i * 7 + 3;
}

static void begin(void)
{
	static const EGLint wanted[] = { EGL_SURFACE_TYPE, EGL_PBUFFER_BIT, EGL_RENDERABLE_TYPE, EGL_OPENGL_ES3_BIT,
					 EGL_RED_SIZE, 8, EGL_GREEN_SIZE, 8, EGL_BLUE_SIZE, 8, EGL_ALPHA_SIZE, 8,
					 EGL_NONE };
	static const EGLint size[] = { EGL_WIDTH, SIZE, EGL_HEIGHT, SIZE, EGL_NONE };
	static const EGLint version[] = { EGL_CONTEXT_MAJOR_VERSION, 3, EGL_NONE };
	EGLDisplay display = eglGetPlatformDisplay(EGL_PLATFORM_SURFACELESS_MESA, NULL, NULL);
	EGLint count = 0;
	EGLContext context;
	EGLSurface surface;
	EGLConfig config;

	if (!eglInitialize(display, NULL, NULL) || !eglChooseConfig(display, wanted, &config, 1, &count) || !count) {
		printf("no display: %#x\n", eglGetError());
		exit(1);
	}
	context = eglCreateContext(display, config, EGL_NO_CONTEXT, version);
	surface = eglCreatePbufferSurface(display, config, size);
	if (!eglMakeCurrent(display, surface, surface, context)) {
		printf("not current: %#x\n", eglGetError());
		exit(1);
	}
	/* Every pixel is another, and some are what gil's board marks memory with. */
	glEnable(GL_SCISSOR_TEST);
	for (int y = 0; y < SIZE; y++)
		for (int x = 0; x < SIZE; x++) {
			glScissor(x, y, 1, 1);
			glClearColor(x / 255.0f, y / 255.0f, (x * y) / 255.0f, (x & 1 ? 0x55 : 0xAA) / 255.0f);
			glClear(GL_COLOR_BUFFER_BIT);
		}
	glScissor(0, 0, 4, 4);
	glClearColor(0x55 / 255.0f, 0x55 / 255.0f, 0x55 / 255.0f, 0x55 / 255.0f);
	glClear(GL_COLOR_BUFFER_BIT);
	glScissor(SIZE - 4, SIZE - 4, 4, 4);
	glClearColor(0xAA / 255.0f, 0xAA / 255.0f, 0xAA / 255.0f, 0xAA / 255.0f);
	glClear(GL_COLOR_BUFFER_BIT);
	glDisable(GL_SCISSOR_TEST);
}

static void read_at(const char *what, int x, int y, int width, int height)
{
	prepare();
	glReadPixels(x, y, width, height, GL_RGBA, GL_UNSIGNED_BYTE, memory);
	show(what);
}

/* What is beyond the framebuffer is left alone. */
static void beyond(void)
{
	read_at("all", 0, 0, SIZE, SIZE);
	read_at("left of it", -3, 2, 8, 5);
	read_at("below it", 2, -5, 8, 9);
	read_at("right of it", SIZE - 3, 2, 8, 5);
	read_at("above it", 1, SIZE - 2, 8, 5);
	read_at("on all sides", -2, -1, SIZE + 5, SIZE + 4);
	read_at("a corner", SIZE - 1, SIZE - 1, 2, 2);
	read_at("the lower corner", -1, -1, 2, 2);
	read_at("all of it beyond", SIZE, 0, 4, 4);
	read_at("far beyond", 1 << 20, -(1 << 20), 4, 4);
	read_at("one pixel beyond", -1, 3, 1, 1);
	read_at("a row", -1, 3, SIZE + 2, 1);
	read_at("a column", 3, -2, 1, SIZE + 2);
	glPixelStorei(GL_PACK_ROW_LENGTH, 31);
	glPixelStorei(GL_PACK_SKIP_PIXELS, 3);
	glPixelStorei(GL_PACK_SKIP_ROWS, 2);
	glPixelStorei(GL_PACK_ALIGNMENT, 8);
	read_at("in a part of the memory", -2, -1, SIZE + 4, 6);
	read_at("a part of the framebuffer", 1, 1, 4, 6);
	glPixelStorei(GL_PACK_ROW_LENGTH, 0);
	glPixelStorei(GL_PACK_SKIP_PIXELS, 0);
	glPixelStorei(GL_PACK_SKIP_ROWS, 0);
	glPixelStorei(GL_PACK_ALIGNMENT, 4);
}

/* Reads that fail write nothing. */
static void refused(void)
{
	GLuint framebuffer;

	prepare();
	glReadPixels(0, 0, 4, 4, GL_RGBA, GL_UNSIGNED_SHORT_5_6_5, memory);
	show("a type of another format");
	glReadPixels(0, 0, 4, 4, GL_RGBA_INTEGER, GL_INT, memory);
	show("integers");
	glReadPixels(0, 0, 4, 4, 0x1234, GL_UNSIGNED_BYTE, memory);
	show("no format");
	glReadPixels(0, 0, -4, 4, GL_RGBA, GL_UNSIGNED_BYTE, memory);
	show("a width below zero");
	glReadPixels(0, 0, 0, 4, GL_RGBA, GL_UNSIGNED_BYTE, memory);
	show("no width");
	glGenFramebuffers(1, &framebuffer);
	glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);
	glReadPixels(0, 0, 4, 4, GL_RGBA, GL_UNSIGNED_BYTE, memory);
	show("a framebuffer without anything");
	glReadPixels(0, 0, 32, 32, GL_RGBA, GL_UNSIGNED_BYTE, memory);
	show("more of it");
	glBindFramebuffer(GL_FRAMEBUFFER, 0);
	glDeleteFramebuffers(1, &framebuffer);
	glEnable(0x1234);
	glReadPixels(0, 0, 4, 4, 0x1234, GL_UNSIGNED_BYTE, memory);
	error("the first error stays");
}

/* Rows that are nearer than a row is long: the later one's pixels stay. */
static void over(void)
{
	for (int length = 1; length < 6; length += 2) {
		char what[40];

		glPixelStorei(GL_PACK_ROW_LENGTH, length);
		snprintf(what, sizeof(what), "read %d apart", length);
		read_at(what, 0, 0, 8, 6);
		snprintf(what, sizeof(what), "read %d apart, beyond", length);
		read_at(what, -3, -2, 12, 12);
		snprintf(what, sizeof(what), "read %d apart, at the other end", length);
		read_at(what, SIZE - 4, SIZE - 4, 12, 12);
	}
	glPixelStorei(GL_PACK_SKIP_PIXELS, 5);
	glPixelStorei(GL_PACK_SKIP_ROWS, 7);
	read_at("read over each other in a part", 3, 2, 16, 16);
	prepare();
	glReadPixels(0, 0, 8, 8, 0x1234, GL_UNSIGNED_BYTE, memory);
	show("no format");
	glPixelStorei(GL_PACK_SKIP_PIXELS, 0);
	glPixelStorei(GL_PACK_SKIP_ROWS, 0);
	glPixelStorei(GL_PACK_ROW_LENGTH, 0);
}

static void of_texture(const char *what, GLuint texture, int layer)
{
	GLuint framebuffer;

	glGenFramebuffers(1, &framebuffer);
	glBindFramebuffer(GL_READ_FRAMEBUFFER, framebuffer);
	if (layer < 0)
		glFramebufferTexture2D(GL_READ_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, texture, 0);
	else
		glFramebufferTextureLayer(GL_READ_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, texture, 0, layer);
	read_at(what, 0, 0, 16, 16);
	glBindFramebuffer(GL_READ_FRAMEBUFFER, 0);
	glDeleteFramebuffers(1, &framebuffer);
}

/* Pictures whose rows and slices lie over each other. */
static void sent(void)
{
	GLuint textures[2];

	glGenTextures(2, textures);
	glBindTexture(GL_TEXTURE_2D, textures[0]);
	prepare();
	glPixelStorei(GL_UNPACK_ROW_LENGTH, 3);
	glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, 16, 16, 0, GL_RGBA, GL_UNSIGNED_BYTE, memory);
	error("rows 3 apart");
	of_texture("of them", textures[0], -1);
	prepare();
	glPixelStorei(GL_UNPACK_ROW_LENGTH, 1);
	glPixelStorei(GL_UNPACK_SKIP_PIXELS, 2);
	glTexSubImage2D(GL_TEXTURE_2D, 0, 2, 3, 7, 9, GL_RGBA, GL_UNSIGNED_BYTE, memory);
	error("a part of it");
	of_texture("of that", textures[0], -1);
	prepare();
	glPixelStorei(GL_UNPACK_SKIP_PIXELS, 0);
	glPixelStorei(GL_UNPACK_ROW_LENGTH, 0);
	glPixelStorei(GL_UNPACK_IMAGE_HEIGHT, 2);
	glBindTexture(GL_TEXTURE_2D_ARRAY, textures[1]);
	glTexImage3D(GL_TEXTURE_2D_ARRAY, 0, GL_RGBA, 8, 8, 3, 0, GL_RGBA, GL_UNSIGNED_BYTE, memory);
	error("slices 2 rows apart");
	for (int layer = 0; layer < 3; layer++)
		of_texture("of a slice", textures[1], layer);
	prepare();
	glPixelStorei(GL_UNPACK_ROW_LENGTH, 5);
	glTexSubImage3D(GL_TEXTURE_2D_ARRAY, 0, 0, 0, 0, 8, 8, 3, GL_RGBA, GL_UNSIGNED_BYTE, memory);
	error("and rows 5 apart");
	of_texture("of the last", textures[1], 2);
	glPixelStorei(GL_UNPACK_ROW_LENGTH, 0);
	glPixelStorei(GL_UNPACK_IMAGE_HEIGHT, 0);
	glDeleteTextures(2, textures);
}

/* Waits for what is no sync object, and with what is no wait. */
static void waits(void)
{
	GLsync sync = glFenceSync(GL_SYNC_GPU_COMMANDS_COMPLETE, 0);

	printf("flags that are none: %#x", glClientWaitSync(sync, 0x1234, 0));
	error("");
	glWaitSync(sync, 1, GL_TIMEOUT_IGNORED);
	error("flags that are none, for the server");
	glWaitSync(sync, 0, 5);
	error("a timeout for the server");
	printf("a wait: %d", glClientWaitSync(sync, GL_SYNC_FLUSH_COMMANDS_BIT, 1000000000) != GL_WAIT_FAILED);
	error("");
	glDeleteSync(sync);
	printf("a deleted one: %#x", glClientWaitSync(sync, 0, 0));
	error("");
	printf("none: %#x", glClientWaitSync(NULL, 0, 1));
	error("");
	glWaitSync(sync, 0, GL_TIMEOUT_IGNORED);
	error("a deleted one, for the server");
	glWaitSync(NULL, 0, GL_TIMEOUT_IGNORED);
	error("none, for the server");
	glDeleteSync(sync);
	error("deleted again");
}

static GLuint shader(GLenum kind, const char *text)
{
	GLuint made = glCreateShader(kind);

	glShaderSource(made, 1, &text, NULL);
	glCompileShader(made);
	return made;
}

static void name_of(GLuint made, int kind, GLsizei room, GLsizei *length, GLint *size, GLenum *type, char *name)
{
	/* Less than no room: no place for a name. */
	GLsizei bytes = room < 0 ? 0 : room;

	if (kind == 0)
		glGetActiveUniform(made, 0, bytes, length, size, type, name);
	else if (kind == 1)
		glGetActiveAttrib(made, 0, bytes, length, size, type, name);
	else
		glGetTransformFeedbackVarying(made, 0, bytes, length, size, type, name);
}

/* Names that there is no room for, or a little. */
static void names(void)
{
	static const char *varying = "through";
	GLuint made = glCreateProgram();

	glAttachShader(made, shader(GL_VERTEX_SHADER, "#version 300 es\nin vec4 place; out vec4 through;"
						      "void main() { gl_Position = through = place; }"));
	glAttachShader(made, shader(GL_FRAGMENT_SHADER,
				    "#version 300 es\nprecision mediump float; in vec4 through; uniform vec4 colour;"
				    "out vec4 result; void main() { result = colour + through; }"));
	glTransformFeedbackVaryings(made, 1, &varying, GL_SEPARATE_ATTRIBS);
	glLinkProgram(made);
	for (int room = -1; room < 4; room++)
		for (int has_length = 0; has_length < 2; has_length++)
			for (int kind = 0; kind < 3; kind++) {
				char name[8] = "xxxxxxx";
				GLsizei length = -7;
				GLint size = -7;
				GLenum type = 7;

				name_of(made, kind, room, has_length ? &length : NULL, &size, &type,
					room < 0 ? NULL : name);
				printf("room for %d of %d: %.7s %d %d %#x", room, kind, name[0] ? name : "\"\"", length,
				       size, type);
				error("");
			}
	for (int room = -1; room < 4; room++) {
		char name[8] = "xxxxxxx";
		GLsizei length = -7;

		glGetShaderSource(made + 1, room, &length, name);
		printf("room for %d of a source: %.7s %d", room, name, length);
		error("");
		glGetProgramInfoLog(made, room, &length, name);
		printf("room for %d of a log: %.7s %d", room, name, length);
		error("");
		glGetAttachedShaders(made, room, &length, (GLuint[4]){ 0 });
		printf("room for %d shaders: %d", room, length);
		error("");
	}
	glDeleteProgram(made);
}

int main(void)
{
	begin();
	beyond();
	refused();
	over();
	sent();
	waits();
	names();
	error("all");
	return 0;
}
