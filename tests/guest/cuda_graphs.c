/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Graphs: nodes and edges, what they do when they are launched, how they are changed; streams whose work
 * becomes a graph. Over a driver that runs no kernels, and writes what a launch had to `null_params`. */
#include "cuda_graphs.h"
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

enum { ILLEGAL_STATE = 401, UNSUPPORTED = 900, INVALIDATED, MERGE, UNMATCHED, UNJOINED, ISOLATION, IMPLICIT,
	CAPTURED_EVENT, WRONG_THREAD, UPDATE_FAILURE = 910 };
enum { KERNEL, MEMCPY, MEMSET, CALL, GRAPH, EMPTY, WAIT, RECORD };
enum { ELEMENTS = 64 };

static CUcontext context;
static CUmodule module;
static CUfunction none, three;
static CUdeviceptr params, memory;
static CUstream stream, other;

static unsigned long long a = 0x1122334455667788ull;
static unsigned int b = 5;
static unsigned char c = 9;
static void *values[] = { &a, &b, &c };

/* The first value of the latest launch. */
static unsigned long long launched(void)
{
	unsigned long long value = 0;

	OK(cuMemcpyDtoH_v2(&value, params, sizeof(value)));
	return value;
}

static unsigned int word(int n)
{
	unsigned int value = 0;

	OK(cuMemcpyDtoH_v2(&value, memory + 4 * n, sizeof(value)));
	return value;
}

static copy3 line(CUdeviceptr to, const void *from, size_t bytes)
{
	copy3 it = { 0 };

	it.from.kind = HOST;
	it.from.host = from;
	it.to.kind = DEVICE;
	it.to.device = to;
	it.from.pitch = it.to.pitch = bytes;
	it.from.height = it.to.height = 1;
	it.width = bytes;
	it.height = it.depth = 1;
	return it;
}

static int called;

static void call(void *data)
{
	called += *(int *)data;
}

