/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Graphs of CUDA's driver API, for the guest and for this machine: what they compute, and what a launch takes
 * by the clock of the machine that the program runs on. Usage: graphs MODULE
 *
 * MODULE is a file with what nvcc made of kernels.cu. */
#include "common.h"

typedef void *handle;
result cuEventCreate(handle *event, unsigned flags);
result cuEventRecord(handle event, handle stream);
result cuStreamWaitEvent(handle stream, handle event, unsigned flags);
result cuStreamBeginCapture_v2(handle stream, int mode);
result cuStreamEndCapture(handle stream, handle *graph);
result cuGraphInstantiateWithFlags(handle *exec, handle graph, unsigned long long flags);
result cuGraphLaunch(handle exec, handle stream);
result cuGraphGetNodes(handle graph, handle *nodes, size_t *count);
result cuGraphNodeGetType(handle node, int *type);
result cuGraphExecKernelNodeSetParams(handle exec, handle node, const void *params);
result cuGraphKernelNodeGetParams(handle node, void *params);
result cuGraphExecDestroy(handle exec);
result cuGraphDestroy(handle graph);

#define ELEMENTS (1 << 20)
#define NODES 20
#define LAUNCHES 200
/* How often `work` goes over its elements. */
#define TIMES 1000000

/* `CUDA_KERNEL_NODE_PARAMS_v1`. */
struct node {
	handle function;
	unsigned grid[3], block[3], shared;
	void **values, **extra;
};

static handle streams[2], fork_event, join_event;
static float *in[2], *out;
static handle kernel_work, kernel_add, kernel_nothing;
static pointer to[3];
static int number = ELEMENTS, times = TIMES;

/* Both arrays are worked on, on two streams; then their sum comes back. */
static handle captured(void)
{
	void *first[] = { &to[0], &number, &times }, *second[] = { &to[1], &number, &times };
	void *sum[] = { &to[0], &to[1], &to[2], &number };
	handle graph;
	size_t bytes = ELEMENTS * sizeof(float);

	NEED(cuStreamBeginCapture_v2(streams[0], 0));
	NEED(cuMemcpyHtoDAsync_v2(to[0], in[0], bytes, streams[0]));
	NEED(cuMemcpyHtoDAsync_v2(to[1], in[1], bytes, streams[0]));
	NEED(cuEventRecord(fork_event, streams[0]));
	NEED(cuStreamWaitEvent(streams[1], fork_event, 0));
	NEED(cuLaunchKernel(kernel_work, 8, 1, 1, 256, 1, 1, 0, streams[0], first, NULL));
	NEED(cuLaunchKernel(kernel_work, 8, 1, 1, 256, 1, 1, 0, streams[1], second, NULL));
	NEED(cuEventRecord(join_event, streams[1]));
	NEED(cuStreamWaitEvent(streams[0], join_event, 0));
	NEED(cuLaunchKernel(kernel_add, ELEMENTS / 256, 1, 1, 256, 1, 1, 0, streams[0], sum, NULL));
	NEED(cuMemcpyDtoHAsync_v2(out, to[2], bytes, streams[0]));
	NEED(cuStreamEndCapture(streams[0], &graph));
	return graph;
}

static unsigned long long sum_of(void)
{
	unsigned long long sum = 0;
	unsigned word;

	for (int n = 0; n < ELEMENTS; n++) {
		memcpy(&word, &out[n], sizeof(word));
		sum = sum * 31 + word;
	}
	return sum;
}

/* Milliseconds of a launch, its end waited for; the least of some. */
static double lasts(handle exec, int launches)
{
	double least = 1e9;

	for (int n = 0; n < launches; n++) {
		double began = now();

		NEED(cuGraphLaunch(exec, streams[0]));
		NEED(cuStreamSynchronize(streams[0]));
		began = (now() - began) * 1e3;
		least = began < least ? began : least;
	}
	return least;
}

int main(int argc, char **argv)
{
	handle graph, exec, nodes[16];
	size_t count = 16, bytes = ELEMENTS * sizeof(float);
	struct node node;
	void *values[3], *nothing[1];
	pointer some;
	int type, other = 3;

	if (argc != 2 || !begin(argv[1]))
		return 2;
	for (int n = 0; n < 3; n++)
		to[n] = on_device(bytes);
	for (int n = 0; n < 2; n++) {
		NEED(cuMemAllocHost_v2((void **)&in[n], bytes));
		NEED(cuStreamCreate(&streams[n], STREAM_NON_BLOCKING));
		for (int e = 0; e < ELEMENTS; e++)
			in[n][e] = e * (n + 0.25f) / ELEMENTS;
	}
	NEED(cuMemAllocHost_v2((void **)&out, bytes));
	NEED(cuEventCreate(&fork_event, 2));
	NEED(cuEventCreate(&join_event, 2));

	/* Before the captures: a module's code may be loaded by this. */
	kernel_work = function("work");
	kernel_add = function("add");
	kernel_nothing = function("nothing");
	graph = captured();
	NEED(cuGraphGetNodes(graph, nodes, &count));
	NEED(cuGraphInstantiateWithFlags(&exec, graph, 0));
	NEED(cuGraphLaunch(exec, streams[0]));
	NEED(cuStreamSynchronize(streams[0]));
	printf("branches: %zu nodes, checksum %016llx\n", count, sum_of());
	printf("time: two branches and their copies %.3f ms\n", lasts(exec, 10));
	/* Three rounds of work, in both branches. */
	for (size_t n = 0; n < count; n++) {
		NEED(cuGraphNodeGetType(nodes[n], &type));
		if (type)
			continue;
		NEED(cuGraphKernelNodeGetParams(nodes[n], &node));
		if (node.grid[0] != 8)
			continue;
		values[0] = node.values[0];
		values[1] = node.values[1];
		values[2] = &other;
		node.values = values;
		NEED(cuGraphExecKernelNodeSetParams(exec, nodes[n], &node));
	}
	NEED(cuGraphLaunch(exec, streams[0]));
	NEED(cuStreamSynchronize(streams[0]));
	printf("changed: checksum %016llx\n", sum_of());
	printf("time: the same with three rounds of work %.3f ms\n", lasts(exec, 10));
	NEED(cuGraphExecDestroy(exec));
	NEED(cuGraphDestroy(graph));

	some = on_device(64);
	nothing[0] = &some;
	NEED(cuStreamBeginCapture_v2(streams[0], 0));
	for (int n = 0; n < NODES; n++)
		NEED(cuLaunchKernel(kernel_nothing, 1, 1, 1, 1, 1, 1, 0, streams[0], nothing, NULL));
	NEED(cuStreamEndCapture(streams[0], &graph));
	NEED(cuGraphInstantiateWithFlags(&exec, graph, 0));
	printf("time: %d kernels in a chain %.3f ms\n", NODES, lasts(exec, LAUNCHES));
	return 0;
}
