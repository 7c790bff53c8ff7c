// SPDX-License-Identifier: MIT OR Apache-2.0
/* Programs that include files of the guest: by -I, in every spelling; beside
 * the including file; through macros; and what a compiler says of them. */
#include "cl_same.h"
#include <sys/stat.h>
#include <unistd.h>

static cl_context context;
static cl_device_id device;
static char folder[] = "/tmp/cl_includesXXXXXX";

static void file(const char *name, const char *text)
{
	FILE *out = fopen(name, "w");

	if (!out || fputs(text, out) < 0 || fclose(out)) {
		perror(name);
		exit(1);
	}
}

static void files(void)
{
	if (!mkdtemp(folder) || chdir(folder) || mkdir("inc", 0700) ||
	    mkdir("other dir", 0700)) {
		perror(folder);
		exit(1);
	}
	file("inc/one.h", "#pragma once\n#include \"two.h\"\n#define ONE 1\n");
	file("inc/two.h", "#include \"../other dir/three.h\"\n#define TWO (THREE - 1)\n");
	file("other dir/three.h", "#define THREE 3\n");
	file("inc/bad.h", "int x = ;\n");
	file("inc/kernel.cl", "kernel void other(global int *out) { *out = 70; }\n");
}

static void *log_of(cl_program program)
{
	size_t size = 0;
	char *log;

	NEED(clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, NULL, &size));
	log = calloc(1, size + 1);
	NEED(clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, size, log, NULL));
	return log;
}

static cl_program source(const char *text)
{
	cl_int error;
	cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &error);

	NEED(error);
	return program;
}

static void run(cl_program program, const char *name)
{
	cl_int error, value = -1;
	cl_command_queue queue = clCreateCommandQueue(context, device, 0, &error);
	cl_mem out = clCreateBuffer(context, CL_MEM_READ_WRITE, 4, NULL, &error);
	cl_kernel kernel = clCreateKernel(program, name, &error);
	size_t one = 1;

	SAY(error);
	if (error)
		return;
	NEED(clSetKernelArg(kernel, 0, sizeof(out), &out));
	NEED(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, NULL, 0, NULL, NULL));
	NEED(clEnqueueReadBuffer(queue, out, CL_TRUE, 0, 4, &value, 0, NULL, NULL));
	printf("%s: %d\n", name, value);
	clReleaseKernel(kernel);
	clReleaseMemObject(out);
	clReleaseCommandQueue(queue);
}

static cl_program built_with(const char *text, const char *options)
{
	cl_program program = source(text);
	char own[256];

	printf("options: %s\n", options);
	SAY(clBuildProgram(program, 1, &device, options, NULL, NULL));
	NEED(clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_OPTIONS, sizeof(own), own,
				   NULL));
	printf("its own options: %s\n", strcmp(own, options) ? "no" : "yes");
	return program;
}

static void builds(const char *text, const char *options, const char *kernel)
{
	cl_program program = built_with(text, options);

	run(program, kernel);
	clReleaseProgram(program);
}

static void spellings(void)
{
	const char *sum = "#include \"one.h\"\n"
			  "kernel void sum(global int *out) { *out = ONE + TWO + THREE; }";
	const char *angles = "#  include <three.h>\n"
			     "kernel void three(global int *out) { *out = THREE; }";

	builds(sum, "-I inc", "sum");
	builds(sum, "-Iinc -DX=1", "sum");
	builds(sum, "-I absent -I ./inc", "sum");
	builds(angles, "-I inc -I \"other dir\"", "three");
	builds("#include \"kernel.cl\"\n", "-I inc", "other");
}

static void absolute(void)
{
	char options[256];
	const char *text = "#define S(x) #x\n#define STRING(x) S(x)\n"
			   "#include STRING(PLACE/one.h)\n"
			   "kernel void two(global int *out) { *out = TWO; }";
	cl_program program = source(text);

	snprintf(options, sizeof(options), "-D PLACE=%s/inc", folder);
	SAY(clBuildProgram(program, 1, &device, options, NULL, NULL));
	run(program, "two");
	/* The same program once more, by another way. */
	snprintf(options, sizeof(options), "-DPLACE=. -I%s/inc", folder);
	SAY(clBuildProgram(program, 1, &device, options, NULL, NULL));
	run(program, "two");
	clReleaseProgram(program);
}

/* Paths in the text itself: what it includes may do the same. */
static cl_program literal(const char *name)
{
	char text[512], own[512];
	size_t size;
	cl_program program;

	snprintf(text, sizeof(text),
		 "# include <%s/inc/one.h>\n#include \"%s/inc/%s\"\n"
		 "kernel void sum(global int *out) { *out = ONE + TWO + FAR; }",
		 folder, folder, name);
	program = source(text);
	SAY(clBuildProgram(program, 1, &device, NULL, NULL, NULL));
	NEED(clGetProgramInfo(program, CL_PROGRAM_SOURCE, sizeof(own), own, &size));
	printf("its own text: %s\n", size != strlen(text) + 1 || strcmp(own, text) ? "no" : "yes");
	return program;
}

static void literals(void)
{
	char place[256];
	char *log;
	cl_program program;

	snprintf(place, sizeof(place), "#include \"%s/inc/three.h\"\n#define FAR THREE\n",
		 folder);
	file("inc/far.h", place);
	file("inc/three.h", "#define THREE 30\n");
	program = literal("far.h");
	run(program, "sum");
	clReleaseProgram(program);
	program = literal("absent.h");
	snprintf(place, sizeof(place), "'%s/inc/absent.h' file not found", folder);
	log = log_of(program);
	printf("the log names the file: %s\n", strstr(log, place) ? "yes" : "no");
	printf("and not as the board's: %s\n", strstr(log, "gil-guest") ? "no" : "yes");
	free(log);
	clReleaseProgram(program);
}

static void compiled(void)
{
	cl_int error;
	cl_program header = source("#define FOUR 4\n"), linked;
	cl_program program = source("#include \"one.h\"\n#include \"four.h\"\n"
				    "kernel void sum(global int *out) { *out = TWO + FOUR; }");
	const char *name = "four.h";

	SAY(clCompileProgram(program, 1, &device, "-I inc", 1, &header, &name, NULL, NULL));
	linked = MADE(clLinkProgram(context, 1, &device, NULL, 1, &program, NULL, NULL, &error));
	run(linked, "sum");
	clReleaseProgram(linked);
	clReleaseProgram(header);
	clReleaseProgram(program);
}

static void refused(void)
{
	char place[256];
	cl_program program = built_with("#include \"bad.h\"\n", "-I inc");
	char *log = log_of(program);

	snprintf(place, sizeof(place), "inc/bad.h:1:9");
	printf("the log names the file: %s\n", strstr(log, place) ? "yes" : "no");
	printf("and no folder of the board's: %s\n", strstr(log, "gil-") ? "no" : "yes");
	free(log);
	clReleaseProgram(program);
	program = built_with("#include \"absent.h\"\n", "-I inc");
	log = log_of(program);
	printf("the log names the file: %s\n", strstr(log, "absent.h") ? "yes" : "no");
	free(log);
	clReleaseProgram(program);
}

int main(void)
{
	cl_platform_id platform;
	cl_int error;

	files();
	NEED(clGetPlatformIDs(1, &platform, NULL));
	NEED(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
	NEED(error);
	spellings();
	absolute();
	literals();
	compiled();
	refused();
	clReleaseContext(context);
	return 0;
}
