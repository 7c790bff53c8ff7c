/* What programs rarely look at, and the Khronos conformance tests do: primitives that
 * restart in arrays of the program's memory, what may be done while a buffer is mapped,
 * memory that a query leaves alone, messages that come before a call returns, lists whose
 * names are wrong, windows where there are none, room for less than nothing. It prints the
 * same wherever the same driver draws. */
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GLES3/gl32.h>
#include <GLES2/gl2ext.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 32 };

static void error(const char *what)
{
	printf("%s: %#x\n", what, glGetError());
}

static void picture(const char *what)
{
	static unsigned char pixels[SIZE * SIZE * 4];
	uint64_t sum = 14695981039346656037u;
	unsigned filled = 0;

	memset(pixels, 0, sizeof(pixels));
	glReadPixels(0, 0, SIZE, SIZE, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
	for (size_t i = 0; i < sizeof(pixels); i++)
		sum = (sum ^ pixels[i]) * 1099511628211u;
	for (size_t i = 0; i < sizeof(pixels); i += 4)
		filled += pixels[i] != 0;
	printf("%s: %016llx, %u pixels, error %#x\n", what, (unsigned long long)sum, filled, glGetError());
}

static EGLDisplay display;
static EGLConfig config;

static void begin(void)
{
	static const EGLint wanted[] = { EGL_SURFACE_TYPE, EGL_PBUFFER_BIT, EGL_RENDERABLE_TYPE, EGL_OPENGL_ES3_BIT,
					 EGL_RED_SIZE, 8, EGL_GREEN_SIZE, 8, EGL_BLUE_SIZE, 8, EGL_ALPHA_SIZE, 8,
					 EGL_NONE };
	static const EGLint size[] = { EGL_WIDTH, SIZE, EGL_HEIGHT, SIZE, EGL_NONE };
	static const EGLint version[] = { EGL_CONTEXT_MAJOR_VERSION, 3, EGL_CONTEXT_MINOR_VERSION, 2,
					  EGL_CONTEXT_OPENGL_DEBUG, EGL_TRUE, EGL_NONE };
	EGLint count = 0;
	EGLContext context;
	EGLSurface surface;

	display = eglGetPlatformDisplay(EGL_PLATFORM_SURFACELESS_MESA, NULL, NULL);
	if (!eglInitialize(display, NULL, NULL) || !eglChooseConfig(display, wanted, &config, 1, &count) || !count) {
		printf("no display: %#x\n", eglGetError());
		exit(1);
	}
	eglBindAPI(EGL_OPENGL_ES_API);
	context = eglCreateContext(display, config, EGL_NO_CONTEXT, version);
	surface = eglCreatePbufferSurface(display, config, size);
	if (!eglMakeCurrent(display, surface, surface, context)) {
		printf("not current: %#x\n", eglGetError());
		exit(1);
	}
	glViewport(0, 0, SIZE, SIZE);
}

static GLuint shader(GLenum kind, const char *text)
{
	GLuint made = glCreateShader(kind);

	glShaderSource(made, 1, &text, NULL);
	glCompileShader(made);
	return made;
}

static GLuint program(void)
{
	GLuint made = glCreateProgram();

	glAttachShader(made, shader(GL_VERTEX_SHADER,
				    "#version 310 es\nlayout(location=0) in vec2 place;"
				    "void main() { gl_Position = vec4(place, 0.0, 1.0); }"));
	glAttachShader(made, shader(GL_FRAGMENT_SHADER,
				    "#version 310 es\nprecision mediump float; uniform vec4 colour_of_all;"
				    "out vec4 result; void main() { result = colour_of_all + vec4(0.5); }"));
	glLinkProgram(made);
	glUseProgram(made);
	return made;
}

/* Two strips of triangles: the largest index of each type parts them. The array ends with
 * the eighth vertex: nothing behind it may be read. */
static void restarts(void)
{
	static const float places[] = { -1, -1, -1, 0, -0.25f, -1, -0.25f, 0, 0.25f, 0, 0.25f, 1, 1, 0, 1, 1 };
	static const uint8_t bytes[] = { 0, 1, 2, 3, 0xff, 4, 5, 6, 7 };
	static const uint16_t shorts[] = { 0, 1, 2, 3, 0xffff, 4, 5, 6, 7 };
	static const uint32_t words[] = { 0, 1, 2, 3, 0xffffffff, 4, 5, 6, 7 };
	static const uint8_t none[] = { 0xff, 0xff, 0xff };
	float *own = malloc(sizeof(places));
	GLuint buffer;

	memcpy(own, places, sizeof(places));
	glEnable(GL_PRIMITIVE_RESTART_FIXED_INDEX);
	glEnableVertexAttribArray(0);
	glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, own);
	glClear(GL_COLOR_BUFFER_BIT);
	glDrawElements(GL_TRIANGLE_STRIP, 9, GL_UNSIGNED_BYTE, bytes);
	picture("restart at 8 bits");
	glClear(GL_COLOR_BUFFER_BIT);
	glDrawElements(GL_TRIANGLE_STRIP, 9, GL_UNSIGNED_SHORT, shorts);
	picture("restart at 16 bits");
	glClear(GL_COLOR_BUFFER_BIT);
	glDrawElementsInstanced(GL_TRIANGLE_STRIP, 9, GL_UNSIGNED_INT, words, 2);
	picture("restart at 32 bits");
	glGenBuffers(1, &buffer);
	glBindBuffer(GL_ELEMENT_ARRAY_BUFFER, buffer);
	glBufferData(GL_ELEMENT_ARRAY_BUFFER, sizeof(shorts), shorts, GL_STATIC_DRAW);
	glClear(GL_COLOR_BUFFER_BIT);
	glDrawElements(GL_TRIANGLE_STRIP, 9, GL_UNSIGNED_SHORT, NULL);
	picture("restart in a buffer");
	glBindBuffer(GL_ELEMENT_ARRAY_BUFFER, 0);
	glClear(GL_COLOR_BUFFER_BIT);
	glDrawElements(GL_TRIANGLES, 3, GL_UNSIGNED_BYTE, none);
	picture("nothing but restarts");
	glDisable(GL_PRIMITIVE_RESTART_FIXED_INDEX);
	printf("restarts: %d\n", glIsEnabled(GL_PRIMITIVE_RESTART_FIXED_INDEX));
	glDeleteBuffers(1, &buffer);
	glDisableVertexAttribArray(0);
	free(own);
}

