/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Coarse-grained shared virtual memory: pointers inside structures hold on both
 * sides. */
#include "cl_same.h"

#include <pthread.h>
#include <stdint.h>
#include <time.h>

#define WORDS 65536
#define NODES 1000

static const char source[] =
	"struct node { __global struct node *next; uint value; uint seen; };\n"
	"__kernel void walk(__global struct node *node, __global uint *sum)\n"
	"{ uint n = 0;\n"
	"  for (; node; node = node->next) {\n"
	"    *sum += node->value; node->seen = ++n; node->value *= 3; } }\n"
	"__kernel void reverse(__global struct node *node,\n"
	"                      __global ulong *head)\n"
	"{ __global struct node *last = 0, *next;\n"
	"  for (; node; node = next) {\n"
	"    next = node->next; node->next = last; last = node; }\n"
	"  *head = (ulong)last; }\n"
	"__kernel void add(__global uint *a, uint n)\n"
	"{ a[get_global_id(0)] += n; }\n";

static const char plain[] =
	"__kernel void add(__global uint *a, uint n)\n"
	"{ a[get_global_id(0)] += n; }\n";

struct node {
	struct node *next;
	cl_uint value, seen;
};

/* Not all boards: without, the program says so and ends. */
static int has_svm(struct gpu *gpu)
{
	cl_device_svm_capabilities can = 0;

	clGetDeviceInfo(gpu->device, CL_DEVICE_SVM_CAPABILITIES, sizeof(can),
			&can, NULL);
	printf("coarse-grained: %d\n",
	       (can & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER) != 0);
	return (can & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER) != 0;
}

static void *alloc(struct gpu *gpu, size_t size)
{
	void *memory = clSVMAlloc(gpu->context, CL_MEM_READ_WRITE, size, 0);

	if (!memory) {
		printf("no memory of %lu bytes\n", (unsigned long)size);
		exit(1);
	}
	return memory;
}

static void type_of(cl_event event)
{
	cl_command_type type = 0;

	SAY(clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof(type), &type,
			   NULL));
	printf("type %x\n", (unsigned)type);
	clReleaseEvent(event);
}

static void launch(struct gpu *gpu, cl_kernel kernel, size_t items)
{
	SAY(clEnqueueNDRangeKernel(gpu->queue, kernel, 1, NULL, &items, NULL, 0,
				   NULL, NULL));
}

static void allocations(struct gpu *gpu)
{
	static const cl_uint alignments[] = { 0, 1, 4, 64, 128 };
	void *some[64];

	printf("%d %d %d\n",
	       clSVMAlloc(gpu->context, CL_MEM_READ_WRITE, 0, 0) == NULL,
	       clSVMAlloc(gpu->context, CL_MEM_READ_WRITE, 100, 3) == NULL,
	       clSVMAlloc(gpu->context, CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY,
			  100, 0) == NULL);
	for (int n = 0; n < 5; n++) {
		void *memory = clSVMAlloc(gpu->context, 0, 1000, alignments[n]);
		uintptr_t mask = alignments[n] ? alignments[n] - 1 : 127;

		printf("aligned to %u: %d\n", alignments[n],
		       memory && !((uintptr_t)memory & mask));
		clSVMFree(gpu->context, memory);
	}
	for (int n = 0; n < 64; n++)
		some[n] = clSVMAlloc(gpu->context, CL_MEM_READ_WRITE,
				     1 + 397 * n, 0);
	for (int n = 0; n < 64; n++) {
		NEED(clEnqueueSVMMap(gpu->queue, CL_TRUE, CL_MAP_WRITE, some[n],
				     1 + 397 * n, 0, NULL, NULL));
		memset(some[n], n, 1 + 397 * n);
		NEED(clEnqueueSVMUnmap(gpu->queue, some[n], 0, NULL, NULL));
	}
	for (int n = 0; n < 64; n += 2)
		clSVMFree(gpu->context, some[n]);
	for (int n = 1; n < 64; n += 2) {
		NEED(clEnqueueSVMMap(gpu->queue, CL_TRUE, CL_MAP_READ, some[n],
				     1 + 397 * n, 0, NULL, NULL));
		printf("%08x ", checksum(some[n], 1 + 397 * n));
		NEED(clEnqueueSVMUnmap(gpu->queue, some[n], 0, NULL, NULL));
	}
	printf("\n");
	NEED(clFinish(gpu->queue));
	for (int n = 1; n < 64; n += 2)
		clSVMFree(gpu->context, some[n]);
	clSVMFree(gpu->context, NULL);
}

