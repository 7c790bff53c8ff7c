/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Three APIs on one GPU at the same time, from four processes of one guest: one with OpenCL and
 * CUDA, one with OpenGL ES, one with CUDA, one with OpenCL. Each computes ROUNDS times, and compares. Usage:
 *
 *     together MODULE
 *
 * MODULE is a file with what nvcc made of kernels.cu. */
#define CL_TARGET_OPENCL_VERSION 120
#include "common.h"
#include <CL/cl.h>
#include <EGL/egl.h>
#include <GLES2/gl2.h>
#include <sys/wait.h>
#include <unistd.h>

#define ELEMENTS (1 << 18)
#define ROUNDS 50
#define SIDE 256

static float a[ELEMENTS], b[ELEMENTS], c[ELEMENTS];

static void check(int is_so, const char *what)
{
	if (!is_so) {
		fprintf(stderr, "together: %s\n", what);
		exit(1);
	}
}

static int wrong_sums(void)
{
	int wrong = 0;

	for (int n = 0; n < ELEMENTS; n++)
		wrong += c[n] != a[n] + b[n];
	memset(c, 0, sizeof(c));
	return wrong;
}

struct cuda {
	pointer to[3];
	void *kernel;
};

static struct cuda cuda_begin(const char *path)
{
	struct cuda it;

	check(begin(path), "the module cannot be read");
	for (int n = 0; n < 3; n++)
		it.to[n] = on_device(sizeof(a));
	it.kernel = function("add");
	return it;
}

static int cuda_add(struct cuda *it)
{
	int number = ELEMENTS;
	void *parameters[] = { &it->to[0], &it->to[1], &it->to[2], &number };

	NEED(cuMemcpyHtoD_v2(it->to[0], a, sizeof(a)));
	NEED(cuMemcpyHtoD_v2(it->to[1], b, sizeof(b)));
	NEED(cuLaunchKernel(it->kernel, ELEMENTS / 256, 1, 1, 256, 1, 1, 0, NULL, parameters, NULL));
	NEED(cuMemcpyDtoH_v2(c, it->to[2], sizeof(c)));
	return wrong_sums();
}

struct opencl {
	cl_command_queue queue;
	cl_kernel kernel;
	cl_mem memory[3];
};

static struct opencl opencl_begin(void)
{
	const char *source = "kernel void add(global float *a, global float *b, global float *c) {\n"
			     "	int i = get_global_id(0);\n"
			     "	c[i] = a[i] + b[i];\n"
			     "}\n";
	cl_platform_id platform;
	cl_device_id device;
	cl_context context;
	cl_program program;
	struct opencl it;
	char name[256];

	check(!clGetPlatformIDs(1, &platform, NULL), "there is no OpenCL");
	check(!clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "OpenCL has no device");
	clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof(name), name, NULL);
	printf("OpenCL on %s\n", name);
	context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
	it.queue = clCreateCommandQueue(context, device, 0, NULL);
	program = clCreateProgramWithSource(context, 1, &source, NULL, NULL);
	check(!clBuildProgram(program, 1, &device, "", NULL, NULL), "OpenCL does not build");
	it.kernel = clCreateKernel(program, "add", NULL);
	for (int n = 0; n < 3; n++) {
		it.memory[n] = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof(a), NULL, NULL);
		check(!clSetKernelArg(it.kernel, n, sizeof(cl_mem), &it.memory[n]), "OpenCL takes no argument");
	}
	return it;
}

static int opencl_add(struct opencl *it)
{
	size_t elements = ELEMENTS;

	clEnqueueWriteBuffer(it->queue, it->memory[0], CL_TRUE, 0, sizeof(a), a, 0, NULL, NULL);
	clEnqueueWriteBuffer(it->queue, it->memory[1], CL_TRUE, 0, sizeof(b), b, 0, NULL, NULL);
	check(!clEnqueueNDRangeKernel(it->queue, it->kernel, 1, NULL, &elements, NULL, 0, NULL, NULL),
	      "OpenCL runs no kernel");
	clEnqueueReadBuffer(it->queue, it->memory[2], CL_TRUE, 0, sizeof(c), c, 0, NULL, NULL);
	return wrong_sums();
}

static GLuint shader(GLenum kind, const char *source)
{
	GLuint it = glCreateShader(kind);

	glShaderSource(it, 1, &source, NULL);
	glCompileShader(it);
	return it;
}