/* Several draws in one call, each with a base of its own: indices that the program has in its
 * memory, and in a buffer. */
static void several(void)
{
	static const float places[] = { -1, -1, -1, 0, -0.25f, -1, -0.25f, 0, 0.25f, 0, 0.25f, 1, 1, 0, 1, 1 };
	static const uint16_t shorts[] = { 0, 1, 2, 3 };
	static const GLsizei counts[] = { 4, 3 };
	static const GLint bases[] = { 4, 0 };
	const void *own[] = { shorts, shorts }, *in_buffer[] = { NULL, NULL };
	PFNGLMULTIDRAWELEMENTSBASEVERTEXEXTPROC draw =
		(void *)eglGetProcAddress("glMultiDrawElementsBaseVertexEXT");
	const char *extensions = (const char *)glGetString(GL_EXTENSIONS);
	GLuint buffers[2];

	if (!strstr(extensions, "GL_EXT_multi_draw_arrays") ||
	    !strstr(extensions, "draw_elements_base_vertex")) {
		puts("no draws with several bases");
		return;
	}
	glEnableVertexAttribArray(0);
	glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, places);
	glClear(GL_COLOR_BUFFER_BIT);
	draw(GL_TRIANGLE_STRIP, counts, GL_UNSIGNED_SHORT, own, 2, bases);
	picture("two bases");
	glGenBuffers(2, buffers);
	glBindBuffer(GL_ARRAY_BUFFER, buffers[0]);
	glBufferData(GL_ARRAY_BUFFER, sizeof(places), places, GL_STATIC_DRAW);
	glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, NULL);
	glBindBuffer(GL_ELEMENT_ARRAY_BUFFER, buffers[1]);
	glBufferData(GL_ELEMENT_ARRAY_BUFFER, sizeof(shorts), shorts, GL_STATIC_DRAW);
	glClear(GL_COLOR_BUFFER_BIT);
	draw(GL_TRIANGLE_STRIP, counts, GL_UNSIGNED_SHORT, in_buffer, 2, bases);
	picture("two bases, in buffers");
	draw(GL_TRIANGLE_STRIP, counts, GL_UNSIGNED_SHORT, in_buffer, -1, bases);
	error("fewer draws than none");
	glVertexAttribIPointer(0, 2, GL_FLOAT, 0, places);
	error("an array of integers that are none");
	glClear(GL_COLOR_BUFFER_BIT);
	glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
	picture("the array from before");
	glDeleteBuffers(2, buffers);
	glDisableVertexAttribArray(0);
}