/* The program builds a list, kernels walk, change and reverse it. */
static void lists(struct gpu *gpu, cl_program program)
{
	struct node *nodes = alloc(gpu, NODES * sizeof(*nodes)), *node;
	cl_uint *sum = alloc(gpu, 16);
	cl_ulong *head = alloc(gpu, sizeof(*head));
	void *used[2] = { nodes, sum };
	cl_int error;
	cl_kernel walk = clCreateKernel(program, "walk", &error);
	cl_kernel reverse = clCreateKernel(program, "reverse", &error);
	cl_uint hash = 1, count = 0;

	SAY(clEnqueueSVMMap(gpu->queue, CL_TRUE, CL_MAP_WRITE_INVALIDATE_REGION,
			    nodes, NODES * sizeof(*nodes), 0, NULL, NULL));
	for (int n = 0; n < NODES; n++) {
		/* Every seventh follows: each once, as 7 divides no 1000. */
		nodes[n * 7 % NODES].next =
			n + 1 < NODES ? &nodes[(n + 1) * 7 % NODES] : NULL;
		nodes[n * 7 % NODES].value = n * n;
		nodes[n * 7 % NODES].seen = 0;
	}
	SAY(clEnqueueSVMUnmap(gpu->queue, nodes, 0, NULL, NULL));
	SAY(clEnqueueSVMMap(gpu->queue, CL_TRUE, CL_MAP_WRITE, sum, 16, 0, NULL,
			    NULL));
	*sum = 5;
	SAY(clEnqueueSVMUnmap(gpu->queue, sum, 0, NULL, NULL));
	SAY(clSetKernelArgSVMPointer(walk, 0, nodes));
	SAY(clSetKernelArgSVMPointer(walk, 1, sum));
	SAY(clSetKernelExecInfo(walk, CL_KERNEL_EXEC_INFO_SVM_PTRS, sizeof(used),
				used));
	launch(gpu, walk, 1);
	SAY(clSetKernelArgSVMPointer(reverse, 0, nodes));
	SAY(clSetKernelArgSVMPointer(reverse, 1, head));
	launch(gpu, reverse, 1);
	SAY(clEnqueueSVMMap(gpu->queue, CL_TRUE, CL_MAP_READ, head, 8, 0, NULL,
			    NULL));
	SAY(clEnqueueSVMMap(gpu->queue, CL_TRUE, CL_MAP_READ, sum, 4, 0, NULL,
			    NULL));
	SAY(clEnqueueSVMMap(gpu->queue, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE,
			    nodes, NODES * sizeof(*nodes), 0, NULL, NULL));
	for (node = (struct node *)(uintptr_t)*head; node; node = node->next) {
		hash = hash * 31 + node->value + node->seen;
		count++;
	}
	printf("sum %u, %u nodes, %08x, begins with %u\n", *sum, count, hash,
	       ((struct node *)(uintptr_t)*head)->seen);
	SAY(clEnqueueSVMUnmap(gpu->queue, nodes, 0, NULL, NULL));
	SAY(clEnqueueSVMUnmap(gpu->queue, head, 0, NULL, NULL));
	SAY(clEnqueueSVMUnmap(gpu->queue, sum, 0, NULL, NULL));
	SAY(clFinish(gpu->queue));
	clReleaseKernel(walk);
	clReleaseKernel(reverse);
	clSVMFree(gpu->context, nodes);
	clSVMFree(gpu->context, sum);
	clSVMFree(gpu->context, head);
}