/* Each kind of node: what it does, what it says of itself, how it is changed. */
static void nodes(void)
{
	CUgraph graph, inside, shown, copy;
	CUgraphNode node, empty, copied, set, host, child, launch, found, all[8], firsts[8], list[8];
	CUgraphExec exec;
	CUevent event, got;
	CUlaunchAttributeValue value = { { 0 } };
	kernel_params kernel = { three, { 2, 1, 1 }, { 32, 1, 1 }, 0, values, NULL };
	kernel_params_v2 kernel2 = { three, { 2, 1, 1 }, { 32, 1, 1 }, 0, values, NULL, NULL, NULL };
	unsigned int data[ELEMENTS], one = 1, enabled = 7;
	unsigned long long flags = 7;
	copy3 copies = line(memory, data, sizeof(data)), copies_got;
	set_params sets = { memory, 0, 77, 4, 8, 1 }, sets_got, bad = { memory, 0, 1, 3, 8, 1 };
	host_params calls = { call, &one }, calls_got;
	edge_data edges[8] = { { 0, 0, 0, { 0 } } };
	instantiate_params how = { 0, NULL, NULL, 9 };
	char log[8] = "?";
	size_t count = 8, n;
	int type;
	const char *path = "/tmp/graph.dot";
	FILE *file;

	for (n = 0; n < ELEMENTS; n++)
		data[n] = n + 100;
	GIVES(CUDA_ERROR_INVALID_VALUE, cuGraphCreate(&graph, 1));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuGraphCreate(NULL, 0));
	OK(cuGraphCreate(&graph, 0));
	OK(cuGraphAddEmptyNode(&empty, graph, NULL, 0));
	OK(cuGraphAddMemcpyNode(&copied, graph, &empty, 1, &copies, context));
	OK(cuGraphAddMemsetNode(&set, graph, &copied, 1, &sets, context));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuGraphAddMemsetNode(&node, graph, NULL, 0, &bad, context));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuGraphAddMemsetNode(&node, graph, NULL, 0, NULL, context));
	OK(cuGraphAddHostNode(&host, graph, &set, 1, &calls));
	OK(cuGraphAddKernelNode_v2(&launch, graph, &empty, 1, &kernel2));
	OK(cuGraphCreate(&inside, 0));
	OK(cuGraphAddKernelNode(&node, inside, NULL, 0, &kernel));
	OK(cuGraphAddChildGraphNode(&child, graph, &launch, 1, inside));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuGraphAddEmptyNode(&found, graph, &node, 1));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuGraphAddEmptyNode(&found, (CUgraph)module, NULL, 0));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuGraphAddEmptyNode(&found, graph, NULL, 1));

	/* Lists. */
	OK(cuGraphGetNodes(graph, NULL, &count));
	IS(count == 6);
	count = 8;
	OK(cuGraphGetNodes(graph, all, &count));
	IS(count == 6 && all[0] == empty && all[5] == child);
	count = 8;
	OK(cuGraphGetRootNodes(graph, list, &count));
	IS(count == 1 && list[0] == empty && list[1] == NULL);
	count = 8;
	OK(cuGraphGetEdges(graph, firsts, list, &count));
	IS(count == 5);
	count = 8;
	OK(cuGraphGetEdges_v2(graph, firsts, list, edges, &count));
	IS(count == 5 && edges[0].type == 0);
	count = 8;
	OK(cuGraphNodeGetDependencies(host, list, &count));
	IS(count == 1 && list[0] == set);
	count = 8;
	OK(cuGraphNodeGetDependencies_v2(empty, list, edges, &count));
	IS(count == 0);
	count = 1;
	OK(cuGraphNodeGetDependentNodes(empty, list, &count));
	IS(count == 1 && list[0] == copied);
	count = 8;
	OK(cuGraphNodeGetDependentNodes_v2(empty, list, edges, &count));
	IS(count == 2 && list[1] == launch);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuGraphGetNodes(graph, NULL, NULL));

	/* Edges. */
	OK(cuGraphAddDependencies(graph, &host, &launch, 1));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuGraphAddDependencies(graph, &host, &launch, 1));
	OK(cuGraphAddDependencies_v2(graph, &child, &empty, edges, 1));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuGraphInstantiateWithFlags(&exec, graph, 0));
	OK(cuGraphRemoveDependencies_v2(graph, &child, &empty, edges, 1));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuGraphRemoveDependencies(graph, &child, &empty, 1));
	edges[0].type = 1;
	GIVES(CUDA_ERROR_NOT_SUPPORTED, cuGraphAddDependencies_v2(graph, &set, &child, edges, 1));

	/* What they say of themselves. */
	OK(cuGraphNodeGetType(child, &type));
	IS(type == GRAPH);
	OK(cuGraphNodeGetType(empty, &type));
	IS(type == EMPTY);
	OK(cuGraphMemcpyNodeGetParams(copied, &copies_got));
	IS(copies_got.to.device == memory && copies_got.width == sizeof(data));
	OK(cuGraphMemsetNodeGetParams(set, &sets_got));
	IS(sets_got.value == 77 && sets_got.width == 8 && sets_got.element == 4);
	OK(cuGraphHostNodeGetParams(host, &calls_got));
	IS(calls_got.fn == call && calls_got.userData == &one);
	OK(cuGraphKernelNodeGetParams(launch, &kernel));
	IS(kernel.func == three && kernel.grid[0] == 2 && *(unsigned long long *)kernel.params[0] == a);
	IS(kernel.params != values && *(unsigned char *)kernel.params[2] == c);
	OK(cuGraphKernelNodeGetParams_v2(launch, &kernel2));
	IS(kernel2.func == three && kernel2.block[0] == 32 && kernel2.kern == NULL);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuGraphKernelNodeGetParams(host, &kernel));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuGraphMemsetNodeGetParams(host, &sets_got));
	kernel.params = kernel2.params = values;
	OK(cuGraphChildGraphNodeGetGraph(child, &shown));
	count = 8;
	OK(cuGraphGetNodes(shown, list, &count));
	IS(count == 1 && list[0] != node);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuGraphDestroy(shown));
	value.pad[0] = 1;
	OK(cuGraphKernelNodeSetAttribute(launch, 2, &value));
	OK(cuGraphKernelNodeCopyAttributes(list[0], launch));
	value.pad[0] = 0;
	OK(cuGraphKernelNodeGetAttribute(list[0], 2, &value));
	IS(value.pad[0] == 1);
	value.pad[0] = 0;
	OK(cuGraphKernelNodeSetAttribute(launch, 2, &value));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuGraphKernelNodeSetAttribute(host, 2, &value));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuGraphKernelNodeGetAttribute(launch, 99, &value));
	OK(cuGraphDebugDotPrint(graph, path, 0));
	file = fopen(path, "r");
	IS(file && fgets(log, sizeof(log), file) && !memcmp(log, "digraph", 7));
	if (file)
		fclose(file);
	GIVES(304, cuGraphDebugDotPrint(graph, "/nonexistent/graph.dot", 0));

	/* What they do: values and memory are those of the launch. */
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	a = 42;
	data[9] = 4242;
	OK(cuGraphUpload(exec, stream));
	OK(cuGraphLaunch(exec, stream));
	OK(cuStreamSynchronize(stream));
	IS(launched() == 0x1122334455667788ull && word(0) == 77 && word(7) == 77 && word(8) == 108);
	IS(word(9) == 4242 && called == 1);
	data[9] = 11;
	OK(cuGraphLaunch(exec, other));
	OK(cuStreamSynchronize(other));
	IS(word(9) == 11 && called == 2);
	OK(cuGraphExecGetFlags(exec, &flags));
	IS(flags == 0);

	/* Changes: of the launch alone, and of the graph. */
	kernel.params = values;
	OK(cuGraphExecKernelNodeSetParams(exec, list[0], &kernel));
	OK(cuGraphExecKernelNodeSetParams_v2(exec, launch, &kernel2));
	sets.value = 78;
	OK(cuGraphExecMemsetNodeSetParams(exec, set, &sets, context));
	copies.from.host = data + 1;
	copies.width = 4 * (ELEMENTS - 1);
	OK(cuGraphExecMemcpyNodeSetParams(exec, copied, &copies, context));
	calls.userData = &b;
	OK(cuGraphExecHostNodeSetParams(exec, host, &calls));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuGraphExecHostNodeSetParams(exec, set, &calls));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuGraphExecHostNodeSetParams(exec, node, &calls));
	OK(cuGraphLaunch(exec, stream));
	OK(cuStreamSynchronize(stream));
	IS(launched() == 42 && word(0) == 78 && word(8) == 11 && called == 7);
	OK(cuGraphNodeSetEnabled(exec, set, 0));
	OK(cuGraphNodeGetEnabled(exec, set, &enabled));
	IS(enabled == 0);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuGraphNodeSetEnabled(exec, host, 0));
	OK(cuGraphLaunch(exec, stream));
	OK(cuStreamSynchronize(stream));
	IS(word(0) == 101);
	a = 43;
	OK(cuGraphKernelNodeSetParams(launch, &kernel));
	OK(cuGraphKernelNodeSetParams_v2(list[0], &kernel2));
	OK(cuGraphMemsetNodeSetParams(set, &sets));
	OK(cuGraphMemcpyNodeSetParams(copied, &copies));
	OK(cuGraphHostNodeSetParams(host, &calls));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuGraphHostNodeSetParams(set, &calls));
	OK(cuGraphExecChildGraphNodeSetParams(exec, child, shown));
	OK(cuGraphLaunch(exec, stream));
	OK(cuStreamSynchronize(stream));
	IS(launched() == 43);
	OK(cuGraphExecDestroy(exec));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuGraphLaunch(exec, stream));

	/* A copy is a graph of its own. */
	OK(cuGraphClone(&copy, graph));
	OK(cuGraphNodeFindInClone(&found, set, copy));
	IS(found != set);
	sets.value = 79;
	OK(cuGraphMemsetNodeSetParams(found, &sets));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuGraphNodeFindInClone(&node, found, copy));
	OK(cuGraphInstantiate(&exec, copy, &node, log, sizeof(log)));
	IS(log[0] == 0 && node == NULL);
	OK(cuGraphLaunch(exec, NULL));
	IS(word(0) == 79);
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphInstantiate_v2(&exec, graph, NULL, NULL, 0));
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphInstantiateWithParams(&exec, graph, &how));
	IS(how.result_out == 0);

	/* Events that graphs record and wait for. */
	OK(cuGraphDestroyNode(child));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuGraphNodeGetType(child, &type));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuGraphGetNodes(shown, NULL, &count));
	OK(cuEventCreate(&event, 0));
	OK(cuGraphAddEventRecordNode(&node, copy, NULL, 0, event));
	OK(cuGraphEventRecordNodeGetEvent(node, &got));
	IS(got == event);
	OK(cuGraphEventRecordNodeSetEvent(node, event));
	OK(cuGraphAddEventWaitNode(&found, copy, &node, 1, event));
	OK(cuGraphEventWaitNodeGetEvent(found, &got));
	IS(got == event);
	OK(cuGraphEventWaitNodeSetEvent(found, event));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuGraphEventRecordNodeGetEvent(found, &got));
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphInstantiateWithFlags(&exec, copy, 1));
	OK(cuGraphExecEventRecordNodeSetEvent(exec, node, event));
	OK(cuGraphExecEventWaitNodeSetEvent(exec, found, event));
	OK(cuGraphLaunch(exec, stream));
	OK(cuEventSynchronize(event));
	OK(cuEventQuery(event));
	OK(cuGraphExecDestroy(exec));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuGraphInstantiateWithFlags(&exec, copy, 16));
	GIVES(CUDA_ERROR_NOT_SUPPORTED, cuGraphInstantiateWithFlags(&exec, copy, 4));
	OK(cuEventDestroy_v2(event));
	OK(cuGraphDestroy(copy));
	OK(cuGraphDestroy(inside));
	OK(cuGraphDestroy(graph));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuGraphDestroy(graph));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuGraphNodeGetType(set, &type));
}

