/* Sync objects of EGL: fences that other threads and contexts wait for, reusable ones
 * between threads, timeouts, attributes, errors, by the functions of EGL 1.5 and of the
 * extensions; prints what it got, and a sum of the picture. It prints the same wherever the
 * same driver draws. */
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GLES2/gl2.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SIZE = 64, MILLISECOND = 1000000 };

static EGLDisplay display;
static EGLSurface surface;
static EGLConfig config;
static PFNEGLCREATESYNCKHRPROC create_khr;
static PFNEGLDESTROYSYNCKHRPROC destroy_khr;
static PFNEGLCLIENTWAITSYNCKHRPROC client_wait_khr;
static PFNEGLGETSYNCATTRIBKHRPROC attribute_khr;
static PFNEGLSIGNALSYNCKHRPROC signal_khr;
static PFNEGLWAITSYNCKHRPROC wait_khr;

/* A call's result, and the error that it left. */
static void told(const char *what, long result)
{
	printf("%s: %#lx, %#x\n", what, result, eglGetError());
}

#define TOLD(call) (told)(#call, (long)(call))
#define MADE(call) (told)(#call, (call) != EGL_NO_SYNC)

static EGLContext context(void)
{
	static const EGLint version[] = { EGL_CONTEXT_CLIENT_VERSION, 2, EGL_NONE };

	return eglCreateContext(display, config, EGL_NO_CONTEXT, version);
}

static void begin(void)
{
	static const EGLint wanted[] = { EGL_SURFACE_TYPE, EGL_PBUFFER_BIT, EGL_RENDERABLE_TYPE,
		EGL_OPENGL_ES2_BIT, EGL_RED_SIZE, 8, EGL_GREEN_SIZE, 8, EGL_BLUE_SIZE, 8,
		EGL_ALPHA_SIZE, 8, EGL_NONE };
	static const EGLint size[] = { EGL_WIDTH, SIZE, EGL_HEIGHT, SIZE, EGL_NONE };
	EGLint count = 0;

	display = eglGetPlatformDisplay(EGL_PLATFORM_SURFACELESS_MESA, NULL, NULL);
	if (!eglInitialize(display, NULL, NULL) ||
	    !eglChooseConfig(display, wanted, &config, 1, &count) || count < 1) {
		printf("no EGL: %#x\n", eglGetError());
		exit(1);
	}
	surface = eglCreatePbufferSurface(display, config, size);
	create_khr = (PFNEGLCREATESYNCKHRPROC)eglGetProcAddress("eglCreateSyncKHR");
	destroy_khr = (PFNEGLDESTROYSYNCKHRPROC)eglGetProcAddress("eglDestroySyncKHR");
	client_wait_khr = (PFNEGLCLIENTWAITSYNCKHRPROC)eglGetProcAddress("eglClientWaitSyncKHR");
	attribute_khr = (PFNEGLGETSYNCATTRIBKHRPROC)eglGetProcAddress("eglGetSyncAttribKHR");
	signal_khr = (PFNEGLSIGNALSYNCKHRPROC)eglGetProcAddress("eglSignalSyncKHR");
	wait_khr = (PFNEGLWAITSYNCKHRPROC)eglGetProcAddress("eglWaitSyncKHR");
}

static void extensions(void)
{
	static const char *const names[] = { "EGL_KHR_fence_sync", "EGL_KHR_reusable_sync",
		"EGL_KHR_wait_sync" };
	const char *all = eglQueryString(display, EGL_EXTENSIONS);

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		printf("%s: %d\n", names[i], strstr(all, names[i]) != NULL);
}

static void without_a_context(void)
{
	EGLDisplay none = EGL_NO_DISPLAY;

	MADE(eglCreateSync(display, EGL_SYNC_FENCE, NULL));
	MADE(create_khr(display, EGL_SYNC_FENCE_KHR, NULL));
	MADE(eglCreateSync(none, EGL_SYNC_FENCE, NULL));
	MADE(eglCreateSync(display, 0x1234, NULL));
	MADE(create_khr(display, 0x1234, NULL));
	TOLD(eglDestroySync(display, EGL_NO_SYNC));
	TOLD(eglDestroySync(none, EGL_NO_SYNC));
	TOLD(eglClientWaitSync(display, EGL_NO_SYNC, 0, 0));
	TOLD(eglClientWaitSync(none, EGL_NO_SYNC, 0, 0));
	TOLD(eglWaitSync(display, EGL_NO_SYNC, 0));
}

