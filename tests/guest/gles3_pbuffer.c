/* Draws into a pbuffer with what OpenGL ES 3.0 adds: vertex arrays, instances, uniform
 * blocks, buffers of pixels, mapped buffers, parts of pictures, arrays of textures,
 * transform feedback, sync objects; prints what it got and a sum of each picture. It
 * prints the same wherever the same driver draws. */
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GLES3/gl3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 64 };

static void check(const char *what)
{
	GLenum error = glGetError();

	if (error != GL_NO_ERROR)
		printf("%s: GL error %#x\n", what, error);
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
		filled += pixels[i] || pixels[i + 1];
	printf("%s: %016llx, %u of %u pixels drawn, the middle %u %u %u %u\n", what,
	       (unsigned long long)sum, filled, SIZE * SIZE,
	       pixels[(SIZE / 2 * SIZE + SIZE / 2) * 4], pixels[(SIZE / 2 * SIZE + SIZE / 2) * 4 + 1],
	       pixels[(SIZE / 2 * SIZE + SIZE / 2) * 4 + 2], pixels[(SIZE / 2 * SIZE + SIZE / 2) * 4 + 3]);
	check(what);
}

static GLuint shader(GLenum kind, const char *text)
{
	const char *parts[2] = { "#version 300 es\nprecision mediump float;\nprecision mediump sampler2DArray;\n", text };
	GLint lengths[2] = { -1, (GLint)strlen(text) };
	GLuint made = glCreateShader(kind);
	GLint compiled = 0;
	char log[512] = "";

	glShaderSource(made, 2, parts, lengths);
	glCompileShader(made);
	glGetShaderiv(made, GL_COMPILE_STATUS, &compiled);
	if (!compiled) {
		glGetShaderInfoLog(made, sizeof(log), NULL, log);
		printf("the shader does not compile%s\n", log[0] ? ", and says why" : "");
	}
	return made;
}

static GLuint program(const char *vertex, const char *fragment, const char *captured)
{
	GLuint made = glCreateProgram();
	GLint linked = 0;

	glAttachShader(made, shader(GL_VERTEX_SHADER, vertex));
	glAttachShader(made, shader(GL_FRAGMENT_SHADER, fragment));
	if (captured)
		glTransformFeedbackVaryings(made, 1, &captured, GL_INTERLEAVED_ATTRIBS);
	glLinkProgram(made);
	glGetProgramiv(made, GL_LINK_STATUS, &linked);
	printf("linked: %d\n", linked);
	return made;
}

static void begin(void)
{
	static const EGLint wanted[] = { EGL_SURFACE_TYPE, EGL_PBUFFER_BIT, EGL_RENDERABLE_TYPE,
		EGL_OPENGL_ES3_BIT, EGL_RED_SIZE, 8, EGL_GREEN_SIZE, 8, EGL_BLUE_SIZE, 8,
		EGL_ALPHA_SIZE, 8, EGL_NONE };
	static const EGLint size[] = { EGL_WIDTH, SIZE, EGL_HEIGHT, SIZE, EGL_NONE };
	static const EGLint version[] = { EGL_CONTEXT_CLIENT_VERSION, 3, EGL_NONE };
	PFNEGLGETPLATFORMDISPLAYEXTPROC get = (PFNEGLGETPLATFORMDISPLAYEXTPROC)
		eglGetProcAddress("eglGetPlatformDisplayEXT");
	EGLDisplay display = get(EGL_PLATFORM_SURFACELESS_MESA, NULL, NULL);
	EGLConfig config;
	EGLint count = 0, types = 0;
	EGLSurface surface;

	eglInitialize(display, NULL, NULL);
	eglChooseConfig(display, wanted, &config, 1, &count);
	eglGetConfigAttrib(display, config, EGL_RENDERABLE_TYPE, &types);
	printf("configurations: %d, OpenGL ES 3: %d\n", count, !!(types & EGL_OPENGL_ES3_BIT));
	surface = eglCreatePbufferSurface(display, config, size);
	printf("current: %d\n", eglMakeCurrent(display, surface, surface,
	       eglCreateContext(display, config, EGL_NO_CONTEXT, version)));
}

static void extensions(void)
{
	const char *all = (const char *)glGetString(GL_EXTENSIONS);
	GLint count = 0, major = 0, found = 0;

	glGetIntegerv(GL_MAJOR_VERSION, &major);
	glGetIntegerv(GL_NUM_EXTENSIONS, &count);
	for (GLint i = 0; i < count; i++)
		found += strstr(all, (const char *)glGetStringi(GL_EXTENSIONS, i)) != NULL;
	printf("version %d, all extensions are in the list: %d\n", major, count > 0 && found == count);
	glGetStringi(GL_EXTENSIONS, 100000);
	printf("one too many: %#x\n", glGetError());
}