/* A launch takes the work of a graph that is the same but for that. */
static void updates(void)
{
	CUgraph graph, larger;
	CUgraphNode node, second;
	CUgraphExec exec;
	set_params sets = { memory, 0, 1, 4, 1, 1 };
	host_params calls = { call, &called };
	update_info info = { 9, NULL, NULL };
	int result = 9;

	OK(cuGraphCreate(&graph, 0));
	OK(cuGraphAddMemsetNode(&node, graph, NULL, 0, &sets, context));
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	sets.value = 2;
	OK(cuGraphMemsetNodeSetParams(node, &sets));
	OK(cuGraphExecUpdate_v2(exec, graph, &info));
	IS(info.result == 0);
	OK(cuGraphLaunch(exec, stream));
	OK(cuStreamSynchronize(stream));
	IS(word(0) == 2);
	OK(cuGraphCreate(&larger, 0));
	OK(cuGraphAddHostNode(&second, larger, NULL, 0, &calls));
	GIVES(UPDATE_FAILURE, cuGraphExecUpdate_v2(exec, larger, &info));
	IS(info.result == 3);
	OK(cuGraphAddHostNode(&second, larger, NULL, 0, &calls));
	GIVES(UPDATE_FAILURE, cuGraphExecUpdate(exec, larger, &second, &result));
	IS(result == 2 && second == NULL);
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(graph));
	OK(cuGraphDestroy(larger));
}

