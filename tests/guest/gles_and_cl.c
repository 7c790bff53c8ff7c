/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* OpenGL ES and OpenCL in one program, in two at once, or where one of them loses
 * its board and the other goes on. Prints the same wherever the same drivers work. */
#include "cl_test.h"
#include "gles_scene.h"

#include <sys/wait.h>
#include <unistd.h>

#ifndef GL_UNKNOWN_CONTEXT_RESET
#define GL_UNKNOWN_CONTEXT_RESET 0x8255
#endif

enum { N = 1000, MOST = 64, LONG = 1000000 };

static const char source[] =
	"__kernel void stir(__global uint *a, uint round)"
	"{ size_t i = get_global_id(0); a[i] = (a[i] ^ (uint)i) * 31u + round; }";

struct compute {
	struct gpu gpu;
	cl_kernel kernel;
	cl_mem buffer;
	cl_int error;
	unsigned data[N];
};

static struct compute compute;

static void compute_begin(void)
{
	compute.gpu = first_gpu();
	compute.kernel = kernel_of(build(&compute.gpu, source), "stir");
	compute.buffer = buffer_of(&compute.gpu, sizeof(compute.data));
	for (int i = 0; i < N; i++)
		compute.data[i] = i;
	NEED(clEnqueueWriteBuffer(compute.gpu.queue, compute.buffer, CL_TRUE, 0,
				  sizeof(compute.data), compute.data, 0, NULL, NULL));
}

/* One round of the kernel; the sum of what it made. */
static unsigned compute_round(unsigned round)
{
	size_t global = N;

	clSetKernelArg(compute.kernel, 0, sizeof(compute.buffer), &compute.buffer);
	clSetKernelArg(compute.kernel, 1, sizeof(round), &round);
	compute.error = clEnqueueNDRangeKernel(compute.gpu.queue, compute.kernel, 1, NULL, &global,
					       NULL, 0, NULL, NULL);
	if (!compute.error)
		compute.error = clEnqueueReadBuffer(compute.gpu.queue, compute.buffer, CL_TRUE, 0,
						    sizeof(compute.data), compute.data, 0, NULL, NULL);
	return scene_sum((const unsigned char *)compute.data, sizeof(compute.data));
}

static void draws(int rounds)
{
	struct scene scene = scene_begin(NULL);
	unsigned sums[MOST];

	for (int i = 0; i < rounds; i++)
		sums[i] = scene_draw(&scene, i);
	for (int i = 0; i < rounds; i++)
		printf("picture %d: %08x\n", i, sums[i]);
	printf("error %#x\n", glGetError());
	eglTerminate(scene.display);
}

/* Prints when the child has printed. */
static void computes(int rounds, pid_t child)
{
	unsigned sums[MOST];

	compute_begin();
	for (int i = 0; i < rounds; i++)
		sums[i] = compute_round(i);
	waitpid(child, NULL, 0);
	for (int i = 0; i < rounds; i++)
		printf("numbers %d: %08x\n", i, sums[i]);
	printf("error %d\n", compute.error);
}

static void both(int rounds)
{
	struct scene scene = scene_begin(NULL);

	compute_begin();
	for (int i = 0; i < rounds; i++) {
		unsigned picture = scene_draw(&scene, i);

		printf("%d: picture %08x, numbers %08x\n", i, picture, compute_round(i));
	}
	printf("errors %#x, %d\n", glGetError(), compute.error);
}

/* Draws and computes until one of them has lost its board; the other goes on. */
static void loses(void)
{
	GLenum (*status)(void);
	static const EGLint version[] = { EGL_CONTEXT_CLIENT_VERSION, 2, EGL_NONE };
	struct scene scene = scene_begin(NULL);
	int drawn = 1, computed = 1, i;

	status = (GLenum(*)(void))eglGetProcAddress("glGetGraphicsResetStatusEXT");
	compute_begin();
	printf("begun\n");
	for (i = 0; i < LONG && drawn && computed; i++) {
		scene_draw(&scene, i);
		drawn = eglSwapBuffers(scene.display, scene.surface);
		compute_round(i);
		computed = !compute.error;
	}
	if (!drawn) {
		printf("no picture: %#x", eglGetError());
		printf(", %#x, reset %d\n", glGetError(),
		       status && status() == GL_UNKNOWN_CONTEXT_RESET);
		printf("another context: %d",
		       !!eglCreateContext(scene.display, scene.config, NULL, version));
		printf(", %#x\n", eglGetError());
	}
	if (!computed)
		printf("no numbers: %d\n", compute.error);
	for (i = 0; i < 3; i++) {
		if (drawn)
			printf("picture %08x, error %#x\n", scene_draw(&scene, i), glGetError());
		if (computed) {
			memset(compute.data, 0, sizeof(compute.data));
			clEnqueueWriteBuffer(compute.gpu.queue, compute.buffer, CL_TRUE, 0,
					     sizeof(compute.data), compute.data, 0, NULL, NULL);
			printf("numbers %08x", compute_round(i));
			printf(", error %d\n", compute.error);
		}
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "both";
	int rounds = argc > 2 ? atoi(argv[2]) : 8;

	setbuf(stdout, NULL);
	if (rounds > MOST)
		rounds = MOST;
	if (!strcmp(what, "two")) {
		pid_t child = fork();

		if (!child) {
			draws(rounds);
			return 0;
		}
		computes(rounds, child);
	} else if (!strcmp(what, "loses")) {
		loses();
	} else {
		both(rounds);
	}
	return 0;
}
