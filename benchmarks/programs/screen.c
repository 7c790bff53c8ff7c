/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Draws frames of 1920x1080, each a colour and a triangle, and reads each:
 *
 *     screen FRAMES
 *
 * A line at the begin and at the end, behind a first frame that does not count. */
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GLES2/gl2.h>
#include <stdio.h>
#include <stdlib.h>

enum { WIDTH = 1920, HEIGHT = 1080 };

static GLuint shader(GLenum kind, const char *text)
{
	GLuint made = glCreateShader(kind);

	glShaderSource(made, 1, &text, NULL);
	glCompileShader(made);
	return made;
}

static EGLSurface open_surface(EGLDisplay display)
{
	static const EGLint wanted[] = { EGL_SURFACE_TYPE, EGL_PBUFFER_BIT, EGL_RENDERABLE_TYPE,
		EGL_OPENGL_ES2_BIT, EGL_RED_SIZE, 8, EGL_ALPHA_SIZE, 8, EGL_NONE };
	static const EGLint size[] = { EGL_WIDTH, WIDTH, EGL_HEIGHT, HEIGHT, EGL_NONE };
	static const EGLint version[] = { EGL_CONTEXT_CLIENT_VERSION, 2, EGL_NONE };
	EGLConfig config;
	EGLSurface surface;
	EGLint count = 0;

	if (!eglInitialize(display, NULL, NULL) ||
	    !eglChooseConfig(display, wanted, &config, 1, &count) || count < 1)
		return EGL_NO_SURFACE;
	surface = eglCreatePbufferSurface(display, config, size);
	eglMakeCurrent(display, surface, surface,
		       eglCreateContext(display, config, EGL_NO_CONTEXT, version));
	return surface;
}

int main(int argc, char **argv)
{
	static const float corners[] = { -0.5f, -0.5f, 0.5f, -0.5f, 0, 0.5f };
	static unsigned char pixels[WIDTH * HEIGHT * 4];
	PFNEGLGETPLATFORMDISPLAYEXTPROC get = (PFNEGLGETPLATFORMDISPLAYEXTPROC)
		eglGetProcAddress("eglGetPlatformDisplayEXT");
	int frames = argc > 1 ? atoi(argv[1]) : 20;
	EGLDisplay display = get(EGL_PLATFORM_SURFACELESS_MESA, NULL, NULL);
	EGLSurface surface = open_surface(display);
	GLuint program = glCreateProgram(), buffer;

	glAttachShader(program, shader(GL_VERTEX_SHADER,
		"attribute vec2 at; void main() { gl_Position = vec4(at, 0.0, 1.0); }"));
	glAttachShader(program, shader(GL_FRAGMENT_SHADER,
		"void main() { gl_FragColor = vec4(1.0, 0.5, 0.0, 1.0); }"));
	glBindAttribLocation(program, 0, "at");
	glLinkProgram(program);
	glUseProgram(program);
	glGenBuffers(1, &buffer);
	glBindBuffer(GL_ARRAY_BUFFER, buffer);
	glBufferData(GL_ARRAY_BUFFER, sizeof(corners), corners, GL_STATIC_DRAW);
	glEnableVertexAttribArray(0);
	glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, NULL);
	for (int frame = -1; frame < frames; frame++) {
		if (frame == 0) {
			puts("begin");
			fflush(stdout);
		}
		glClearColor((float)(frame & 15) / 15, 0, 0.5f, 1);
		glClear(GL_COLOR_BUFFER_BIT);
		glDrawArrays(GL_TRIANGLES, 0, 3);
		glReadPixels(0, 0, WIDTH, HEIGHT, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
		eglSwapBuffers(display, surface);
	}
	puts("end");
	fflush(stdout);
	return glGetError() != GL_NO_ERROR;
}