static int destroyed;

static void destroy(void *data)
{
	destroyed += *(int *)data;
}

/* What graphs keep goes with the last that keeps it. */
static void objects(void)
{
	CUgraph graph, copy;
	CUgraphExec exec;
	CUuserObject object;
	int one = 1;

	GIVES(CUDA_ERROR_INVALID_VALUE, cuUserObjectCreate(&object, &one, destroy, 1, 0));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuUserObjectCreate(&object, &one, NULL, 1, 1));
	OK(cuUserObjectCreate(&object, &one, destroy, 2, 1));
	OK(cuUserObjectRetain(object, 1));
	OK(cuGraphCreate(&graph, 0));
	OK(cuGraphRetainUserObject(graph, object, 2, 1));
	OK(cuGraphClone(&copy, graph));
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	OK(cuUserObjectRelease(object, 1));
	OK(cuGraphReleaseUserObject(graph, object, 1));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuGraphReleaseUserObject(graph, object, 2));
	OK(cuGraphDestroy(graph));
	OK(cuGraphDestroy(copy));
	IS(destroyed == 0);
	OK(cuGraphExecDestroy(exec));
	IS(destroyed == 1);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuUserObjectRelease(object, 1));
}

static unsigned int source[ELEMENTS];

/* Puts work of each kind on two streams, that meet. */
static void work(CUevent fork, CUevent join)
{
	static int two = 2;

	OK(cuMemcpyHtoDAsync_v2(memory, source, sizeof(source), stream));
	OK(cuEventRecord(fork, stream));
	OK(cuStreamWaitEvent(other, fork, 0));
	OK(cuLaunchKernel(three, 1, 1, 1, 32, 1, 1, 0, other, values, NULL));
	OK(cuMemsetD32Async(memory + 4, 500, 2, stream));
	OK(cuMemcpyDtoDAsync_v2(memory + 32, memory, 8, stream));
	OK(cuEventRecord(join, other));
	OK(cuStreamWaitEvent(stream, join, 0));
	OK(cuLaunchHostFunc(stream, call, &two));
}

static void captures(void)
{
	CUgraph graph, again;
	CUgraphExec exec;
	CUgraphNode node, list[16];
	const CUgraphNode *behind = NULL;
	const edge_data *edges = (const edge_data *)1;
	CUevent fork, join, loose;
	unsigned long long id = 0, second = 0;
	int status = 9, mode = 2;
	size_t count = 0;
	set_params sets = { memory, 0, 600, 4, 1, 1 };

	OK(cuEventCreate(&fork, 2));
	OK(cuEventCreate(&join, 2));
	OK(cuEventCreate(&loose, 2));
	source[0] = 1;
	called = 0;
	a = 1000;
	GIVES(UNSUPPORTED, cuStreamBeginCapture_v2(NULL, 0));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuStreamBeginCapture_v2(stream, 3));
	GIVES(ILLEGAL_STATE, cuStreamEndCapture(stream, &graph));
	OK(cuStreamGetCaptureInfo(stream, &status, &id));
	IS(status == 0);
	OK(cuStreamBeginCapture_v2(stream, 0));
	GIVES(ILLEGAL_STATE, cuStreamBeginCapture_v2(stream, 0));
	work(fork, join);
	OK(cuStreamIsCapturing(stream, &status));
	IS(status == 1);
	OK(cuStreamIsCapturing(other, &status));
	IS(status == 1);
	OK(cuStreamGetCaptureInfo(stream, &status, &id));
	OK(cuStreamGetCaptureInfo_v2(other, &status, &second, &again, &behind, &count));
	IS(id != 0 && id == second && count == 1 && again != NULL);
	OK(cuStreamGetCaptureInfo_v3(stream, &status, &second, &again, &behind, &edges, &count));
	IS(count == 1 && edges == NULL);
	OK(cuGraphAddMemsetNode(&node, again, behind, count, &sets, context));
	OK(cuStreamUpdateCaptureDependencies(stream, &node, 1, 1));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuStreamUpdateCaptureDependencies(stream, &node, 1, 7));
	OK(cuGraphAddEmptyNode(&node, again, NULL, 0));
	OK(cuStreamUpdateCaptureDependencies_v2(stream, &node, NULL, 1, 0));
	OK(cuStreamGetCaptureInfo_v2(stream, &status, NULL, NULL, &behind, &count));
	IS(count == 2);
	GIVES(CAPTURED_EVENT, cuEventQuery(join));
	GIVES(CAPTURED_EVENT, cuEventSynchronize(join));
	OK(cuStreamEndCapture(stream, &graph));
	IS(graph == again && called == 0);
	OK(cuStreamIsCapturing(other, &status));
	IS(status == 0);
	count = 16;
	OK(cuGraphGetNodes(graph, list, &count));
	IS(count == 7);
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	a = 1001;
	source[0] = 2;
	for (int n = 1; n < 3; n++) {
		OK(cuGraphLaunch(exec, stream));
		OK(cuStreamSynchronize(stream));
		IS(launched() == 1000 && word(0) == 600 && word(1) == 500 && word(8) == 2 && called == 2 * n);
	}

	/* A launch of a graph is a node of another. */
	OK(cuStreamBeginCapture(stream));
	OK(cuGraphLaunch(exec, stream));
	OK(cuStreamEndCapture(stream, &again));
	count = 16;
	OK(cuGraphGetNodes(again, list, &count));
	OK(cuGraphNodeGetType(list[0], &status));
	IS(count == 1 && status == GRAPH);
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphInstantiateWithFlags(&exec, again, 0));
	OK(cuGraphLaunch(exec, other));
	OK(cuStreamSynchronize(other));
	IS(called == 6);
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(again));

	/* Into a graph that is there; with events that others see. */
	OK(cuStreamBeginCaptureToGraph(stream, graph, &node, NULL, 0, 2));
	OK(cuEventRecordWithFlags(loose, stream, 1));
	OK(cuStreamWaitEvent(stream, loose, 1));
	OK(cuStreamEndCapture(stream, &again));
	IS(again == graph);
	count = 16;
	OK(cuGraphGetNodes(graph, list, &count));
	OK(cuGraphNodeGetType(list[8], &status));
	IS(count == 9 && status == WAIT);
	OK(cuGraphDestroy(graph));

	OK(cuThreadExchangeStreamCaptureMode(&mode));
	IS(mode == 0);
	OK(cuThreadExchangeStreamCaptureMode(&mode));
	IS(mode == 2);
	mode = 3;
	GIVES(CUDA_ERROR_INVALID_VALUE, cuThreadExchangeStreamCaptureMode(&mode));
	OK(cuEventDestroy_v2(fork));
	OK(cuEventDestroy_v2(join));
	OK(cuEventDestroy_v2(loose));
}