static void copies(struct gpu *gpu, cl_program program)
{
	cl_uint *a = alloc(gpu, WORDS * 4), *b = alloc(gpu, WORDS * 4);
	cl_uint *own = malloc(WORDS * 4), pattern[2] = { 0x01020304, 7 };
	const void *both[2] = { a, b };
	size_t sizes[2] = { 4096, 0 };
	cl_int error;
	cl_kernel add = clCreateKernel(program, "add", &error);
	cl_uint ten = 10;
	cl_event event, user;

	for (cl_uint n = 0; n < WORDS; n++)
		own[n] = n * 2654435761u;
	SAY(clEnqueueSVMMemcpy(gpu->queue, CL_FALSE, a, own, WORDS * 4, 0, NULL,
			       &event));
	type_of(event);
	SAY(clEnqueueSVMMemcpy(gpu->queue, CL_FALSE, b, a, WORDS * 4, 0, NULL,
			       NULL));
	SAY(clSetKernelArgSVMPointer(add, 0, b + WORDS / 2));
	SAY(clSetKernelArg(add, 1, sizeof(ten), &ten));
	launch(gpu, add, WORDS / 2);
	SAY(clEnqueueSVMMemFill(gpu->queue, b + 16, pattern, 8, 1024, 0, NULL,
				&event));
	type_of(event);
	SAY(clEnqueueSVMMigrateMem(gpu->queue, 2, both, sizes, 0, 0, NULL,
				   &event));
	type_of(event);
	SAY(clEnqueueSVMMigrateMem(gpu->queue, 2, both, NULL,
				   CL_MIGRATE_MEM_OBJECT_HOST, 0, NULL, NULL));
	SAY(clFinish(gpu->queue)); /* the first copy reads `own` until then */
	memset(own, 0, WORDS * 4);
	SAY(clEnqueueSVMMemcpy(gpu->queue, CL_TRUE, own, b, WORDS * 4, 0, NULL,
			       NULL));
	printf("%08x\n", checksum(own, WORDS * 4));
	SAY(clEnqueueSVMMemcpy(gpu->queue, CL_TRUE, own, own + WORDS / 2,
			       WORDS / 4, 0, NULL, NULL));
	printf("%08x\n", checksum(own, WORDS * 4));
	SAY(clEnqueueSVMMap(gpu->queue, CL_TRUE, CL_MAP_READ, b + 5, 400, 0,
			    NULL, &event));
	type_of(event);
	printf("%08x\n", checksum(b + 5, 400));
	SAY(clEnqueueSVMUnmap(gpu->queue, b + 5, 0, NULL, &event));
	type_of(event);
	/* Behind a user event, several at a time. */
	user = clCreateUserEvent(gpu->context, &error);
	SAY(clEnqueueSVMMemFill(gpu->queue, a, pattern, 4, WORDS * 4, 1, &user,
				NULL));
	SAY(clEnqueueSVMMap(gpu->queue, CL_FALSE, CL_MAP_READ, a, WORDS * 4, 0,
			    NULL, &event));
	SAY(clSetUserEventStatus(user, CL_COMPLETE));
	SAY(clWaitForEvents(1, &event));
	printf("%08x\n", checksum(a, WORDS * 4));
	SAY(clEnqueueSVMUnmap(gpu->queue, a, 0, NULL, NULL));
	SAY(clFinish(gpu->queue));
	clReleaseEvent(user);
	clReleaseEvent(event);
	clReleaseKernel(add);
	clSVMFree(gpu->context, a);
	clSVMFree(gpu->context, b);
	free(own);
}

