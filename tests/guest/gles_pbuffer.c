/* Draws into a pbuffer with OpenGL ES 2.0: arrays and indices in memory and in buffers,
 * a texture, uniforms, errors, queries; prints what it got and a sum of each picture.
 * It prints the same wherever the same driver draws. */
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GLES2/gl2.h>
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
	const char *parts[2] = { "precision mediump float;\n", text };
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

static GLuint program(const char *vertex, const char *fragment)
{
	GLuint made = glCreateProgram();
	GLint linked = 0;

	glAttachShader(made, shader(GL_VERTEX_SHADER, vertex));
	glAttachShader(made, shader(GL_FRAGMENT_SHADER, fragment));
	glBindAttribLocation(made, 0, "place");
	glLinkProgram(made);
	glGetProgramiv(made, GL_LINK_STATUS, &linked);
	printf("linked: %d\n", linked);
	return made;
}

static void clear(float red, float green, float blue)
{
	glClearColor(red, green, blue, 1);
	glClear(GL_COLOR_BUFFER_BIT);
}

int main(void)
{
	static const EGLint wanted[] = { EGL_SURFACE_TYPE, EGL_PBUFFER_BIT, EGL_RENDERABLE_TYPE,
		EGL_OPENGL_ES2_BIT, EGL_RED_SIZE, 8, EGL_GREEN_SIZE, 8, EGL_BLUE_SIZE, 8,
		EGL_ALPHA_SIZE, 8, EGL_NONE };
	static const EGLint size[] = { EGL_WIDTH, SIZE, EGL_HEIGHT, SIZE, EGL_NONE };
	static const EGLint version[] = { EGL_CONTEXT_CLIENT_VERSION, 2, EGL_NONE };
	static const float corners[] = { -0.5f, -0.5f, 0.5f, -0.5f, 0.5f, 0.5f, -0.5f, 0.5f };
	static const GLushort indices[] = { 0, 1, 2, 0, 2, 3 };
	static const unsigned char texels[] = { 255, 0, 0, 0, 255, 0, 0, 0, 0, 0, 255, 255, 255, 0 };
	PFNEGLGETPLATFORMDISPLAYEXTPROC get = (PFNEGLGETPLATFORMDISPLAYEXTPROC)
		eglGetProcAddress("eglGetPlatformDisplayEXT");
	EGLDisplay display = get(EGL_PLATFORM_SURFACELESS_MESA, NULL, NULL);
	EGLConfig config;
	EGLint count = 0, width = 0, value = 0;
	EGLSurface surface;
	EGLContext context;
	GLuint buffers[2], texture, shaded, textured;
	GLint viewport[4] = { -1, -1, -1, -1 };
	GLfloat colour[16] = { 0 };

	if (eglChooseConfig(display, wanted, &config, 1, &count) != EGL_FALSE)
		printf("a display that is not initialized has configurations\n");
	printf("not initialized: %#x\n", eglGetError());
	if (!eglInitialize(display, NULL, NULL)) {
		printf("no EGL: %#x\n", eglGetError());
		return 1;
	}
	eglChooseConfig(display, wanted, &config, 1, &count);
	printf("configurations: %d\n", count);
	eglGetConfigAttrib(display, config, EGL_RED_SIZE, &value);
	surface = eglCreatePbufferSurface(display, config, size);
	context = eglCreateContext(display, config, EGL_NO_CONTEXT, version);
	printf("current: %d\n", eglMakeCurrent(display, surface, surface, context));
	printf("the same: %d %d\n", eglGetCurrentContext() == context,
	       eglGetCurrentSurface(EGL_READ) == surface);
	eglQuerySurface(display, surface, EGL_WIDTH, &width);
	printf("red %d, width %d\n", value, width);
	printf("OpenGL ES 2.0: %d\n", !strncmp((const char *)glGetString(GL_VERSION), "OpenGL ES ", 10));

	clear(0.25f, 0.5f, 0.75f);
	picture("cleared");

	shaded = program("attribute vec2 place; void main() { gl_Position = vec4(place, 0.0, 1.0); }",
			 "uniform vec4 colour; void main() { gl_FragColor = colour; }");
	glUseProgram(shaded);
	glUniform4f(glGetUniformLocation(shaded, "colour"), 1, 0.5f, 0.25f, 1);
	glGetUniformfv(shaded, glGetUniformLocation(shaded, "colour"), colour);
	printf("colour: %g %g %g %g, then %g\n", colour[0], colour[1], colour[2], colour[3], colour[4]);
	glGetIntegerv(GL_VIEWPORT, viewport);
	printf("viewport: %d %d %d %d\n", viewport[0], viewport[1], viewport[2], viewport[3]);

	/* In memory. */
	clear(0, 0, 0);
	glEnableVertexAttribArray(0);
	glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, corners);
	glDrawArrays(GL_TRIANGLES, 0, 3);
	picture("a triangle of memory");
	glDrawElements(GL_TRIANGLES, 6, GL_UNSIGNED_SHORT, indices);
	picture("a square of memory");

	/* In buffers. */
	glGenBuffers(2, buffers);
	glBindBuffer(GL_ARRAY_BUFFER, buffers[0]);
	glBufferData(GL_ARRAY_BUFFER, sizeof(corners), corners, GL_STATIC_DRAW);
	glBindBuffer(GL_ELEMENT_ARRAY_BUFFER, buffers[1]);
	glBufferData(GL_ELEMENT_ARRAY_BUFFER, sizeof(indices), indices, GL_STATIC_DRAW);
	glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, (void *)0);
	clear(0, 0, 0);
	glDrawElements(GL_TRIANGLES, 3, GL_UNSIGNED_SHORT, (void *)(3 * sizeof(GLushort)));
	picture("the other triangle, of buffers");

	/* A texture whose rows have bytes between them. */
	textured = program("attribute vec2 place; varying vec2 at; void main() { at = place + 0.5; gl_Position = vec4(place, 0.0, 1.0); }",
			   "varying vec2 at; uniform sampler2D image; void main() { gl_FragColor = texture2D(image, at); }");
	glUseProgram(textured);
	glGenTextures(1, &texture);
	glBindTexture(GL_TEXTURE_2D, texture);
	glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
	glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
	glTexImage2D(GL_TEXTURE_2D, 0, GL_RGB, 2, 2, 0, GL_RGB, GL_UNSIGNED_BYTE, texels);
	glDrawElements(GL_TRIANGLES, 6, GL_UNSIGNED_SHORT, NULL);
	picture("a texture");
	eglSwapBuffers(display, surface);

	/* What is wrong. */
	glBindTexture(GL_TEXTURE_2D, texture);
	glEnable(0x1234);
	printf("unknown name: %#x\n", glGetError());
	check("asked again");
	glGenBuffers(-1, buffers);
	printf("negative number: %#x\n", glGetError());
	glTexImage2D(GL_TEXTURE_2D, 0, GL_RGB, -1, 2, 0, GL_RGB, GL_UNSIGNED_BYTE, texels);
	printf("negative size: %#x\n", glGetError());
	glTexImage2D(GL_TEXTURE_2D, 0, GL_RGB, 2, 2, 0, 0x1234, GL_UNSIGNED_BYTE, texels);
	printf("unknown format: %#x\n", glGetError());
	shader(GL_FRAGMENT_SHADER, "void main() { nothing }");
	check("a shader that does not compile");
	printf("no surface: %d\n", eglDestroySurface(display, NULL));
	printf("which is: %#x\n", eglGetError());

	eglDestroyContext(display, context);
	clear(1, 0, 0);
	picture("destroyed but current");
	eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
	printf("none current: %d, GL error %#x\n", eglGetCurrentContext() == EGL_NO_CONTEXT,
	       eglGetError());
	eglTerminate(display);
	return 0;
}