/* What a mapped buffer forbids, and what ends that. */
static void mapped(void)
{
	static const unsigned char pixels[64] = { 1, 2, 3 };
	GLuint buffer[2], texture;
	GLint state = -1, length = -1;
	void *place = NULL;
	unsigned char *bytes;

	glGenBuffers(2, buffer);
	glBindBuffer(GL_ARRAY_BUFFER, buffer[0]);
	glBufferData(GL_ARRAY_BUFFER, sizeof(pixels), pixels, GL_DYNAMIC_DRAW);
	glBindBuffer(GL_PIXEL_UNPACK_BUFFER, buffer[0]);
	glBindBuffer(GL_COPY_WRITE_BUFFER, buffer[1]);
	glBufferData(GL_COPY_WRITE_BUFFER, sizeof(pixels), NULL, GL_DYNAMIC_DRAW);
	glGenTextures(1, &texture);
	glBindTexture(GL_TEXTURE_2D, texture);
	bytes = glMapBufferRange(GL_ARRAY_BUFFER, 0, 32, GL_MAP_WRITE_BIT);
	error("mapped");
	printf("what it had: %u %u %u\n", bytes[0], bytes[1], bytes[2]);
	bytes[1] = 77;
	glBufferSubData(GL_ARRAY_BUFFER, 0, 4, pixels);
	error("written while mapped");
	glCopyBufferSubData(GL_ARRAY_BUFFER, GL_COPY_WRITE_BUFFER, 0, 0, 16);
	error("copied while mapped");
	glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, 2, 2, 0, GL_RGBA, GL_UNSIGNED_BYTE, NULL);
	error("a picture of it while mapped");
	printf("mapped again: %d", glMapBufferRange(GL_ARRAY_BUFFER, 0, 4, GL_MAP_READ_BIT) != NULL);
	error("");
	glFlushMappedBufferRange(GL_ARRAY_BUFFER, 0, 8);
	error("flushed, though not mapped for that");
	glGetBufferParameteriv(GL_ARRAY_BUFFER, GL_BUFFER_MAP_LENGTH, &length);
	printf("unmapped: %d, of %d bytes\n", glUnmapBuffer(GL_ARRAY_BUFFER), length);
	printf("unmapped again: %d", glUnmapBuffer(GL_ARRAY_BUFFER));
	error("");
	glCopyBufferSubData(GL_ARRAY_BUFFER, GL_COPY_WRITE_BUFFER, 0, 0, 16);
	bytes = glMapBufferRange(GL_COPY_WRITE_BUFFER, 0, 16, GL_MAP_READ_BIT);
	printf("a copy: %u %u %u\n", bytes[0], bytes[1], bytes[2]);
	glBufferData(GL_COPY_WRITE_BUFFER, 8, pixels, GL_DYNAMIC_DRAW);
	glGetBufferParameteriv(GL_COPY_WRITE_BUFFER, GL_BUFFER_MAPPED, &state);
	glGetBufferPointerv(GL_COPY_WRITE_BUFFER, GL_BUFFER_MAP_POINTER, &place);
	printf("with new contents: mapped %d, at %d\n", state, place != NULL);
	bytes = glMapBufferRange(GL_ARRAY_BUFFER, 8, 16, GL_MAP_WRITE_BIT | GL_MAP_FLUSH_EXPLICIT_BIT);
	bytes[4] = 99;
	glFlushMappedBufferRange(GL_ARRAY_BUFFER, 4, 4);
	error("flushed");
	glFlushMappedBufferRange(GL_ARRAY_BUFFER, 12, 8);
	error("flushed beyond its end");
	glFlushMappedBufferRange(GL_ARRAY_BUFFER, -1, 1);
	error("flushed before its begin");
	glUnmapBuffer(GL_ARRAY_BUFFER);
	bytes = glMapBufferRange(GL_ARRAY_BUFFER, 0, 16, GL_MAP_READ_BIT);
	printf("then: %u %u\n", bytes[1], bytes[12]);
	glGetBufferPointerv(GL_TEXTURE_2D, GL_BUFFER_MAP_POINTER, &place);
	error("no target");
	glGetBufferPointerv(GL_UNIFORM_BUFFER, GL_BUFFER_MAP_POINTER, &place);
	error("no buffer");
	glDeleteBuffers(2, buffer);
	glDeleteTextures(1, &texture);
	error("deleted while mapped");
}

