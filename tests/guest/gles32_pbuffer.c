/* Draws into a pbuffer with what OpenGL ES 3.1 and 3.2 add: compute programs, draws whose
 * numbers are in a buffer, separate programs, queries of a program's resources, base
 * vertices, textures of buffers, labels and debug messages, reads with a bound; prints what
 * it got and a sum of each picture. It prints the same wherever the same driver draws. */
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GLES3/gl32.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 64 };

static const float corners[] = { -1, -1, 1, -1, -1, 1, 1, 1 };

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
	glReadnPixels(0, 0, SIZE, SIZE, GL_RGBA, GL_UNSIGNED_BYTE, sizeof(pixels), pixels);
	for (size_t i = 0; i < sizeof(pixels); i++)
		sum = (sum ^ pixels[i]) * 1099511628211u;
	for (size_t i = 0; i < sizeof(pixels); i += 4)
		filled += pixels[i] || pixels[i + 1];
	printf("%s: %016llx, %u of %u pixels drawn\n", what, (unsigned long long)sum, filled,
	       SIZE * SIZE);
	check(what);
}

static GLuint shader(GLenum kind, const char *text)
{
	const char *parts[2] = { "#version 320 es\nprecision highp float;\n"
				 "precision highp samplerBuffer;\n", text };
	GLuint made = glCreateShader(kind);
	GLint compiled = 0;

	glShaderSource(made, 2, parts, NULL);
	glCompileShader(made);
	glGetShaderiv(made, GL_COMPILE_STATUS, &compiled);
	if (!compiled)
		printf("the shader does not compile\n");
	return made;
}

static GLuint program(const char *vertex, const char *fragment)
{
	GLuint made = glCreateProgram();
	GLint linked = 0;

	glAttachShader(made, shader(GL_VERTEX_SHADER, vertex));
	glAttachShader(made, shader(GL_FRAGMENT_SHADER, fragment));
	glLinkProgram(made);
	glGetProgramiv(made, GL_LINK_STATUS, &linked);
	if (!linked)
		printf("the program does not link\n");
	return made;
}

static void begin(void)
{
	static const EGLint wanted[] = { EGL_SURFACE_TYPE, EGL_PBUFFER_BIT, EGL_RENDERABLE_TYPE,
		EGL_OPENGL_ES3_BIT, EGL_RED_SIZE, 8, EGL_GREEN_SIZE, 8, EGL_BLUE_SIZE, 8,
		EGL_ALPHA_SIZE, 8, EGL_NONE };
	static const EGLint size[] = { EGL_WIDTH, SIZE, EGL_HEIGHT, SIZE, EGL_NONE };
	static const EGLint version[] = { EGL_CONTEXT_MAJOR_VERSION, 3, EGL_CONTEXT_MINOR_VERSION, 2,
		EGL_CONTEXT_OPENGL_DEBUG, EGL_TRUE, EGL_NONE };
	PFNEGLGETPLATFORMDISPLAYEXTPROC get = (PFNEGLGETPLATFORMDISPLAYEXTPROC)
		eglGetProcAddress("eglGetPlatformDisplayEXT");
	EGLDisplay display = get(EGL_PLATFORM_SURFACELESS_MESA, NULL, NULL);
	EGLConfig config;
	EGLint count = 0;
	EGLSurface surface;
	GLint minor = 0;

	eglInitialize(display, NULL, NULL);
	eglChooseConfig(display, wanted, &config, 1, &count);
	surface = eglCreatePbufferSurface(display, config, size);
	printf("current: %d\n", eglMakeCurrent(display, surface, surface,
	       eglCreateContext(display, config, EGL_NO_CONTEXT, version)));
	glGetIntegerv(GL_MINOR_VERSION, &minor);
	printf("version 3.%d, reset: %#x\n", minor, glGetGraphicsResetStatus());
}