static void *ends(void *result)
{
	CUgraph graph;

	OK(cuCtxSetCurrent(context));
	*(CUresult *)result = cuStreamEndCapture(stream, &graph);
	return NULL;
}

/* What ends a capture without a graph. */
static void spoiled(void)
{
	CUgraph graph = (CUgraph)1, into;
	CUgraphExec exec;
	CUstream first;
	CUevent event, late;
	unsigned long long number;
	CUdeviceptr made;
	CUresult result;
	pthread_t thread;
	int status;

	OK(cuEventCreate(&event, 2));
	OK(cuEventCreate(&late, 2));
	/* What no graph has. */
	OK(cuStreamBeginCapture_v2(stream, 0));
	GIVES(UNSUPPORTED, cuStreamSynchronize(stream));
	OK(cuStreamIsCapturing(stream, &status));
	IS(status == 2);
	GIVES(INVALIDATED, cuMemsetD32Async(memory, 1, 1, stream));
	GIVES(INVALIDATED, cuStreamEndCapture(stream, &graph));
	IS(graph == NULL);
	OK(cuStreamBeginCapture_v2(stream, 0));
	GIVES(UNSUPPORTED, cuMemAllocAsync(&made, 16, stream));
	GIVES(INVALIDATED, cuStreamEndCapture(stream, &graph));
	OK(cuStreamBeginCapture_v2(stream, 0));
	GIVES(UNSUPPORTED, cuStreamQuery(stream));
	GIVES(INVALIDATED, cuStreamEndCapture(stream, &graph));
	/* The default stream waits with it. */
	OK(cuStreamBeginCapture_v2(stream, 0));
	GIVES(IMPLICIT, cuMemsetD32_v2(memory, 1, 1));
	GIVES(IMPLICIT, cuStreamIsCapturing(NULL, &status));
	GIVES(INVALIDATED, cuStreamEndCapture(stream, &graph));
	/* Work from outside. */
	OK(cuEventRecord(event, other));
	OK(cuStreamBeginCapture_v2(stream, 0));
	GIVES(ISOLATION, cuStreamWaitEvent(stream, event, 0));
	GIVES(INVALIDATED, cuStreamEndCapture(stream, &graph));
	/* Two captures do not meet. */
	OK(cuStreamBeginCapture_v2(stream, 0));
	OK(cuStreamBeginCapture_v2(other, 0));
	OK(cuEventRecord(event, stream));
	GIVES(MERGE, cuStreamWaitEvent(other, event, 0));
	GIVES(INVALIDATED, cuStreamEndCapture(stream, &graph));
	GIVES(INVALIDATED, cuStreamEndCapture(other, &graph));
	/* A branch that does not come back, and the end on a branch. */
	OK(cuStreamBeginCapture_v2(stream, 0));
	OK(cuEventRecord(event, stream));
	OK(cuStreamWaitEvent(other, event, 0));
	OK(cuMemsetD32Async(memory, 1, 1, other));
	GIVES(UNMATCHED, cuStreamEndCapture(other, &graph));
	GIVES(INVALIDATED, cuStreamEndCapture(stream, &graph));
	OK(cuStreamBeginCapture_v2(stream, 0));
	OK(cuEventRecord(event, stream));
	OK(cuStreamWaitEvent(other, event, 0));
	OK(cuMemsetD32Async(memory, 1, 1, other));
	GIVES(UNJOINED, cuStreamEndCapture(stream, &graph));
	/* An event of a capture that is over. */
	GIVES(CAPTURED_EVENT, cuStreamWaitEvent(other, event, 0));
	OK(cuEventRecord(event, other));
	OK(cuEventSynchronize(event));
	/* Another thread ends it, if it may. */
	OK(cuStreamBeginCapture_v2(stream, 1));
	IS(!pthread_create(&thread, NULL, ends, &result) && !pthread_join(thread, NULL));
	GIVES(WRONG_THREAD, result);
	OK(cuStreamEndCapture(stream, &graph));
	OK(cuGraphDestroy(graph));
	OK(cuStreamBeginCapture_v2(stream, 2));
	IS(!pthread_create(&thread, NULL, ends, &result) && !pthread_join(thread, NULL));
	OK(result);
	/* A launch on one stream has no part in the capture of another that it was launched on before. */
	OK(cuStreamBeginCapture_v2(other, 0));
	OK(cuMemsetD32Async(memory, 30, 1, other));
	OK(cuStreamEndCapture(other, &graph));
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	OK(cuGraphLaunch(exec, stream));
	OK(cuStreamSynchronize(stream));
	OK(cuMemsetD32Async(memory, 1, 1, other));
	OK(cuStreamBeginCapture_v2(stream, 0));
	OK(cuGraphLaunch(exec, other));
	OK(cuStreamIsCapturing(other, &status));
	IS(status == 0);
	OK(cuStreamGetId(stream, &number));
	OK(cuStreamEndCapture(stream, &into));
	OK(cuStreamSynchronize(other));
	IS(word(0) == 30);
	OK(cuGraphDestroy(into));
	OK(cuGraphExecDestroy(exec));
	/* A capture that fails leaves the program's own graph. */
	OK(cuStreamBeginCaptureToGraph(stream, graph, NULL, NULL, 0, 0));
	GIVES(UNSUPPORTED, cuStreamQuery(stream));
	GIVES(INVALIDATED, cuStreamEndCapture(stream, &into));
	OK(cuGraphDestroy(graph));
	/* With its first stream goes a capture, of all its streams. */
	OK(cuStreamCreate(&first, 1));
	OK(cuStreamBeginCapture_v2(first, 0));
	OK(cuEventRecord(event, first));
	OK(cuStreamWaitEvent(stream, event, 0));
	OK(cuStreamDestroy_v2(first));
	OK(cuStreamIsCapturing(stream, &status));
	IS(status == 0);
	/* A stream that goes takes its capture along. */
	OK(cuStreamBeginCapture_v2(other, 0));
	OK(cuStreamDestroy_v2(other));
	OK(cuStreamCreate(&other, 0));
	OK(cuMemsetD32Async(memory, 1, 1, other));
	OK(cuStreamSynchronize(other));
	OK(cuEventDestroy_v2(event));
	OK(cuEventDestroy_v2(late));
}