static void show(const char *what, const char *text, size_t size)
{
	printf("%s:", what);
	for (size_t i = 0; i < size; i++)
		printf(text[i] ? " %c" : " 0", text[i]);
	printf("\n");
}

/* Queries write as much as there is, and nothing behind it. */
static void left_alone(GLuint made)
{
	static const GLenum one[] = { GL_ARRAY_SIZE };
	static const GLenum none[] = { GL_ARRAY_SIZE, GL_ARRAY_SIZE };
	GLuint index = glGetProgramResourceIndex(made, GL_UNIFORM, "colour_of_all");
	GLint values[3] = { -2, -2, -2 }, most = 0;
	GLsizei length = -2;
	GLint size = -2;
	GLenum type = 0;
	char name[20];
	void *place = &place;
	GLsync sync;

	glGetProgramResourceiv(made, GL_UNIFORM, index, 1, one, 3, &length, values);
	printf("one property: %d, %d %d %d\n", length, values[0], values[1], values[2]);
	values[0] = -2;
	glGetProgramResourceiv(made, GL_UNIFORM, index, 2, none, 0, NULL, values);
	printf("no space: %d\n", values[0]);
	memset(name, 'x', sizeof(name));
	glGetProgramResourceName(made, GL_UNIFORM, index, 18, &length, name);
	show("a name", name, sizeof(name));
	memset(name, 'x', sizeof(name));
	glGetProgramResourceName(made, GL_UNIFORM, index, 5, NULL, name);
	show("a part of it", name, sizeof(name));
	memset(name, 'x', sizeof(name));
	glGetActiveUniform(made, 0, 18, &length, &size, &type, name);
	printf("%d, %d, %#x ", length, size, type);
	show("a uniform", name, sizeof(name));
	memset(name, 'x', sizeof(name));
	glGetProgramInfoLog(made, sizeof(name), NULL, name);
	show("no log", name, sizeof(name));
	glGetnUniformiv(made, glGetUniformLocation(made, "colour_of_all"), -1, values);
	error("room for less than nothing");
	sync = glFenceSync(GL_SYNC_GPU_COMMANDS_COMPLETE, 0);
	values[1] = -2;
	glGetSynciv(sync, GL_OBJECT_TYPE, 3, &length, values);
	printf("a fence's type: %d, %#x %d\n", length, values[0], values[1]);
	glObjectPtrLabel(sync, -1, "a fence");
	for (GLsizei room = 12; room > 0; room -= 4) {
		memset(name, 'x', sizeof(name));
		length = -2;
		glGetObjectPtrLabel(sync, room, &length, name);
		printf("%d ", length);
		show("its label", name, sizeof(name));
	}
	glGetObjectPtrLabel(sync, 0, &length, NULL);
	printf("of %d\n", length);
	glDeleteSync(sync);
	values[0] = values[1] = -2;
	glGetInternalformativ(GL_RENDERBUFFER, GL_RGBA8, GL_NUM_SAMPLE_COUNTS, 3, values);
	printf("numbers of samples: %d, %d\n", values[0], values[1]);
	glGetInternalformativ(GL_RENDERBUFFER, GL_RGBA8, GL_SAMPLES, 3, values);
	printf("samples: %d, %d\n", values[0], values[1]);
	glGetInternalformativ(GL_RENDERBUFFER, GL_RGBA8, GL_SAMPLES, 0, values + 2);
	printf("none of them: %d\n", values[2]);
	error("queries");
	glGetIntegerv(GL_MAX_VERTEX_ATTRIBS, &most);
	glGetVertexAttribPointerv((GLuint)most, GL_VERTEX_ATTRIB_ARRAY_POINTER, &place);
	printf("no such attribute: %d", place == &place);
	error("");
}