static void attributes(EGLSync sync)
{
	EGLAttrib value = 0;
	EGLint word = 0;

	TOLD(eglGetSyncAttrib(display, sync, EGL_SYNC_TYPE, &value));
	printf("type %#lx\n", (long)value);
	value = 7;
	TOLD(eglGetSyncAttrib(display, sync, EGL_SYNC_CONDITION, &value));
	printf("condition %#lx\n", (long)value);
	TOLD(attribute_khr(display, sync, EGL_SYNC_STATUS_KHR, &word));
	printf("status %#x\n", word);
	TOLD(eglGetSyncAttrib(display, sync, 0x1234, &value));
	TOLD(attribute_khr(display, sync, EGL_SYNC_TYPE_KHR, NULL));
}

static void draw(float red)
{
	glClearColor(red, 0.5f, 0.25f, 1);
	glClear(GL_COLOR_BUFFER_BIT);
}

static void fences(void)
{
	static const EGLAttrib none[] = { EGL_NONE }, some[] = { 1, 2, EGL_NONE };
	static const EGLint words[] = { 1, 2, EGL_NONE };
	EGLSync fence, other;

	draw(0.25f);
	fence = eglCreateSync(display, EGL_SYNC_FENCE, none);
	told("a fence", fence != EGL_NO_SYNC);
	TOLD(eglClientWaitSync(display, fence, EGL_SYNC_FLUSH_COMMANDS_BIT, EGL_FOREVER));
	TOLD(eglClientWaitSync(display, fence, 0, 0));
	TOLD(client_wait_khr(display, fence, 0, EGL_FOREVER_KHR));
	attributes(fence);
	TOLD(signal_khr(display, fence, EGL_SIGNALED_KHR));
	TOLD(eglWaitSync(display, fence, 0));
	TOLD(wait_khr(display, fence, 0));
	TOLD(eglWaitSync(display, fence, 1));
	MADE(eglCreateSync(display, EGL_SYNC_FENCE, some));
	MADE(create_khr(display, EGL_SYNC_FENCE_KHR, words));
	MADE(eglCreateSync(display, 0x1234, NULL));
	MADE(create_khr(display, 0x1234, NULL));
	other = create_khr(display, EGL_SYNC_FENCE_KHR, NULL);
	told("another", other != EGL_NO_SYNC && other != fence);
	TOLD(destroy_khr(display, other));
	TOLD(eglDestroySync(display, fence));
	TOLD(eglDestroySync(display, fence));
	TOLD(eglClientWaitSync(display, fence, 0, 0));
	TOLD(eglWaitSync(display, fence, 0));
}

static void *waits_for_a_fence(void *fence)
{
	EGLint ended = eglClientWaitSync(display, fence, 0, EGL_FOREVER);

	printf("a thread without a context waited: %#x, %#x\n", ended, eglGetError());
	return NULL;
}

/* A thread waits for what another one draws, while that one waits for it. */
static void across_threads(void)
{
	EGLSync fence;
	pthread_t thread;

	draw(0.5f);
	fence = eglCreateSync(display, EGL_SYNC_FENCE, NULL);
	glFlush();
	pthread_create(&thread, NULL, waits_for_a_fence, fence);
	pthread_join(thread, NULL);
	eglDestroySync(display, fence);
}

static void *draws_then(void *sync)
{
	static const EGLint size[] = { EGL_WIDTH, SIZE, EGL_HEIGHT, SIZE, EGL_NONE };
	EGLSurface own = eglCreatePbufferSurface(display, config, size);
	EGLContext mine = context();
	EGLSync *fence = sync;

	eglMakeCurrent(display, own, own, mine);
	draw(0.75f);
	*fence = eglCreateSync(display, EGL_SYNC_FENCE, NULL);
	glFlush();
	eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
	eglDestroyContext(display, mine);
	eglDestroySurface(display, own);
	return NULL;
}

