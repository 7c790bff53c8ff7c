/* Two threads draw in contexts that share objects, their calls mixed; a thread
 * releases its context, which another thread then has; contexts in wrong hands. Prints the
 * same wherever the same driver draws. */
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GLES2/gl2.h>
#include <pthread.h>
#include <stdio.h>

enum { SIZE = 16, ROUNDS = 20 };

static EGLDisplay display;
static EGLSurface surfaces[2];
static EGLContext contexts[2];
static pthread_barrier_t barrier;
static GLuint texture;

static void colour(const char *what)
{
	unsigned char pixel[4] = { 0 };

	glReadPixels(SIZE / 2, SIZE / 2, 1, 1, GL_RGBA, GL_UNSIGNED_BYTE, pixel);
	printf("%s: %u %u %u %u, error %#x\n", what, pixel[0], pixel[1], pixel[2], pixel[3], glGetError());
}

/* Both clear in turns; their posted calls wait together. */
static void turns(int own)
{
	for (int round = 0; round < ROUNDS; round++) {
		glClearColor(own ? 0.5f : 0.25f, round / (float)ROUNDS, own, 1);
		pthread_barrier_wait(&barrier);
		glClear(GL_COLOR_BUFFER_BIT);
		pthread_barrier_wait(&barrier);
	}
}

static void *second(void *unused)
{
	static const unsigned char texel[4] = { 10, 20, 30, 40 };
	GLuint framebuffer;

	(void)unused;
	printf("the other's context: %d", eglMakeCurrent(display, surfaces[0], surfaces[0], contexts[0]));
	printf(", %#x\n", eglGetError());
	printf("its own: %d\n", eglMakeCurrent(display, surfaces[1], surfaces[1], contexts[1]));
	turns(1);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	colour("second");
	/* A texture of the other's. */
	glBindTexture(GL_TEXTURE_2D, texture);
	glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, 1, 1, 0, GL_RGBA, GL_UNSIGNED_BYTE, texel);
	glGenFramebuffers(1, &framebuffer);
	glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);
	glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, texture, 0);
	printf("complete: %d\n", glCheckFramebufferStatus(GL_FRAMEBUFFER) == GL_FRAMEBUFFER_COMPLETE);
	glBindFramebuffer(GL_FRAMEBUFFER, 0);
	glFinish();
	printf("released: %d\n", eglReleaseThread());
	return NULL;
}

int main(void)
{
	static const EGLint wanted[] = { EGL_SURFACE_TYPE, EGL_PBUFFER_BIT, EGL_RENDERABLE_TYPE,
		EGL_OPENGL_ES2_BIT, EGL_RED_SIZE, 8, EGL_ALPHA_SIZE, 8, EGL_NONE };
	static const EGLint size[] = { EGL_WIDTH, SIZE, EGL_HEIGHT, SIZE, EGL_NONE };
	static const EGLint version[] = { EGL_CONTEXT_CLIENT_VERSION, 2, EGL_NONE };
	PFNEGLGETPLATFORMDISPLAYEXTPROC get = (PFNEGLGETPLATFORMDISPLAYEXTPROC)
		eglGetProcAddress("eglGetPlatformDisplayEXT");
	EGLConfig config;
	EGLint count = 0;
	pthread_t thread;
	unsigned char texel[4] = { 0 };
	GLuint framebuffer;

	setbuf(stdout, NULL);
	display = get(EGL_PLATFORM_SURFACELESS_MESA, NULL, NULL);
	eglInitialize(display, NULL, NULL);
	eglChooseConfig(display, wanted, &config, 1, &count);
	for (int i = 0; i < 2; i++) {
		surfaces[i] = eglCreatePbufferSurface(display, config, size);
		contexts[i] = eglCreateContext(display, config, i ? contexts[0] : EGL_NO_CONTEXT, version);
	}
	glClear(GL_COLOR_BUFFER_BIT);
	eglMakeCurrent(display, surfaces[0], surfaces[0], contexts[0]);
	glGenTextures(1, &texture);
	glBindTexture(GL_TEXTURE_2D, texture);
	glFinish();
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&thread, NULL, second, NULL);
	turns(0);
	pthread_barrier_wait(&barrier);
	colour("first");
	pthread_barrier_wait(&barrier);
	pthread_join(thread, NULL);

	glGenFramebuffers(1, &framebuffer);
	glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);
	glBindTexture(GL_TEXTURE_2D, texture);
	glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, texture, 0);
	glReadPixels(0, 0, 1, 1, GL_RGBA, GL_UNSIGNED_BYTE, texel);
	printf("the shared texture: %u %u %u %u\n", texel[0], texel[1], texel[2], texel[3]);
	printf("the ended thread's context: %d\n",
	       eglMakeCurrent(display, surfaces[1], surfaces[1], contexts[1]));
	colour("second, here");
	printf("one without the other: %d", eglMakeCurrent(display, surfaces[1], EGL_NO_SURFACE, contexts[1]));
	printf(", %#x\n", eglGetError());
	eglTerminate(display);
	printf("ended, and still current: %d\n", eglGetCurrentContext() == contexts[1]);
	colour("after the display's end");
	eglReleaseThread();
	return 0;
}
