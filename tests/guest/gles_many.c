/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Programs that draw and compute at once, each in a process of its own: "mixed" is one
 * whose two threads share objects, one with a thread, and one of OpenCL; a number is as
 * many that draw. Each one's words come together. Prints the same wherever the same
 * drivers work. */
#define _GNU_SOURCE
#include "cl_test.h"
#include "gles_scene.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 12, MOST = 32, N = 2000 };

static void draws(int seed)
{
	struct scene scene = scene_begin(NULL);

	for (int i = 0; i < ROUNDS; i++) {
		printf("  %08x\n", scene_draw(&scene, seed + i));
		eglSwapBuffers(scene.display, scene.surface);
	}
	printf("  error %#x\n", glGetError());
	eglTerminate(scene.display);
}

static struct scene scene;
static EGLContext second_context;
static EGLSurface second_surface;
static GLuint texture;
static pthread_barrier_t turn;

static const char show[] =
	"precision mediump float; varying vec2 at; uniform sampler2D picture;"
	"void main() { gl_FragColor = texture2D(picture, at * 0.5 + 0.5); }";

static void *paints(void *unused)
{
	unsigned char texels[4 * 4 * 4];

	(void)unused;
	eglMakeCurrent(scene.display, second_surface, second_surface, second_context);
	for (int i = 0; i < ROUNDS; i++) {
		for (size_t k = 0; k < sizeof(texels); k++)
			texels[k] = k * 7 + i * 13;
		glBindTexture(GL_TEXTURE_2D, texture);
		glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, 4, 4, 0, GL_RGBA, GL_UNSIGNED_BYTE, texels);
		glFinish();
		pthread_barrier_wait(&turn);
		/* It draws with its own meanwhile. */
		glClearColor(i / 16.0f, 0, 1, 1);
		glClear(GL_COLOR_BUFFER_BIT);
		glFinish();
		pthread_barrier_wait(&turn);
	}
	eglReleaseThread();
	return NULL;
}

/* One thread paints a texture, the other draws with it. */
static void shares(int unused)
{
	static const EGLint size[] = { EGL_WIDTH, SIDE, EGL_HEIGHT, SIDE, EGL_NONE };
	static const EGLint version[] = { EGL_CONTEXT_CLIENT_VERSION, 2, EGL_NONE };
	pthread_t thread;

	(void)unused;
	scene = scene_begin(NULL);
	second_context = eglCreateContext(scene.display, scene.config, scene.context, version);
	second_surface = eglCreatePbufferSurface(scene.display, scene.config, size);
	glGenTextures(1, &texture);
	glBindTexture(GL_TEXTURE_2D, texture);
	glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
	glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
	glFinish();
	scene.program = scene_program(scene_vertex, show);
	scene.turn = -1;
	pthread_barrier_init(&turn, NULL, 2);
	pthread_create(&thread, NULL, paints, NULL);
	for (int i = 0; i < ROUNDS; i++) {
		pthread_barrier_wait(&turn);
		glBindTexture(GL_TEXTURE_2D, texture);
		printf("  %08x\n", scene_draw(&scene, i));
		pthread_barrier_wait(&turn);
	}
	pthread_join(thread, NULL);
	printf("  error %#x\n", glGetError());
}

static const char source[] =
	"__kernel void stir(__global uint *a, uint round)"
	"{ size_t i = get_global_id(0); a[i] = (a[i] ^ (uint)i) * 31u + round; }";

static void computes(int unused)
{
	static unsigned data[N];
	struct gpu gpu = first_gpu();
	cl_kernel kernel = kernel_of(build(&gpu, source), "stir");
	cl_mem buffer = buffer_of(&gpu, sizeof(data));
	size_t global = N;

	(void)unused;
	NEED(clEnqueueWriteBuffer(gpu.queue, buffer, CL_TRUE, 0, sizeof(data), data, 0, NULL, NULL));
	for (cl_uint i = 0; i < ROUNDS; i++) {
		NEED(clSetKernelArg(kernel, 0, sizeof(buffer), &buffer));
		NEED(clSetKernelArg(kernel, 1, sizeof(i), &i));
		NEED(clEnqueueNDRangeKernel(gpu.queue, kernel, 1, NULL, &global, NULL, 0, NULL, NULL));
		NEED(clEnqueueReadBuffer(gpu.queue, buffer, CL_TRUE, 0, sizeof(data), data, 0, NULL, NULL));
		printf("  %08x\n", scene_sum((unsigned char *)data, sizeof(data)));
	}
}

struct one {
	void (*run)(int);
	const char *name;
	int words;
	pid_t process;
};

/* Starts it; it begins when the others are there, too. */
static void start(struct one *one, int number, const int gate[2])
{
	char go;

	one->words = memfd_create("words", 0);
	one->process = fork();
	if (one->process)
		return;
	dup2(one->words, 1);
	close(gate[1]);
	if (read(gate[0], &go, 1))
		exit(1);
	one->run(number);
	fflush(stdout);
	exit(0);
}

static void tell(struct one *one)
{
	char bytes[4096];
	ssize_t len;
	int status = -1;

	waitpid(one->process, &status, 0);
	printf("%s, %d\n", one->name, status);
	lseek(one->words, 0, SEEK_SET);
	while ((len = read(one->words, bytes, sizeof(bytes))) > 0)
		fwrite(bytes, 1, len, stdout);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	struct one all[MOST] = { { shares, "two threads", 0, 0 }, { draws, "draws", 0, 0 },
				 { computes, "computes", 0, 0 } };
	int count = argc > 1 ? atoi(argv[1]) : 0, gate[2];

	for (int i = 0; i < count && i < MOST; i++)
		all[i] = (struct one){ draws, "draws", 0, 0 };
	if (!count)
		count = 3;
	if (pipe(gate))
		return 1;
	for (int i = 0; i < count; i++)
		start(&all[i], i, gate);
	close(gate[1]);
	for (int i = 0; i < count; i++)
		tell(&all[i]);
	return 0;
}