/* Commands behind it wait for another context's. */
static void across_contexts(void)
{
	unsigned char pixel[4] = { 0 };
	EGLSync fence = EGL_NO_SYNC;
	pthread_t thread;

	pthread_create(&thread, NULL, draws_then, &fence);
	pthread_join(thread, NULL);
	TOLD(eglWaitSync(display, fence, 0));
	draw(1);
	glReadPixels(1, 1, 1, 1, GL_RGBA, GL_UNSIGNED_BYTE, pixel);
	printf("drawn behind it: %u %u %u %u\n", pixel[0], pixel[1], pixel[2], pixel[3]);
	TOLD(eglDestroySync(display, fence));
}

static void *waits(void *sync)
{
	return (void *)(intptr_t)client_wait_khr(display, sync, 0, EGL_FOREVER_KHR);
}

static void reusable(void)
{
	static const EGLint words[] = { 1, 2, EGL_NONE };
	EGLSyncKHR sync = create_khr(display, EGL_SYNC_REUSABLE_KHR, NULL);
	struct timespec before, after;
	pthread_t threads[3];
	int64_t ns;

	told("a reusable one", sync != EGL_NO_SYNC_KHR);
	MADE(create_khr(display, EGL_SYNC_REUSABLE_KHR, words));
	attributes(sync);
	TOLD(client_wait_khr(display, sync, 0, 0));
	clock_gettime(CLOCK_MONOTONIC, &before);
	TOLD(client_wait_khr(display, sync, 0, 20 * MILLISECOND));
	clock_gettime(CLOCK_MONOTONIC, &after);
	ns = (after.tv_sec - before.tv_sec) * 1000000000LL + after.tv_nsec - before.tv_nsec;
	printf("20 ms later: %d\n", ns >= 20 * MILLISECOND);
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, waits, sync);
	TOLD(signal_khr(display, sync, EGL_SIGNALED_KHR));
	for (int i = 0; i < 3; i++) {
		void *ended;

		pthread_join(threads[i], &ended);
		printf("thread %d: %#lx\n", i, (long)(intptr_t)ended);
	}
	TOLD(eglClientWaitSync(display, sync, EGL_SYNC_FLUSH_COMMANDS_BIT, EGL_FOREVER));
	attributes(sync);
	TOLD(signal_khr(display, sync, EGL_UNSIGNALED_KHR));
	TOLD(client_wait_khr(display, sync, 0, MILLISECOND));
	TOLD(destroy_khr(display, sync));
	TOLD(destroy_khr(display, sync));
	TOLD(signal_khr(display, sync, EGL_SIGNALED_KHR));
}

static void picture(void)
{
	static unsigned char pixels[SIZE * SIZE * 4];
	uint64_t sum = 14695981039346656037u;

	glReadPixels(0, 0, SIZE, SIZE, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
	for (size_t i = 0; i < sizeof(pixels); i++)
		sum = (sum ^ pixels[i]) * 1099511628211u;
	printf("the picture: %016llx, GL error %#x\n", (unsigned long long)sum, glGetError());
}

/* What is left on a display goes with it. */
static void end(void)
{
	EGLSync fence = eglCreateSync(display, EGL_SYNC_FENCE, NULL);
	EGLSyncKHR sync = create_khr(display, EGL_SYNC_REUSABLE_KHR, NULL);

	told("both", fence != EGL_NO_SYNC && sync != EGL_NO_SYNC_KHR);
	eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
	TOLD(eglTerminate(display));
	TOLD(eglDestroySync(display, fence));
	TOLD(eglInitialize(display, NULL, NULL));
	TOLD(eglDestroySync(display, fence));
	TOLD(eglDestroySync(display, sync));
	eglTerminate(display);
}

int main(void)
{
	begin();
	extensions();
	without_a_context();
	told("current", eglMakeCurrent(display, surface, surface, context()));
	printf("of OpenGL ES: %d\n", strstr((const char *)glGetString(GL_EXTENSIONS), "GL_OES_EGL_sync") != NULL);
	fences();
	across_threads();
	across_contexts();
	reusable();
	picture();
	end();
	return 0;
}