/* Queries that fail write nothing. */
static void refused(GLuint made)
{
	GLint values[4] = { -7, -7, -7, -7 }, size = -7;
	GLboolean flags[4] = { 9, 9, 9, 9 };
	GLfloat floats[4] = { -7, -7, -7, -7 };
	GLint64 wide[2] = { -7, -7 };
	GLenum type = 77;
	GLsizei length = -7;
	char name[8] = "xxxxxxx";

	glGetIntegerv(0x1234, values);
	glGetFloatv(0x1234, floats);
	glGetBooleanv(0x1234, flags);
	glGetInteger64v(0x1234, wide);
	printf("no such state: %d %g %d %d", values[0], floats[0], flags[0], (int)wide[0]);
	error("");
	glGetShaderiv(12345, GL_COMPILE_STATUS, values);
	glGetProgramiv(made, 0x1234, values);
	glGetTexParameterfv(GL_TEXTURE_2D, 0x1234, floats);
	glGetBufferParameteriv(GL_ARRAY_BUFFER, 0x1234, values);
	glGetVertexAttribfv(0, 0x1234, floats);
	printf("no such thing: %d %g %g", values[0], floats[0], floats[3]);
	error("");
	glGetActiveUniform(made, 999, sizeof(name), &length, &size, &type, name);
	printf("no such uniform: %d %d %u", length, size, type);
	show("", name, sizeof(name));
	error("it");
	glGetShaderInfoLog(12345, sizeof(name), &length, name);
	printf("no such shader: %d", length);
	show("", name, sizeof(name));
	error("it");
	glGetShaderPrecisionFormat(0x1234, GL_HIGH_FLOAT, values, &size);
	printf("no such precision: %d %d %d", values[0], values[1], size);
	error("");
}

static void GL_APIENTRY message(GLenum source, GLenum type, GLuint id, GLenum severity, GLsizei length,
				const GLchar *text, const void *count)
{
	(void)id;
	++*(int *)(uintptr_t)count;
	printf("a message: %#x %#x %#x, %s\n", source, type, severity,
	       strlen(text) == (size_t)length ? "as long as it says" : "of another length");
	glIsEnabled(GL_BLEND);
}

static void logged(const char *what)
{
	GLint count = -1, length = -1;

	glGetIntegerv(GL_DEBUG_LOGGED_MESSAGES, &count);
	glGetIntegerv(GL_DEBUG_NEXT_LOGGED_MESSAGE_LENGTH, &length);
	printf("%s: %d messages, the next of %d\n", what, count, length);
}

static void one_of_the_log(void)
{
	GLenum source = 0, type = 0, severity = 0;
	GLsizei length = 0;
	GLuint id = 0, count;
	GLchar text[64] = "none";

	count = glGetDebugMessageLog(1, sizeof(text), &source, &type, &id, &severity, &length, text);
	printf("%u of the log: %#x %#x %u %#x, %d: %s\n", count, source, type, id, severity, length, text);
}

/* What is wrong is said before the call returns. What was said before anybody wanted to
 * hear it stays in the log. */