/* Squares of a vertex array, one an instance, coloured by a uniform block. */
static void instances(void)
{
	static const float corners[] = { -0.2f, -0.2f, 0.2f, -0.2f, -0.2f, 0.2f, 0.2f, 0.2f };
	static const float places[] = { -0.5f, -0.5f, 0.5f, -0.5f, 0.0f, 0.5f };
	static const float colours[] = { 1, 0.5f, 0, 1 };
	GLuint made = program("layout(location=0) in vec2 corner; layout(location=1) in vec2 place;"
			      "void main() { gl_Position = vec4(corner + place, 0.0, 1.0); }",
			      "uniform Colours { vec4 colour; }; out vec4 result;"
			      "void main() { result = colour; }", NULL);
	GLuint block = glGetUniformBlockIndex(made, "Colours");
	GLuint array, buffers[3];
	GLint size = 0, indices[4] = { -1, -1, -1, -1 };
	char name[16] = "";

	glGetActiveUniformBlockiv(made, block, GL_UNIFORM_BLOCK_DATA_SIZE, &size);
	glGetActiveUniformBlockiv(made, block, GL_UNIFORM_BLOCK_ACTIVE_UNIFORM_INDICES, indices);
	glGetActiveUniformBlockName(made, block, sizeof(name), NULL, name);
	printf("block %s: %d bytes, uniform %d, then %d\n", name, size, indices[0], indices[1]);
	glUseProgram(made);
	glGenVertexArrays(1, &array);
	glBindVertexArray(array);
	glGenBuffers(3, buffers);
	glBindBuffer(GL_ARRAY_BUFFER, buffers[0]);
	glBufferData(GL_ARRAY_BUFFER, sizeof(corners), corners, GL_STATIC_DRAW);
	glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, NULL);
	glBindBuffer(GL_ARRAY_BUFFER, buffers[1]);
	glBufferData(GL_ARRAY_BUFFER, sizeof(places), places, GL_STATIC_DRAW);
	glVertexAttribPointer(1, 2, GL_FLOAT, GL_FALSE, 0, NULL);
	glVertexAttribDivisor(1, 1);
	glEnableVertexAttribArray(0);
	glEnableVertexAttribArray(1);
	glBindBuffer(GL_UNIFORM_BUFFER, buffers[2]);
	glBufferData(GL_UNIFORM_BUFFER, sizeof(colours), colours, GL_STATIC_DRAW);
	glBindBufferBase(GL_UNIFORM_BUFFER, 0, buffers[2]);
	glUniformBlockBinding(made, block, 0);
	glClearBufferfv(GL_COLOR, 0, (const float[]){ 0, 0, 0, 1 });
	glDrawArraysInstanced(GL_TRIANGLE_STRIP, 0, 4, 3);
	picture("three squares");
	glBindVertexArray(0);
	glDeleteVertexArrays(1, &array);

	/* The same from memory, with a divisor of 1. */
	glBindBuffer(GL_ARRAY_BUFFER, 0);
	glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, corners);
	glVertexAttribPointer(1, 2, GL_FLOAT, GL_FALSE, 0, places);
	glVertexAttribDivisor(1, 1);
	glEnableVertexAttribArray(0);
	glEnableVertexAttribArray(1);
	glClear(GL_COLOR_BUFFER_BIT);
	glDrawElementsInstanced(GL_TRIANGLE_STRIP, 4, GL_UNSIGNED_BYTE,
				(const unsigned char[]){ 0, 1, 2, 3 }, 2);
	picture("two squares of memory");
	glVertexAttribDivisor(1, 0);
	glDisableVertexAttribArray(1);
}

