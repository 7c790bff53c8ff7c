/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Draws frames that nobody reads, and waits for all of them at the end:
 *
 *     gles_frames FRAMES */
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GLES2/gl2.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	static const EGLint wanted[] = { EGL_SURFACE_TYPE, EGL_PBUFFER_BIT, EGL_RENDERABLE_TYPE,
		EGL_OPENGL_ES2_BIT, EGL_NONE };
	static const EGLint size[] = { EGL_WIDTH, 64, EGL_HEIGHT, 64, EGL_NONE };
	static const EGLint version[] = { EGL_CONTEXT_CLIENT_VERSION, 2, EGL_NONE };
	PFNEGLGETPLATFORMDISPLAYEXTPROC get = (PFNEGLGETPLATFORMDISPLAYEXTPROC)
		eglGetProcAddress("eglGetPlatformDisplayEXT");
	EGLDisplay display = get(EGL_PLATFORM_SURFACELESS_MESA, NULL, NULL);
	int frames = argc > 1 ? atoi(argv[1]) : 10;
	EGLConfig config;
	EGLSurface surface;
	EGLContext context;
	EGLint count = 0;

	if (!eglInitialize(display, NULL, NULL) ||
	    !eglChooseConfig(display, wanted, &config, 1, &count) || count < 1)
		return 2;
	surface = eglCreatePbufferSurface(display, config, size);
	context = eglCreateContext(display, config, EGL_NO_CONTEXT, version);
	if (!eglMakeCurrent(display, surface, surface, context))
		return 2;
	for (int frame = 0; frame < frames; frame++) {
		glClear(GL_COLOR_BUFFER_BIT);
		eglSwapBuffers(display, surface);
	}
	glFinish();
	return glGetError() != GL_NO_ERROR;
}