/* A compute program doubles numbers; its resources are asked for by name. */
static void compute(void)
{
	static const GLenum wanted[] = { GL_OFFSET, GL_ARRAY_SIZE };
	GLuint made = glCreateProgram(), buffer, index;
	GLint size[3] = { 0 }, blocks = 0, values[2] = { -1, -1 };
	GLsizei length = 0;
	char name[32] = "";
	float numbers[64], *mapped;

	glAttachShader(made, shader(GL_COMPUTE_SHADER,
	       "layout(local_size_x = 16, local_size_y = 2) in;"
	       "layout(std430, binding = 1) buffer Numbers { uint pad; float numbers[]; };"
	       "uniform float by;"
	       "void main() { uint i = gl_GlobalInvocationID.y * 32u + gl_GlobalInvocationID.x;"
	       "numbers[i] *= by; }"));
	glLinkProgram(made);
	glGetProgramiv(made, GL_COMPUTE_WORK_GROUP_SIZE, size);
	glGetProgramInterfaceiv(made, GL_SHADER_STORAGE_BLOCK, GL_ACTIVE_RESOURCES, &blocks);
	glGetProgramResourceName(made, GL_SHADER_STORAGE_BLOCK, 0, sizeof(name), &length, name);
	index = glGetProgramResourceIndex(made, GL_BUFFER_VARIABLE, "Numbers.numbers");
	if (index == GL_INVALID_INDEX)
		index = glGetProgramResourceIndex(made, GL_BUFFER_VARIABLE, "numbers");
	glGetProgramResourceiv(made, GL_BUFFER_VARIABLE, index, 2, wanted, 2, &length, values);
	printf("groups of %d %d %d, %d block %s, %d values: %d %d\n", size[0], size[1], size[2], blocks,
	       name, length, values[0], values[1]);
	for (int i = 0; i < 64; i++)
		numbers[i] = (float)i;
	glGenBuffers(1, &buffer);
	glBindBufferBase(GL_SHADER_STORAGE_BUFFER, 1, buffer);
	glBufferData(GL_SHADER_STORAGE_BUFFER, 4 + sizeof(numbers), NULL, GL_DYNAMIC_COPY);
	glBufferSubData(GL_SHADER_STORAGE_BUFFER, 4, sizeof(numbers), numbers);
	glProgramUniform1f(made, glGetProgramResourceLocation(made, GL_UNIFORM, "by"), 2.5f);
	glUseProgram(made);
	glDispatchCompute(2, 1, 1);
	glMemoryBarrier(GL_BUFFER_UPDATE_BARRIER_BIT);
	mapped = glMapBufferRange(GL_SHADER_STORAGE_BUFFER, 4, sizeof(numbers), GL_MAP_READ_BIT);
	printf("computed: %g %g %g\n", mapped[1], mapped[33], mapped[63]);
	glUnmapBuffer(GL_SHADER_STORAGE_BUFFER);
	check("compute");
}

/* What vertices and numbers of a draw are in buffers, with formats and bindings apart. */
static void indirect(void)
{
	static const GLuint numbers[] = { 99, 4, 1, 0, 0, 4, 1, 0, 0, 0 };
	static const GLushort indices[] = { 3, 2, 1, 0 };
	GLuint made = program("layout(location=0) in vec2 corner; void main() {"
			      "gl_Position = vec4(corner * 0.5, 0.0, 1.0); }",
			      "out vec4 result; void main() { result = vec4(0.5, 0.25, 1.0, 1.0); }");
	GLuint array, buffer[3];

	glUseProgram(made);
	glGenBuffers(3, buffer);
	glBindBuffer(GL_DRAW_INDIRECT_BUFFER, buffer[0]);
	glBufferData(GL_DRAW_INDIRECT_BUFFER, sizeof(numbers), numbers, GL_STATIC_DRAW);
	glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, corners);
	glEnableVertexAttribArray(0);
	glDrawArraysIndirect(GL_TRIANGLE_STRIP, (void *)4);
	printf("of memory: %#x\n", glGetError());
	glGenVertexArrays(1, &array);
	glBindVertexArray(array);
	glBindBuffer(GL_ARRAY_BUFFER, buffer[1]);
	glBufferData(GL_ARRAY_BUFFER, sizeof(corners), corners, GL_STATIC_DRAW);
	glBindBuffer(GL_ELEMENT_ARRAY_BUFFER, buffer[2]);
	glBufferData(GL_ELEMENT_ARRAY_BUFFER, sizeof(indices), indices, GL_STATIC_DRAW);
	glVertexAttribFormat(0, 2, GL_FLOAT, GL_FALSE, 0);
	glVertexAttribBinding(0, 3);
	glBindVertexBuffer(3, buffer[1], 0, 8);
	glEnableVertexAttribArray(0);
	glClear(GL_COLOR_BUFFER_BIT);
	glDrawArraysIndirect(GL_TRIANGLE_STRIP, (void *)4);
	picture("vertices");
	glClear(GL_COLOR_BUFFER_BIT);
	glDrawElementsIndirect(GL_TRIANGLE_STRIP, GL_UNSIGNED_SHORT, (void *)20);
	picture("indices");
	glDrawElementsIndirect(GL_TRIANGLE_STRIP, GL_UNSIGNED_SHORT, (void *)4000);
	printf("beyond the buffer: %#x\n", glGetError());
	glBindVertexArray(0);
	glBindBuffer(GL_ARRAY_BUFFER, 0);
	glBindBuffer(GL_DRAW_INDIRECT_BUFFER, 0);
}