/* Squares of one colour each; pixels that are not that. */
static int draw(void)
{
	static const GLfloat corners[] = { -1, -1, 1, -1, -1, 1, 1, 1 };
	static const EGLint wanted[] = { EGL_SURFACE_TYPE, EGL_PBUFFER_BIT, EGL_RENDERABLE_TYPE, EGL_OPENGL_ES2_BIT,
					 EGL_RED_SIZE, 8, EGL_GREEN_SIZE, 8, EGL_BLUE_SIZE, 8, EGL_NONE };
	static const EGLint size[] = { EGL_WIDTH, SIDE, EGL_HEIGHT, SIDE, EGL_NONE };
	static const EGLint second[] = { EGL_CONTEXT_CLIENT_VERSION, 2, EGL_NONE };
	static unsigned char pixels[SIDE * SIDE * 4];
	EGLDisplay display = eglGetDisplay(EGL_DEFAULT_DISPLAY);
	EGLSurface surface;
	EGLConfig config;
	EGLint number;
	GLuint program;
	int wrong = 0, before;

	check(eglInitialize(display, NULL, NULL), "EGL does not start");
	check(eglChooseConfig(display, wanted, &config, 1, &number) && number, "EGL has no such configuration");
	surface = eglCreatePbufferSurface(display, config, size);
	check(eglMakeCurrent(display, surface, surface, eglCreateContext(display, config, EGL_NO_CONTEXT, second)),
	      "EGL makes no context current");
	printf("OpenGL ES on %s\n", (const char *)glGetString(GL_RENDERER));
	program = glCreateProgram();
	glAttachShader(program, shader(GL_VERTEX_SHADER, "attribute vec4 p; void main() { gl_Position = p; }"));
	glAttachShader(program, shader(GL_FRAGMENT_SHADER,
				       "precision mediump float; uniform vec4 c; void main() { gl_FragColor = c; }"));
	glBindAttribLocation(program, 0, "p");
	glLinkProgram(program);
	glUseProgram(program);
	glEnableVertexAttribArray(0);
	glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 0, corners);
	for (int round = 0; round < ROUNDS; round++) {
		glUniform4f(glGetUniformLocation(program, "c"), round / 255.f, 1, 0, 1);
		glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
		glReadPixels(0, 0, SIDE, SIDE, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
		before = wrong;
		for (int n = 0; n < SIDE * SIDE; n++)
			wrong += pixels[4 * n] != round || pixels[4 * n + 1] != 255 || pixels[4 * n + 2] != 0;
		/* Behind the check: a call before it might help. */
		if (wrong != before)
			printf("OpenGL ES: frame %d has %d wrong, the first %d %d %d; error 0x%x\n", round, wrong - before,
			       pixels[0], pixels[1], pixels[2], glGetError());
	}
	return wrong;
}

/* What one of the processes does; how much of it was wrong. */
static int work(int number, const char *path)
{
	struct opencl opencl;
	struct cuda cuda;
	int wrong = 0;

	if (number == 1)
		return draw();
	if (number != 2)
		opencl = opencl_begin();
	if (number != 3)
		cuda = cuda_begin(path);
	for (int round = 0; round < ROUNDS; round++) {
		if (number != 2)
			wrong += opencl_add(&opencl);
		if (number != 3)
			wrong += cuda_add(&cuda);
	}
	return wrong;
}

int main(int argc, char **argv)
{
	static const char *const names[] = { "OpenCL and CUDA", "OpenGL ES", "CUDA", "OpenCL" };
	int failed = 0;

	if (argc != 2) {
		fprintf(stderr, "usage: together MODULE\n");
		return 2;
	}
	for (int n = 0; n < ELEMENTS; n++) {
		a[n] = n * 0.5f;
		b[n] = n * 0.25f;
	}
	/* Before any of them uses an API. */
	for (int number = 0; number < 4; number++)
		if (fork() == 0) {
			int wrong = work(number, argv[1]);

			printf("%s: %d wrong\n", names[number], wrong);
			fflush(stdout);
			_exit(wrong != 0);
		}
	for (int number = 0, status; number < 4; number++)
		failed |= wait(&status) < 0 || status != 0;
	printf("%s\n", failed ? "wrong" : "all right");
	return failed;
}