/* The same on the thread's own default stream. */
static void own_stream(void)
{
	CUgraph graph, into;
	CUgraphExec exec;
	CUgraphNode node;
	const CUgraphNode *behind;
	const edge_data *edges;
	unsigned long long id;
	instantiate_params how = { 0, NULL, NULL, 9 };
	size_t count;
	int status;

	OK(cuStreamBeginCapture_v2_ptsz(NULL, 0));
	OK(cuMemsetD32Async_ptsz(memory, 900, 1, NULL));
	OK(cuStreamGetCaptureInfo_ptsz(NULL, &status, &id));
	OK(cuStreamGetCaptureInfo_v2_ptsz(NULL, &status, &id, &graph, &behind, &count));
	OK(cuStreamGetCaptureInfo_v3_ptsz(NULL, &status, &id, &graph, &behind, &edges, &count));
	IS(status == 1 && count == 1);
	OK(cuGraphAddEmptyNode(&node, graph, NULL, 0));
	OK(cuStreamUpdateCaptureDependencies_ptsz(NULL, &node, 1, 0));
	OK(cuStreamUpdateCaptureDependencies_v2_ptsz(NULL, &node, NULL, 1, 0));
	OK(cuStreamEndCapture_ptsz(NULL, &graph));
	OK(cuGraphInstantiateWithParams_ptsz(&exec, graph, &how));
	OK(cuGraphUpload_ptsz(exec, NULL));
	OK(cuGraphLaunch_ptsz(exec, NULL));
	OK(cuStreamSynchronize_ptsz(NULL));
	IS(word(0) == 900);
	OK(cuStreamBeginCaptureToGraph_ptsz(NULL, graph, &node, NULL, 1, 0));
	OK(cuStreamEndCapture_ptsz(NULL, &into));
	IS(into == graph);
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(graph));
}