/* Indices of memory, moved; vertices of memory too. */
static void bases(void)
{
	static const float many[] = { 9, 9, 9, 9, -1, -1, 0, -1, -1, 0, 0, 0, 0, 0, 1, 0, 0, 1, 1, 1 };
	static const unsigned char indices[] = { 4, 5, 6, 7 };

	glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, many);
	glEnableVertexAttribArray(0);
	glClear(GL_COLOR_BUFFER_BIT);
	glDrawElementsBaseVertex(GL_TRIANGLE_STRIP, 4, GL_UNSIGNED_BYTE, indices, -2);
	picture("moved down");
	glDrawRangeElementsBaseVertex(GL_TRIANGLE_STRIP, 4, 7, 4, GL_UNSIGNED_BYTE, indices, 2);
	picture("moved up");
	glDrawElementsInstancedBaseVertex(GL_TRIANGLE_STRIP, 4, GL_UNSIGNED_BYTE, indices, 2, 0);
	picture("several");
}

/* Programs of one stage each, and a texture that is a buffer. */
static void stages(void)
{
	static const char *const vertex[] = { "#version 320 es\nlayout(location=0) in vec2 corner;",
		"out gl_PerVertex { vec4 gl_Position; };",
		"void main() { gl_Position = vec4(corner, 0.0, 1.0); }" };
	static const char *const fragment[] = { "#version 320 es\nprecision highp float;"
		"precision highp samplerBuffer; uniform samplerBuffer colours; uniform vec4 more;"
		"out vec4 result; void main() { result = texelFetch(colours, int(gl_FragCoord.x) / 16) + more; }" };
	static const unsigned char colours[] = { 255, 0, 0, 255, 0, 255, 0, 255, 0, 0, 255, 255, 9, 8, 7, 255 };
	static const float more[] = { 0, 0.25f, 0, 0 };
	static const GLint border[] = { 1, -2, 3, -4 };
	GLuint pipeline, made[2], buffer, texture[2];
	GLint got[4] = { 0 }, linked = 0, width = 0;

	made[0] = glCreateShaderProgramv(GL_VERTEX_SHADER, 3, vertex);
	made[1] = glCreateShaderProgramv(GL_FRAGMENT_SHADER, 1, fragment);
	glGetProgramiv(made[1], GL_LINK_STATUS, &linked);
	glGenProgramPipelines(1, &pipeline);
	glUseProgramStages(pipeline, GL_VERTEX_SHADER_BIT, made[0]);
	glUseProgramStages(pipeline, GL_FRAGMENT_SHADER_BIT, made[1]);
	glUseProgram(0);
	glBindProgramPipeline(pipeline);
	glProgramUniform4fv(made[1], glGetUniformLocation(made[1], "more"), 1, more);
	glGenBuffers(1, &buffer);
	glBindBuffer(GL_TEXTURE_BUFFER, buffer);
	glBufferData(GL_TEXTURE_BUFFER, sizeof(colours), colours, GL_STATIC_DRAW);
	glGenTextures(2, texture);
	glBindTexture(GL_TEXTURE_BUFFER, texture[0]);
	glTexBuffer(GL_TEXTURE_BUFFER, GL_RGBA8, buffer);
	glGetTexLevelParameteriv(GL_TEXTURE_BUFFER, 0, GL_TEXTURE_WIDTH, &width);
	glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, corners);
	glClear(GL_COLOR_BUFFER_BIT);
	glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
	printf("linked: %d, pipeline: %d, texels: %d\n", linked, glIsProgramPipeline(pipeline), width);
	picture("stripes");
	glBindProgramPipeline(0);
	glBindTexture(GL_TEXTURE_2D, texture[1]);
	glTexParameterIiv(GL_TEXTURE_2D, GL_TEXTURE_BORDER_COLOR, border);
	glGetTexParameterIiv(GL_TEXTURE_2D, GL_TEXTURE_BORDER_COLOR, got);
	printf("border: %d %d %d %d\n", got[0], got[1], got[2], got[3]);
	check("stages");
}