/* A buffer that is shared memory. */
static void buffers(struct gpu *gpu, cl_program program)
{
	cl_uint *a = alloc(gpu, WORDS * 4), *mapped, ten = 10;
	cl_int error;
	cl_kernel add = clCreateKernel(program, "add", &error);
	cl_mem buffer;
	cl_bool uses = 9;

	SAY(clEnqueueSVMMemFill(gpu->queue, a, &ten, 4, WORDS * 4, 0, NULL,
				NULL));
	SAY(clFinish(gpu->queue));
	buffer = MADE(clCreateBuffer(gpu->context, CL_MEM_USE_HOST_PTR,
				     WORDS * 4, a, &error));
	SAY(clGetMemObjectInfo(buffer, CL_MEM_USES_SVM_POINTER, sizeof(uses),
			       &uses, NULL));
	printf("uses it: %d\n", (int)uses);
	HANDLES(clGetMemObjectInfo, buffer, CL_MEM_HOST_PTR, a);
	MADE(clCreateBuffer(gpu->context, CL_MEM_USE_HOST_PTR, WORDS * 8, a,
			    &error));
	SAY(clSetKernelArg(add, 0, sizeof(buffer), &buffer));
	SAY(clSetKernelArg(add, 1, sizeof(ten), &ten));
	launch(gpu, add, WORDS);
	mapped = clEnqueueMapBuffer(gpu->queue, buffer, CL_TRUE, CL_MAP_READ, 0,
				    WORDS * 4, 0, NULL, NULL, &error);
	printf("mapped where it is: %d, %08x\n", mapped == a,
	       checksum(mapped, WORDS * 4));
	SAY(clEnqueueUnmapMemObject(gpu->queue, buffer, mapped, 0, NULL, NULL));
	SAY(clSetKernelArgSVMPointer(add, 0, a));
	launch(gpu, add, WORDS);
	SAY(clFinish(gpu->queue));
	SAY(clReleaseMemObject(buffer));
	SAY(clEnqueueSVMMap(gpu->queue, CL_TRUE, CL_MAP_READ, a, WORDS * 4, 0,
			    NULL, NULL));
	printf("%08x\n", checksum(a, WORDS * 4));
	SAY(clEnqueueSVMUnmap(gpu->queue, a, 0, NULL, NULL));
	SAY(clFinish(gpu->queue));
	clReleaseKernel(add);
	clSVMFree(gpu->context, a);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static cl_uint freed;

static void on_free(cl_command_queue queue, cl_uint count, void *pointers[],
		    void *data)
{
	cl_context context = data;

	(void)queue;
	for (cl_uint n = 0; n < count; n++)
		clSVMFree(context, pointers[n]);
	pthread_mutex_lock(&lock);
	freed += count;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static void frees(struct gpu *gpu)
{
	void *three[3], *again[3];
	struct timespec end;
	cl_event event;
	int late = 0;

	for (int n = 0; n < 3; n++) {
		three[n] = alloc(gpu, 100000);
		again[n] = alloc(gpu, 100);
	}
	SAY(clEnqueueSVMFree(gpu->queue, 3, three, on_free, gpu->context, 0,
			     NULL, &event));
	type_of(event);
	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += 30;
	SAY(clFinish(gpu->queue));
	pthread_mutex_lock(&lock);
	while (freed < 3 && !late)
		late = pthread_cond_timedwait(&changed, &lock, &end);
	printf("%u freed\n", freed);
	pthread_mutex_unlock(&lock);
	SAY(clEnqueueSVMFree(gpu->queue, 3, again, NULL, NULL, 0, NULL, NULL));
	SAY(clFinish(gpu->queue));
	for (int n = 0; n < 100; n++) {
		three[0] = alloc(gpu, 1 << 20);
		NEED(clEnqueueSVMFree(gpu->queue, 1, three, NULL, NULL, 0, NULL,
				      NULL));
	}
	SAY(clEnqueueSVMFree(gpu->queue, 0, three, NULL, NULL, 0, NULL, NULL));
	SAY(clEnqueueSVMFree(gpu->queue, 1, NULL, NULL, NULL, 0, NULL, NULL));
	SAY(clEnqueueSVMFree(NULL, 1, three, NULL, NULL, 0, NULL, NULL));
	SAY(clFinish(gpu->queue));
}

static void refused(struct gpu *gpu, cl_program program)
{
	cl_uint *a = alloc(gpu, 4096), own[16] = { 0 };
	const void *list[1] = { a };
	cl_bool no = CL_FALSE;
	cl_int error;
	cl_kernel add = clCreateKernel(program, "add", &error);
	cl_command_queue queue = gpu->queue;

	SAY(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_READ, NULL, 4, 0, NULL, NULL));
	SAY(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_READ, a, 0, 0, NULL, NULL));
	SAY(clEnqueueSVMMap(NULL, CL_TRUE, CL_MAP_READ, a, 4, 0, NULL, NULL));
	SAY(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_READ, a, 4, 1, NULL, NULL));
	SAY(clEnqueueSVMUnmap(queue, NULL, 0, NULL, NULL));
	SAY(clEnqueueSVMUnmap(NULL, a, 0, NULL, NULL));
	SAY(clEnqueueSVMUnmap(queue, a, 0, NULL, NULL));
	SAY(clEnqueueSVMMemcpy(queue, CL_TRUE, a, a + 1, 64, 0, NULL, NULL));
	SAY(clEnqueueSVMMemcpy(queue, CL_TRUE, NULL, a, 64, 0, NULL, NULL));
	SAY(clEnqueueSVMMemcpy(queue, CL_TRUE, a, NULL, 64, 0, NULL, NULL));
	SAY(clEnqueueSVMMemcpy(queue, CL_TRUE, a, own, 0, 0, NULL, NULL));
	SAY(clEnqueueSVMMemcpy(NULL, CL_TRUE, a, own, 4, 0, NULL, NULL));
	SAY(clEnqueueSVMMemFill(queue, a, own, 3, 9, 0, NULL, NULL));
	SAY(clEnqueueSVMMemFill(queue, a, own, 4, 9, 0, NULL, NULL));
	SAY(clEnqueueSVMMemFill(queue, NULL, own, 4, 8, 0, NULL, NULL));
	SAY(clEnqueueSVMMemFill(queue, (char *)a + 1, own, 4, 8, 0, NULL, NULL));
	SAY(clEnqueueSVMMemFill(queue, a, own, 4, 0, 0, NULL, NULL));
	SAY(clEnqueueSVMMigrateMem(queue, 0, list, NULL, 0, 0, NULL, NULL));
	SAY(clEnqueueSVMMigrateMem(queue, 1, NULL, NULL, 0, 0, NULL, NULL));
	SAY(clEnqueueSVMMigrateMem(queue, 1, list, NULL, 64, 0, NULL, NULL));
	SAY(clSetKernelArgSVMPointer(add, 1, a));
	SAY(clSetKernelArgSVMPointer(add, 9, a));
	SAY(clSetKernelArgSVMPointer(NULL, 0, a));
	SAY(clSetKernelArgSVMPointer(add, 0, NULL));
	SAY(clSetKernelExecInfo(add, CL_KERNEL_EXEC_INFO_SVM_FINE_GRAIN_SYSTEM,
				sizeof(no), &no));
	SAY(clSetKernelExecInfo(NULL, CL_KERNEL_EXEC_INFO_SVM_PTRS, sizeof(list),
				list));
	SAY(clFinish(queue));
	clReleaseKernel(add);
	clSVMFree(gpu->context, a);
}