/* Kernels of branches run beside each other, those of a chain do not. */
static float lasts(int is_chain)
{
	CUgraph graph;
	CUgraphExec exec;
	CUgraphNode nodes[4];
	CUfunction kernel;
	CUevent from, to;
	float took = 0;
	int multiprocessors, blocks;
	kernel_params long_one = { 0, { 1, 1, 1 }, { 256, 1, 1 }, 0, NULL, NULL };

	OK(cuModuleGetFunction(&kernel, module, "long_one"));
	OK(cuDeviceGetAttribute(&multiprocessors, 16, 0));
	OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 256, 0));
	long_one.func = kernel;
	long_one.grid[0] = blocks * multiprocessors / 4;
	OK(cuGraphCreate(&graph, 0));
	for (int n = 0; n < 4; n++)
		OK(cuGraphAddKernelNode(&nodes[n], graph, is_chain && n ? &nodes[n - 1] : NULL, is_chain && n, &long_one));
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	OK(cuGraphLaunch(exec, stream));
	OK(cuStreamSynchronize(stream));
	OK(cuEventCreate(&from, 0));
	OK(cuEventCreate(&to, 0));
	OK(cuEventRecord(from, stream));
	OK(cuGraphLaunch(exec, stream));
	OK(cuEventRecord(to, stream));
	OK(cuEventSynchronize(to));
	OK(cuEventElapsedTime(&took, from, to));
	OK(cuEventDestroy_v2(from));
	OK(cuEventDestroy_v2(to));
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(graph));
	return took;
}

/* Nodes by one description, which names their kind. */
static void any_nodes(void)
{
	CUgraph graph, inside;
	CUgraphNode empty, copied, set, host, launch, child, record, wait, node;
	CUgraphExec exec;
	CUevent event, got;
	unsigned int data[ELEMENTS], one = 1;
	node_params it = { .type = EMPTY };
	edge_data edge = { 0, 0, 0, { 0 } };
	set_params sets_got;
	int type, before;

	for (int n = 0; n < ELEMENTS; n++)
		data[n] = n + 300;
	OK(cuEventCreate(&event, 0));
	OK(cuGraphCreate(&graph, 0));
	OK(cuGraphCreate(&inside, 0));
	OK(cuGraphAddNode_v2(&empty, graph, NULL, NULL, 0, &it));
	it = (node_params){ .type = MEMCPY };
	it.memcpy.context = context;
	it.memcpy.copy = line(memory, data, sizeof(data));
	OK(cuGraphAddNode(&copied, graph, &empty, 1, &it));
	it.memcpy.flags = 1;
	GIVES(CUDA_ERROR_INVALID_VALUE, cuGraphAddNode(&node, graph, &empty, 1, &it));
	it = (node_params){ .type = MEMSET };
	it.memset.set = (set_params){ memory, 0, 55, 4, 8, 1 };
	it.memset.context = context;
	OK(cuGraphAddNode_v2(&set, graph, &copied, &edge, 1, &it));
	edge.type = 1;
	GIVES(CUDA_ERROR_NOT_SUPPORTED, cuGraphAddNode_v2(&node, graph, &copied, &edge, 1, &it));
	it.memset.set.element = 3;
	GIVES(CUDA_ERROR_INVALID_VALUE, cuGraphAddNode(&node, graph, NULL, 0, &it));
	it = (node_params){ .type = CALL };
	it.host = (host_params){ call, &one };
	OK(cuGraphAddNode(&host, graph, &set, 1, &it));
	it = (node_params){ .type = KERNEL };
	it.kernel = (kernel_params_v2){ three, { 2, 1, 1 }, { 32, 1, 1 }, 0, values, NULL, NULL, NULL };
	OK(cuGraphAddNode(&launch, graph, &host, 1, &it));
	OK(cuGraphAddNode(&node, inside, NULL, 0, &it));
	it = (node_params){ .type = GRAPH };
	it.graph.graph = inside;
	OK(cuGraphAddNode(&child, graph, &launch, 1, &it));
	it.graph.ownership = 1;
	GIVES(CUDA_ERROR_NOT_SUPPORTED, cuGraphAddNode(&node, graph, &launch, 1, &it));
	it = (node_params){ .type = RECORD };
	it.event = event;
	OK(cuGraphAddNode(&record, graph, &child, 1, &it));
	it.type = WAIT;
	OK(cuGraphAddNode(&wait, graph, &record, 1, &it));

	/* Kinds, and what is not theirs. */
	OK(cuGraphNodeGetType(child, &type));
	IS(type == GRAPH);
	OK(cuGraphNodeGetType(copied, &type));
	IS(type == MEMCPY);
	OK(cuGraphEventRecordNodeGetEvent(record, &got));
	IS(got == event);
	OK(cuGraphMemsetNodeGetParams(set, &sets_got));
	IS(sets_got.value == 55 && sets_got.width == 8);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuGraphAddNode(&node, graph, NULL, 0, NULL));
	it.reserved1[1] = 1;
	GIVES(CUDA_ERROR_INVALID_VALUE, cuGraphAddNode(&node, graph, NULL, 0, &it));
	it.reserved1[1] = 0;
	it.reserved0[2] = 1;
	GIVES(CUDA_ERROR_INVALID_VALUE, cuGraphAddNode(&node, graph, NULL, 0, &it));
	it.reserved0[2] = 0;
	it.reserved2 = 1;
	GIVES(CUDA_ERROR_INVALID_VALUE, cuGraphAddNode(&node, graph, NULL, 0, &it));
	it = (node_params){ .type = 10 };
	GIVES(CUDA_ERROR_NOT_SUPPORTED, cuGraphAddNode(&node, graph, NULL, 0, &it));
	it = (node_params){ .type = -1 };
	GIVES(CUDA_ERROR_NOT_SUPPORTED, cuGraphAddNode(&node, graph, NULL, 0, &it));
	it = (node_params){ .type = MEMSET };
	it.memset.set = (set_params){ memory, 0, 56, 4, 4, 1 };
	GIVES(CUDA_ERROR_INVALID_VALUE, cuGraphNodeSetParams(host, &it));
	OK(cuGraphNodeSetParams(set, &it));

	/* What they do. */
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	/* What an earlier graph still calls is not this one's. */
	OK(cuStreamSynchronize(stream));
	OK(cuStreamSynchronize(other));
	before = called;
	OK(cuGraphLaunch(exec, stream));
	OK(cuStreamSynchronize(stream));
	IS(called == before + 1 && launched() == a);
	IS(word(0) == 56 && word(3) == 56 && word(4) == 304 && word(ELEMENTS - 1) == 363);
	it.memset.set = (set_params){ memory, 0, 57, 4, 2, 1 };
	OK(cuGraphExecNodeSetParams(exec, set, &it));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuGraphExecNodeSetParams(exec, copied, &it));
	OK(cuGraphLaunch(exec, stream));
	OK(cuStreamSynchronize(stream));
	IS(word(1) == 57 && word(2) == 302);
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(graph));
	OK(cuGraphDestroy(inside));
	OK(cuEventDestroy_v2(event));
}