static void GL_APIENTRY message(GLenum source, GLenum type, GLuint id, GLenum severity, GLsizei length,
				const GLchar *text, const void *user)
{
	if (source == GL_DEBUG_SOURCE_APPLICATION)
		printf("%s: %#x %#x %u %#x %d %.*s\n", (const char *)user, source, type, id, severity, length,
		       length, text);
}

static void labels(void)
{
	static const char user[] = "message";
	GLuint texture;
	GLsync sync = glFenceSync(GL_SYNC_GPU_COMMANDS_COMPLETE, 0);
	GLsizei length = 0;
	GLboolean mask[4] = { 0 };
	char label[32] = "";
	void *pointer = NULL;
	float one = 0;
	unsigned char few[7];

	glEnable(GL_DEBUG_OUTPUT_SYNCHRONOUS);
	glDebugMessageCallback(message, user);
	glDebugMessageInsert(GL_DEBUG_SOURCE_APPLICATION, GL_DEBUG_TYPE_MARKER, 7,
			     GL_DEBUG_SEVERITY_NOTIFICATION, -1, "hello");
	glPushDebugGroup(GL_DEBUG_SOURCE_APPLICATION, 8, 3, "groups");
	glPopDebugGroup();
	printf("%u of the log\n", glGetDebugMessageLog(1, 0, NULL, NULL, NULL, NULL, NULL, NULL));
	glGetPointerv(GL_DEBUG_CALLBACK_USER_PARAM, &pointer);
	printf("the same pointer: %d\n", pointer == user);
	glGenTextures(1, &texture);
	glBindTexture(GL_TEXTURE_2D, texture);
	glObjectLabel(GL_TEXTURE, texture, 4, "wooden");
	glGetObjectLabel(GL_TEXTURE, texture, sizeof(label), &length, label);
	printf("label: %d %s\n", length, label);
	glObjectPtrLabel(sync, -1, "a fence");
	glGetObjectPtrLabel(sync, sizeof(label), &length, label);
	printf("label: %d %s\n", length, label);
	glObjectPtrLabel(&length, -1, "no fence");
	printf("no fence: %#x\n", glGetError());
	glReadnPixels(0, 0, 2, 1, GL_RGBA, GL_UNSIGNED_BYTE, sizeof(few), few);
	printf("too few bytes: %#x\n", glGetError());
	glGetnUniformfv(0, 0, 2, &one);
	printf("no program: %#x\n", glGetError());
	glColorMaski(1, GL_TRUE, GL_FALSE, GL_TRUE, GL_FALSE);
	glGetBooleani_v(GL_COLOR_WRITEMASK, 1, mask);
	printf("mask: %d %d %d %d\n", mask[0], mask[1], mask[2], mask[3]);
	check("labels");
}

int main(void)
{
	begin();
	compute();
	indirect();
	bases();
	stages();
	labels();
	return 0;
}