/* Lists of no pointers. */
static void empty(struct gpu *gpu, cl_program program)
{
	cl_kernel kernel = clCreateKernel(program, "add", NULL);
	cl_ulong list[2] = { 0 };

	SAY(clSetKernelExecInfo(kernel, CL_KERNEL_EXEC_INFO_SVM_PTRS, 0, NULL));
	SAY(clSetKernelExecInfo(kernel, CL_KERNEL_EXEC_INFO_SVM_PTRS, 0, list));
	SAY(clSetKernelExecInfo(NULL, CL_KERNEL_EXEC_INFO_SVM_PTRS, 0, NULL));
	SAY(clEnqueueSVMMigrateMem(gpu->queue, 0, NULL, NULL, 0, 0, NULL, NULL));
	SAY(clEnqueueSVMFree(gpu->queue, 0, NULL, NULL, NULL, 0, NULL, NULL));
	NEED(clReleaseKernel(kernel));
}

/* What every call answers where no memory is shared, whatever else is wrong. */
static void without(struct gpu *gpu)
{
	cl_kernel kernel = clCreateKernel(built(gpu, plain, ""), "add", NULL);
	void *some = &kernel, *none = NULL;
	cl_uint word = 1;

	printf("no memory: %d\n", !clSVMAlloc(gpu->context, CL_MEM_READ_WRITE, 64, 0));
	SAY(clEnqueueSVMMemFill(gpu->queue, none, &word, 4, 0, 0, NULL, NULL));
	SAY(clEnqueueSVMMemFill(gpu->queue, some, &word, 4, 4, 0, NULL, NULL));
	SAY(clEnqueueSVMMemcpy(gpu->queue, CL_TRUE, none, none, 4, 0, NULL, NULL));
	SAY(clEnqueueSVMMemcpy(gpu->queue, CL_TRUE, some, &word, 4, 0, NULL, NULL));
	SAY(clEnqueueSVMMap(gpu->queue, CL_TRUE, CL_MAP_READ, none, 4, 0, NULL, NULL));
	SAY(clEnqueueSVMUnmap(gpu->queue, none, 0, NULL, NULL));
	SAY(clEnqueueSVMMigrateMem(gpu->queue, 1, (const void **)&none, NULL, 0, 0, NULL, NULL));
	SAY(clEnqueueSVMMigrateMem(gpu->queue, 0, NULL, NULL, 0, 0, NULL, NULL));
	SAY(clEnqueueSVMFree(gpu->queue, 1, &none, NULL, NULL, 0, NULL, NULL));
	SAY(clSetKernelArgSVMPointer(kernel, 0, none));
	SAY(clSetKernelExecInfo(kernel, CL_KERNEL_EXEC_INFO_SVM_PTRS, 0, NULL));
	SAY(clSetKernelExecInfo(kernel, CL_KERNEL_EXEC_INFO_SVM_FINE_GRAIN_SYSTEM, 0, NULL));
	clSVMFree(gpu->context, some);
}

int main(void)
{
	struct gpu gpu = first_gpu(0);
	cl_program program;

	if (!has_svm(&gpu)) {
		without(&gpu);
		return 0;
	}
	program = built(&gpu, source, "-cl-std=CL2.0");
	allocations(&gpu);
	lists(&gpu, program);
	copies(&gpu, program);
	buffers(&gpu, program);
	frees(&gpu);
	refused(&gpu, program);
	empty(&gpu, program);
	NEED(clReleaseProgram(program));
	close_gpu(&gpu);
	return 0;
}