static void others(void)
{
	location place = { 1, 0 };
	unsigned long long pad[6] = { 0 };
	CUcontext popped;

	OK(cuStreamWriteValue32(stream, memory, 70, 0));
	OK(cuStreamWriteValue32_v2(stream, memory + 4, 71, 1));
	OK(cuStreamSynchronize(stream));
	IS(word(0) == 70 && word(1) == 71);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuStreamWriteValue32(stream, memory + 1, 70, 0));
	GIVES(CUDA_ERROR_NOT_SUPPORTED, cuStreamWaitValue32(stream, memory, 70, 0));
	GIVES(CUDA_ERROR_NOT_SUPPORTED, cuStreamWaitValue32_v2(stream, memory, 70, 0));
	GIVES(CUDA_ERROR_NOT_SUPPORTED, cuStreamBatchMemOp(stream, 1, pad, 0));
	GIVES(CUDA_ERROR_NOT_SUPPORTED, cuStreamBatchMemOp_v2(stream, 1, pad, 0));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemPrefetchAsync(memory, 4, 0, stream));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemPrefetchAsync_v2(memory, 4, place, 0, stream));
	OK(cuCtxPopCurrent(&popped));
	IS(popped == context);
	OK(cuCtxPushCurrent(popped));
	GIVES(CUDA_ERROR_INVALID_CONTEXT, cuDevicePrimaryCtxRelease(0));
	OK(cuDevicePrimaryCtxReset(0));
	OK(cuDevicePrimaryCtxSetFlags(0, 4));
	OK(cuDevicePrimaryCtxSetFlags(0, 0));
}

int main(void)
{
	CUdevice device;
	float chain, branches;

	setvbuf(stdout, NULL, _IOLBF, 0);
	OK(cuInit(0));
	OK(cuDeviceGet(&device, 0));
	OK(cuCtxCreate_v2(&context, 0, device));
	OK(cuModuleLoadData(&module, launch_kernels));
	OK(cuModuleGetFunction(&none, module, "none"));
	OK(cuModuleGetFunction(&three, module, "three"));
	OK(cuModuleGetGlobal_v2(&params, NULL, module, "null_params"));
	OK(cuMemAlloc_v2(&memory, 4 * ELEMENTS));
	OK(cuStreamCreate(&stream, 0));
	OK(cuStreamCreate(&other, 1));
	nodes();
	any_nodes();
	updates();
	objects();
	captures();
	spoiled();
	own_stream();
	chain = lasts(1);
	branches = lasts(0);
	printf("ok %.0f ms as a chain, %.0f ms beside each other\n", chain, branches);
	IS(branches > 0 && chain > 2 * branches);
	others();
	OK(cuStreamDestroy_v2(stream));
	OK(cuStreamDestroy_v2(other));
	OK(cuCtxDestroy_v2(context));
	printf("%d failures\n", failures);
	return failures != 0;
}