static void messages(void)
{
	GLchar texts[4];
	int count = 0;

	glEnable(GL_DEBUG_OUTPUT);
	glEnable(GL_DEBUG_OUTPUT_SYNCHRONOUS);
	glDebugMessageControl(GL_DONT_CARE, GL_DONT_CARE, GL_DONT_CARE, 0, NULL, GL_FALSE);
	glDebugMessageControl(GL_DEBUG_SOURCE_API, GL_DEBUG_TYPE_ERROR, GL_DONT_CARE, 0, NULL, GL_TRUE);
	glDebugMessageControl(GL_DEBUG_SOURCE_APPLICATION, GL_DONT_CARE, GL_DONT_CARE, 0, NULL, GL_TRUE);
	while (glGetDebugMessageLog(8, 0, NULL, NULL, NULL, NULL, NULL, NULL) > 0)
		;
	glDebugMessageInsert(GL_DEBUG_SOURCE_APPLICATION, GL_DEBUG_TYPE_OTHER, 11, GL_DEBUG_SEVERITY_HIGH, -1, "before");
	glDebugMessageInsert(GL_DEBUG_SOURCE_APPLICATION, GL_DEBUG_TYPE_MARKER, 12, GL_DEBUG_SEVERITY_LOW, 5, "those of");
	logged("in the log");
	glDebugMessageCallback(message, &count);
	printf("handed over: %d\n", count);
	logged("with a function");
	glEnable(GL_TEXTURE_2D);
	printf("after a wrong call: %d\n", count);
	error("it");
	glDebugMessageInsert(GL_DEBUG_SOURCE_APPLICATION, GL_DEBUG_TYPE_MARKER, 1, GL_DEBUG_SEVERITY_LOW, -1, "own");
	printf("after one of its own: %d\n", count);
	glIsEnabled(GL_TEXTURE_2D);
	printf("after a wrong question: %d\n", count);
	error("it");
	one_of_the_log();
	logged("one fewer");
	glDebugMessageCallback(NULL, NULL);
	glDebugMessageInsert(GL_DEBUG_SOURCE_APPLICATION, GL_DEBUG_TYPE_OTHER, 13, GL_DEBUG_SEVERITY_HIGH, -1, "after");
	logged("without a function");
	one_of_the_log();
	one_of_the_log();
	one_of_the_log();
	printf("too short: %u", glGetDebugMessageLog(1, -1, NULL, NULL, NULL, NULL, NULL, texts));
	error("");
	glDisable(GL_DEBUG_OUTPUT_SYNCHRONOUS);
	glDisable(GL_DEBUG_OUTPUT);
}

/* A name that is none is an error, whatever is behind it, even nothing. */
static void lists(void)
{
	static const EGLint names[] = { 0, 1, -1 };
	EGLint list[256];

	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++)
		list[i] = 1;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		list[0] = names[i];
		list[1] = EGL_NONE;
		printf("a context with attribute %d: %d, ", names[i],
		       eglCreateContext(display, config, EGL_NO_CONTEXT, list) != EGL_NO_CONTEXT);
		printf("%#x\n", eglGetError());
		printf("a surface with it: %d, ", eglCreatePbufferSurface(display, config, list) != EGL_NO_SURFACE);
		printf("%#x\n", eglGetError());
	}
}

/* A platform without windows has none, whatever the configuration. */
static void natives(void)
{
	EGLConfig configs[] = { EGL_NO_CONFIG_KHR, config };

	for (size_t i = 0; i < sizeof(configs) / sizeof(*configs); i++) {
		int any = 0;
		int made = eglCreatePlatformWindowSurface(display, configs[i], &any, NULL) != EGL_NO_SURFACE;

		printf("a window: %d, %#x\n", made, eglGetError());
		made = eglCreatePlatformPixmapSurface(display, configs[i], &any, NULL) != EGL_NO_SURFACE;
		printf("a pixmap: %d, %#x\n", made, eglGetError());
	}
}

/* Room for less than no configurations is none. */
static void rooms(void)
{
	static const EGLint sizes[] = { 0, -1, -5, 3 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		EGLConfig found[4] = { NULL };
		EGLint count = -1;
		int is_done = eglGetConfigs(display, found, sizes[i], &count);

		printf("%d configurations: %d, %d, %d, %#x\n", sizes[i], is_done, count, found[0] != NULL,
		       eglGetError());
	}
}

int main(void)
{
	GLuint made;

	begin();
	made = program();
	restarts();
	several();
	mapped();
	left_alone(made);
	refused(made);
	messages();
	lists();
	natives();
	rooms();
	error("all");
	return 0;
}