/* A texture of layers from a buffer of pixels and from a part of a picture. */
static void layers(void)
{
	static unsigned char texels[2][8][8][4], read[SIZE][SIZE + 8][4];
	static const float corners[] = { -1, -1, 1, -1, -1, 1, 1, 1 };
	GLuint made = program("layout(location=0) in vec2 corner; out vec2 at;"
			      "void main() { at = corner * 0.5 + 0.5; gl_Position = vec4(corner, 0.0, 1.0); }",
			      "uniform sampler2DArray image; uniform uint layer; in vec2 at; out vec4 result;"
			      "void main() { result = texture(image, vec3(at, float(layer))); }", NULL);
	GLuint texture, buffer, layer = 7;
	unsigned kept = 0;
	GLint whole = 0;
	GLint64 wide = 0;
	GLfloat real = 0;
	GLboolean flag = GL_FALSE;

	for (int i = 0; i < 2 * 8 * 8 * 4; i++)
		(&texels[0][0][0][0])[i] = (unsigned char)(i * 7 + i / 32);
	glUseProgram(made);
	glUniform1ui(glGetUniformLocation(made, "layer"), 1);
	glGetUniformuiv(made, glGetUniformLocation(made, "layer"), &layer);
	glGenTextures(1, &texture);
	glBindTexture(GL_TEXTURE_2D_ARRAY, texture);
	glTexStorage3D(GL_TEXTURE_2D_ARRAY, 1, GL_RGBA8, 4, 4, 2);
	glTexParameteri(GL_TEXTURE_2D_ARRAY, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
	glTexParameteri(GL_TEXTURE_2D_ARRAY, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
	glPixelStorei(GL_UNPACK_ROW_LENGTH, 8);
	glPixelStorei(GL_UNPACK_IMAGE_HEIGHT, 8);
	glPixelStorei(GL_UNPACK_SKIP_PIXELS, 3);
	glPixelStorei(GL_UNPACK_SKIP_ROWS, 2);
	glTexSubImage3D(GL_TEXTURE_2D_ARRAY, 0, 0, 0, 0, 4, 4, 2, GL_RGBA, GL_UNSIGNED_BYTE, texels);
	glBindBuffer(GL_ARRAY_BUFFER, 0);
	glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, corners);
	glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
	printf("layer %u\n", layer);
	picture("a layer of a part of a picture");

	glGenBuffers(1, &buffer);
	glBindBuffer(GL_PIXEL_UNPACK_BUFFER, buffer);
	glBufferData(GL_PIXEL_UNPACK_BUFFER, sizeof(texels), texels, GL_STREAM_DRAW);
	glPixelStorei(GL_UNPACK_SKIP_ROWS, 1);
	glTexSubImage3D(GL_TEXTURE_2D_ARRAY, 0, 0, 0, 1, 4, 4, 1, GL_RGBA, GL_UNSIGNED_BYTE, (void *)32);
	glBindBuffer(GL_PIXEL_UNPACK_BUFFER, 0);
	glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
	picture("a layer of a buffer of pixels");
	glPixelStorei(GL_UNPACK_ROW_LENGTH, 0);
	glPixelStorei(GL_UNPACK_IMAGE_HEIGHT, 0);
	glPixelStorei(GL_UNPACK_SKIP_PIXELS, 0);
	glPixelStorei(GL_UNPACK_SKIP_ROWS, 0);

	/* Into a part of a picture: what lies beside it stays. */
	memset(read, 0xa5, sizeof(read));
	glPixelStorei(GL_PACK_ROW_LENGTH, SIZE + 8);
	glPixelStorei(GL_PACK_SKIP_PIXELS, 4);
	glReadPixels(0, 0, SIZE, SIZE, GL_RGBA, GL_UNSIGNED_BYTE, read);
	glGetIntegerv(GL_PACK_ROW_LENGTH, &whole);
	glGetInteger64v(GL_PACK_ROW_LENGTH, &wide);
	glGetFloatv(GL_PACK_SKIP_PIXELS, &real);
	glGetBooleanv(GL_PACK_SKIP_PIXELS, &flag);
	printf("as it was set: %d %d %g %u\n", whole, (int)wide, real, flag);
	glPixelStorei(GL_PACK_ROW_LENGTH, 0);
	glPixelStorei(GL_PACK_SKIP_PIXELS, 0);
	for (int y = 0; y < SIZE; y++)
		for (int x = 0; x < 8; x++)
			kept += read[y][x < 4 ? x : SIZE + x][0] == 0xa5;
	printf("kept: %u of %u\n", kept, SIZE * 8);
}

/* What the driver wrote into buffers is read where they are mapped. */
static void buffers(void)
{
	GLuint made = program("layout(location=0) in float number; out float twice;"
			      "void main() { twice = number * 2.0; gl_Position = vec4(0.0); }",
			      "out vec4 result; void main() { result = vec4(1.0); }", "twice");
	static const float numbers[] = { 1, 2.5f, -3, 4 };
	GLuint buffer[2], query, count = 0;
	GLint state = 0;
	float *mapped;
	void *pointer = NULL;
	unsigned char *pixels;
	GLsync sync;

	glUseProgram(made);
	glGenBuffers(2, buffer);
	glBindBuffer(GL_TRANSFORM_FEEDBACK_BUFFER, buffer[0]);
	glBufferData(GL_TRANSFORM_FEEDBACK_BUFFER, sizeof(numbers), NULL, GL_STREAM_READ);
	glBindBufferBase(GL_TRANSFORM_FEEDBACK_BUFFER, 0, buffer[0]);
	glVertexAttribPointer(0, 1, GL_FLOAT, GL_FALSE, 0, numbers);
	glGenQueries(1, &query);
	glEnable(GL_RASTERIZER_DISCARD);
	glBeginQuery(GL_TRANSFORM_FEEDBACK_PRIMITIVES_WRITTEN, query);
	glBeginTransformFeedback(GL_POINTS);
	glDrawArrays(GL_POINTS, 0, 4);
	glEndTransformFeedback();
	glEndQuery(GL_TRANSFORM_FEEDBACK_PRIMITIVES_WRITTEN);
	glDisable(GL_RASTERIZER_DISCARD);
	glGetQueryObjectuiv(query, GL_QUERY_RESULT, &count);
	mapped = glMapBufferRange(GL_TRANSFORM_FEEDBACK_BUFFER, 4, 12, GL_MAP_READ_BIT | GL_MAP_WRITE_BIT);
	glGetBufferPointerv(GL_TRANSFORM_FEEDBACK_BUFFER, GL_BUFFER_MAP_POINTER, &pointer);
	glGetBufferParameteriv(GL_TRANSFORM_FEEDBACK_BUFFER, GL_BUFFER_MAPPED, &state);
	printf("captured %u: %g %g %g, mapped %d %d\n", count, mapped[0], mapped[1], mapped[2], state,
	       pointer == mapped);
	mapped[1] = 17;
	printf("mapped twice: %d", glMapBufferRange(GL_TRANSFORM_FEEDBACK_BUFFER, 0, 4, GL_MAP_READ_BIT) != NULL);
	printf(", %#x\n", glGetError());
	printf("unmapped: %d\n", glUnmapBuffer(GL_TRANSFORM_FEEDBACK_BUFFER));
	mapped = glMapBufferRange(GL_TRANSFORM_FEEDBACK_BUFFER, 0, 16,
				  GL_MAP_WRITE_BIT | GL_MAP_FLUSH_EXPLICIT_BIT);
	mapped[0] = 23;
	mapped[3] = 29;
	glFlushMappedBufferRange(GL_TRANSFORM_FEEDBACK_BUFFER, 0, 4);
	glUnmapBuffer(GL_TRANSFORM_FEEDBACK_BUFFER);
	mapped = glMapBufferRange(GL_TRANSFORM_FEEDBACK_BUFFER, 0, 16, GL_MAP_READ_BIT);
	printf("then: %g %g %g\n", mapped[0], mapped[1], mapped[2]);
	glUnmapBuffer(GL_TRANSFORM_FEEDBACK_BUFFER);
	glMapBufferRange(GL_TRANSFORM_FEEDBACK_BUFFER, 8, 16, GL_MAP_READ_BIT);
	printf("beyond its end: %#x\n", glGetError());
	check("buffers");

	glBindBuffer(GL_PIXEL_PACK_BUFFER, buffer[1]);
	glBufferData(GL_PIXEL_PACK_BUFFER, SIZE * SIZE * 4, NULL, GL_STREAM_READ);
	glClearColor(0.25f, 0.5f, 0.75f, 1);
	glClear(GL_COLOR_BUFFER_BIT);
	glReadPixels(0, 0, SIZE, SIZE, GL_RGBA, GL_UNSIGNED_BYTE, NULL);
	sync = glFenceSync(GL_SYNC_GPU_COMMANDS_COMPLETE, 0);
	state = (GLint)glClientWaitSync(sync, GL_SYNC_FLUSH_COMMANDS_BIT, 1000000000);
	printf("fence: %d, it is one: %d\n", state == GL_ALREADY_SIGNALED || state == GL_CONDITION_SATISFIED,
	       glIsSync(sync));
	glGetSynciv(sync, GL_SYNC_STATUS, 1, NULL, &state);
	glDeleteSync(sync);
	glDeleteSync(NULL);
	printf("no fence: %#x", glGetError());
	glDeleteSync((GLsync)&state);
	printf(", %#x\n", glGetError());
	printf("signalled: %d\n", state == GL_SIGNALED);
	pixels = glMapBufferRange(GL_PIXEL_PACK_BUFFER, 0, SIZE * SIZE * 4, GL_MAP_READ_BIT);
	printf("the last pixel: %u %u %u %u\n", pixels[SIZE * SIZE * 4 - 4], pixels[SIZE * SIZE * 4 - 3],
	       pixels[SIZE * SIZE * 4 - 2], pixels[SIZE * SIZE * 4 - 1]);
	glUnmapBuffer(GL_PIXEL_PACK_BUFFER);
	glBindBuffer(GL_PIXEL_PACK_BUFFER, 0);
}

int main(void)
{
	GLint alignment = 0;

	begin();
	extensions();
	instances();
	layers();
	buffers();
	glGetIntegerv(GL_UNPACK_ALIGNMENT, &alignment);
	printf("alignment: %d\n", alignment);
	check("all");
	return 0;
}
