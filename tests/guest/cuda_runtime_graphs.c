/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The runtime's graphs and captured streams, over a driver that runs no kernels. */
#include "cuda_runtime_graphs.h"

enum { ELEMENTS = 64 };

static char null_params[64];
static wrapper whole = { 0x466243b1, 1, NULL, NULL };
static const dim3 one = { 1, 1, 1 }, warp = { 32, 1, 1 };
static unsigned int *memory, source[ELEMENTS];
static cudaStream_t stream, other;
static unsigned long long a = 7;
static unsigned int b = 5;
static unsigned char c = 9;
static void *values[] = { &a, &b, &c };

static void three(void)
{
}

static void stranger(void)
{
}

__attribute__((constructor)) static void registers(void)
{
	void **binary;

	whole.data = fat_binary(launch_kernels);
	binary = __cudaRegisterFatBinary(&whole);
	__cudaRegisterFunction(binary, (char *)three, "three", "three", -1, NULL, NULL, NULL, NULL, NULL);
	__cudaRegisterVar(binary, null_params, "null_params", "null_params", 0, 64, 0, 0);
	__cudaRegisterFatBinaryEnd(binary);
}

static unsigned long long launched(void)
{
	unsigned long long value = 0;

	OK(cudaMemcpyFromSymbol(&value, null_params, sizeof(value), 0, DEVICE_TO_HOST));
	return value;
}

static unsigned int word(int n)
{
	unsigned int value = 0;

	OK(cudaMemcpy(&value, memory + n, sizeof(value), DEVICE_TO_HOST));
	return value;
}

static int called, destroyed;

static void call(void *data)
{
	called += *(int *)data;
}

static void destroy(void *data)
{
	destroyed += *(int *)data;
}

static void nodes(void)
{
	cudaGraph_t graph, inside, shown, copy;
	cudaGraphNode_t empty, copied, set, host, launch, child, found, list[8], froms[8];
	cudaGraphExec_t exec;
	cudaEvent_t event, got;
	node_params kernel = { three, one, warp, 0, values, NULL }, bad = { stranger, one, warp, 0, values, NULL };
	memset_params sets = { memory, 0, 77, 4, 2, 1 }, sets_got;
	host_params calls, calls_got;
	update_info info = { 9, NULL, NULL };
	cudaLaunchAttributeValue value = { { 0 } };
	edge_data edges[8];
	int unit = 1, type = 9;
	unsigned int enabled = 9;
	unsigned long long flags = 9;
	size_t count = 8;

	calls.fn = call;
	calls.userData = &unit;
	OK(cudaGraphCreate(&graph, 0));
	OK(cudaGraphAddEmptyNode(&empty, graph, NULL, 0));
	OK(cudaGraphAddMemcpyNode1D(&copied, graph, &empty, 1, memory, source, sizeof(source), HOST_TO_DEVICE));
	OK(cudaGraphAddMemsetNode(&set, graph, &copied, 1, &sets));
	OK(cudaGraphAddHostNode(&host, graph, &set, 1, &calls));
	OK(cudaGraphAddKernelNode(&launch, graph, &host, 1, &kernel));
	GIVES(cudaErrorInvalidDeviceFunction, cudaGraphAddKernelNode(&found, graph, NULL, 0, &bad));
	GIVES(cudaErrorInvalidValue, cudaGraphAddKernelNode(&found, graph, NULL, 0, NULL));
	GIVES(21, cudaGraphAddMemcpyNode1D(&found, graph, NULL, 0, memory, source, 4, 9));
	OK(cudaGraphCreate(&inside, 0));
	OK(cudaGraphAddEmptyNode(&found, inside, NULL, 0));
	OK(cudaGraphAddChildGraphNode(&child, graph, &empty, 1, inside));
	OK(cudaGraphChildGraphNodeGetGraph(child, &shown));
	OK(cudaGraphGetNodes(graph, list, &count));
	IS(count == 6);
	count = 8;
	OK(cudaGraphGetRootNodes(graph, list, &count));
	IS(count == 1 && list[0] == empty);
	count = 8;
	OK(cudaGraphGetEdges(graph, froms, list, edges, &count));
	IS(count == 5);
	count = 8;
	OK(cudaGraphNodeGetDependencies(launch, list, NULL, &count));
	IS(count == 1 && list[0] == host);
	count = 8;
	OK(cudaGraphNodeGetDependentNodes(empty, list, NULL, &count));
	IS(count == 2);
	OK(cudaGraphAddDependencies(graph, &child, &launch, NULL, 1));
	OK(cudaGraphRemoveDependencies(graph, &child, &launch, NULL, 1));
	OK(cudaGraphNodeGetType(set, &type));
	IS(type == 2);
	OK(cudaGraphMemsetNodeGetParams(set, &sets_got));
	IS(sets_got.value == 77 && sets_got.dst == memory);
	OK(cudaGraphMemsetNodeSetParams(set, &sets));
	OK(cudaGraphHostNodeGetParams(host, &calls_got));
	IS(calls_got.fn == call);
	OK(cudaGraphHostNodeSetParams(host, &calls));
	OK(cudaGraphKernelNodeSetParams(launch, &kernel));
	OK(cudaGraphKernelNodeSetAttribute(launch, 2, &value));
	OK(cudaGraphKernelNodeGetAttribute(launch, 2, &value));
	OK(cudaGraphKernelNodeCopyAttributes(launch, launch));
	OK(cudaGraphMemcpyNodeSetParams1D(copied, memory, source, sizeof(source), BY_ADDRESS));
	OK(cudaGraphDebugDotPrint(graph, "/tmp/runtime.dot", 0));
	OK(cudaGraphInstantiate(&exec, graph, 0));
	OK(cudaGraphExecGetFlags(exec, &flags));
	IS(flags == 0);
	source[5] = 55;
	OK(cudaGraphUpload(exec, stream));
	OK(cudaGraphLaunch(exec, stream));
	OK(cudaStreamSynchronize(stream));
	IS(launched() == 7 && word(0) == 77 && word(5) == 55 && called == 1);
	a = 8;
	sets.value = 78;
	OK(cudaGraphExecKernelNodeSetParams(exec, launch, &kernel));
	OK(cudaGraphExecMemsetNodeSetParams(exec, set, &sets));
	OK(cudaGraphExecHostNodeSetParams(exec, host, &calls));
	OK(cudaGraphExecMemcpyNodeSetParams1D(exec, copied, memory, source, 4 * 8, BY_ADDRESS));
	OK(cudaGraphExecChildGraphNodeSetParams(exec, child, shown));
	OK(cudaGraphLaunch(exec, stream));
	OK(cudaStreamSynchronize(stream));
	IS(launched() == 8 && word(0) == 78 && called == 2);
	OK(cudaGraphNodeSetEnabled(exec, set, 0));
	OK(cudaGraphNodeGetEnabled(exec, set, &enabled));
	IS(enabled == 0);
	OK(cudaGraphExecUpdate(exec, graph, &info));
	IS(info.result == 0);
	OK(cudaGraphExecDestroy(exec));
	OK(cudaEventCreate(&event));
	OK(cudaGraphClone(&copy, graph));
	OK(cudaGraphNodeFindInClone(&found, set, copy));
	OK(cudaGraphAddEventRecordNode(&list[0], copy, &found, 1, event));
	OK(cudaGraphEventRecordNodeGetEvent(list[0], &got));
	IS(got == event);
	OK(cudaGraphEventRecordNodeSetEvent(list[0], event));
	OK(cudaGraphAddEventWaitNode(&list[1], copy, &list[0], 1, event));
	OK(cudaGraphEventWaitNodeGetEvent(list[1], &got));
	IS(got == event);
	OK(cudaGraphEventWaitNodeSetEvent(list[1], event));
	OK(cudaGraphInstantiateWithFlags(&exec, copy, 0));
	OK(cudaGraphExecEventRecordNodeSetEvent(exec, list[0], event));
	OK(cudaGraphExecEventWaitNodeSetEvent(exec, list[1], event));
	OK(cudaGraphLaunch(exec, stream));
	OK(cudaEventSynchronize(event));
	OK(cudaGraphExecDestroy(exec));
	OK(cudaGraphDestroyNode(child));
	OK(cudaEventDestroy(event));
	OK(cudaGraphDestroy(copy));
	OK(cudaGraphDestroy(inside));
	OK(cudaGraphDestroy(graph));
	GIVES(cudaErrorInvalidValue, cudaGraphDestroy(graph));
}

static void objects(void)
{
	cudaGraph_t graph;
	cudaUserObject_t object;
	int unit = 1;

	OK(cudaUserObjectCreate(&object, &unit, destroy, 1, 1));
	OK(cudaUserObjectRetain(object, 2));
	OK(cudaUserObjectRelease(object, 1));
	OK(cudaGraphCreate(&graph, 0));
	OK(cudaGraphRetainUserObject(graph, object, 2, 1));
	OK(cudaGraphReleaseUserObject(graph, object, 1));
	IS(destroyed == 0);
	OK(cudaGraphDestroy(graph));
	IS(destroyed == 1);
}

static void captures(void)
{
	cudaGraph_t graph, again;
	cudaGraphExec_t exec;
	cudaGraphNode_t node;
	const cudaGraphNode_t *behind;
	const edge_data *edges;
	unsigned long long id = 0;
	int status = 9, mode = 2;
	size_t count;

	OK(cudaThreadExchangeStreamCaptureMode(&mode));
	OK(cudaThreadExchangeStreamCaptureMode(&mode));
	IS(mode == 2);
	a = 9;
	source[1] = 11;
	OK(cudaStreamBeginCapture(stream, 0));
	OK(cudaMemcpyAsync(memory, source, sizeof(source), HOST_TO_DEVICE, stream));
	OK(cudaMemsetAsync(memory, 1, 4, stream));
	OK(cudaLaunchKernel(three, one, warp, values, 0, stream));
	OK(cudaStreamIsCapturing(stream, &status));
	IS(status == 1);
	OK(cudaStreamGetCaptureInfo(stream, &status, &id, &graph, &behind, &edges, &count));
	IS(id && count == 1);
	OK(cudaGraphAddEmptyNode(&node, graph, NULL, 0));
	OK(cudaStreamUpdateCaptureDependencies(stream, &node, NULL, 1, 0));
	OK(cudaStreamEndCapture(stream, &graph));
	OK(cudaGraphInstantiate(&exec, graph, 0));
	a = 10;
	source[1] = 12;
	OK(cudaGraphLaunch(exec, other));
	OK(cudaStreamSynchronize(other));
	IS(launched() == 9 && word(0) == 0x01010101 && word(1) == 12);
	OK(cudaStreamBeginCaptureToGraph(stream, graph, &node, NULL, 1, 0));
	OK(cudaStreamEndCapture(stream, &again));
	IS(again == graph);
	OK(cudaStreamBeginCapture(stream, 0));
	GIVES(900, cudaStreamSynchronize(stream));
	GIVES(901, cudaStreamEndCapture(stream, &again));
	IS(!strcmp(cudaGetErrorName(901), "cudaErrorStreamCaptureInvalidated"));
	OK(cudaGraphExecDestroy(exec));
	OK(cudaGraphDestroy(graph));

	/* The thread's own stream. */
	OK(cudaStreamBeginCapture_ptsz(NULL, 0));
	OK(cudaStreamGetCaptureInfo_ptsz(NULL, &status, &id, &graph, &behind, &edges, &count));
	OK(cudaGraphAddEmptyNode(&node, graph, NULL, 0));
	OK(cudaStreamUpdateCaptureDependencies_ptsz(NULL, &node, NULL, 1, 1));
	OK(cudaStreamEndCapture_ptsz(NULL, &graph));
	OK(cudaGraphInstantiate(&exec, graph, 0));
	OK(cudaGraphUpload_ptsz(exec, NULL));
	OK(cudaGraphLaunch_ptsz(exec, NULL));
	OK(cudaStreamBeginCaptureToGraph_ptsz(NULL, graph, NULL, NULL, 0, 0));
	OK(cudaStreamEndCapture_ptsz(NULL, &again));
	OK(cudaGraphExecDestroy(exec));
	OK(cudaGraphDestroy(graph));
}

static box rows(void *to, void *from, size_t bytes)
{
	box it = { 0 };

	it.srcPtr = (pitched){ from, bytes, bytes, 1 };
	it.dstPtr = (pitched){ to, bytes, bytes, 1 };
	it.width = bytes;
	it.height = it.depth = 1;
	it.kind = HOST_TO_DEVICE;
	return it;
}

/* Nodes by one description, which names their kind, and boxes. */
static void any_nodes(void)
{
	enum { KERNEL, MEMCPY, MEMSET, CALL, GRAPH, EMPTY, WAIT, RECORD };
	cudaGraph_t graph, inside;
	cudaGraphNode_t copied, boxed, set, host, launch, child, record, wait, node;
	cudaGraphExec_t exec;
	cudaEvent_t event;
	any_params it = { .type = MEMCPY };
	box half = rows(memory, source, sizeof(source) / 2), none = half;
	int unit = 1, type = 9, before;

	none.height = 0;
	for (int n = 0; n < ELEMENTS; n++)
		source[n] = n + 500;
	OK(cudaEventCreate(&event));
	OK(cudaGraphCreate(&graph, 0));
	OK(cudaGraphCreate(&inside, 0));
	it.memcpy.copy = rows(memory, source, sizeof(source));
	OK(cudaGraphAddNode(&copied, graph, NULL, NULL, 0, &it));
	OK(cudaGraphAddMemcpyNode(&boxed, graph, &copied, 1, &half));
	OK(cudaGraphMemcpyNodeSetParams(boxed, &half));
	GIVES(cudaErrorInvalidValue, cudaGraphAddMemcpyNode(&node, graph, NULL, 0, NULL));
	GIVES(cudaErrorInvalidValue, cudaGraphAddMemcpyNode(&node, graph, NULL, 0, &none));
	it.memcpy.reserved[2] = 1;
	GIVES(cudaErrorInvalidValue, cudaGraphAddNode(&node, graph, NULL, NULL, 0, &it));
	it = (any_params){ .type = MEMSET };
	it.memset = (memset_params){ memory, 0, 91, 4, 3, 1 };
	OK(cudaGraphAddNode(&set, graph, &boxed, NULL, 1, &it));
	it = (any_params){ .type = CALL };
	it.host.fn = call;
	it.host.userData = &unit;
	OK(cudaGraphAddNode(&host, graph, &set, NULL, 1, &it));
	it = (any_params){ .type = KERNEL };
	it.kernel = (node_params){ three, one, warp, 0, values, NULL };
	OK(cudaGraphAddNode(&launch, graph, &host, NULL, 1, &it));
	it.kernel.func = stranger;
	GIVES(cudaErrorInvalidDeviceFunction, cudaGraphAddNode(&node, graph, NULL, NULL, 0, &it));
	it.kernel.func = three;
	it.reserved1[20] = 1;
	GIVES(cudaErrorInvalidValue, cudaGraphAddNode(&node, graph, NULL, NULL, 0, &it));
	it = (any_params){ .type = GRAPH };
	it.graph.graph = inside;
	OK(cudaGraphAddNode(&child, graph, &launch, NULL, 1, &it));
	it = (any_params){ .type = RECORD };
	it.event = event;
	OK(cudaGraphAddNode(&record, graph, &child, NULL, 1, &it));
	it.type = WAIT;
	OK(cudaGraphAddNode(&wait, graph, &record, NULL, 1, &it));
	OK(cudaGraphNodeGetType(wait, &type));
	IS(type == WAIT);
	it = (any_params){ .type = 10 };
	GIVES(801, cudaGraphAddNode(&node, graph, NULL, NULL, 0, &it));
	GIVES(cudaErrorInvalidValue, cudaGraphAddNode(&node, graph, NULL, NULL, 0, NULL));
	it = (any_params){ .type = MEMSET };
	it.memset = (memset_params){ memory, 0, 92, 4, 2, 1 };
	OK(cudaGraphNodeSetParams(set, &it));
	GIVES(cudaErrorInvalidValue, cudaGraphNodeSetParams(host, &it));

	OK(cudaGraphInstantiate(&exec, graph, 0));
	a = 71;
	OK(cudaStreamSynchronize(stream));
	OK(cudaStreamSynchronize(other));
	before = called;
	OK(cudaGraphLaunch(exec, stream));
	OK(cudaStreamSynchronize(stream));
	IS(called == before + 1);
	IS(launched() != 71);
	IS(word(0) == 92 && word(1) == 92 && word(2) == 502 && word(ELEMENTS - 1) == 563);
	it.memset.value = 93;
	OK(cudaGraphExecNodeSetParams(exec, set, &it));
	source[3] = 33;
	OK(cudaGraphExecMemcpyNodeSetParams(exec, boxed, &half));
	OK(cudaGraphLaunch(exec, stream));
	OK(cudaStreamSynchronize(stream));
	IS(word(1) == 93 && word(3) == 33);
	OK(cudaGraphExecDestroy(exec));
	OK(cudaGraphDestroy(graph));
	OK(cudaGraphDestroy(inside));
	OK(cudaEventDestroy(event));
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	OK(cudaMalloc((void **)&memory, sizeof(source)));
	OK(cudaStreamCreate(&stream));
	OK(cudaStreamCreate(&other));
	nodes();
	any_nodes();
	objects();
	captures();
	OK(cudaStreamDestroy(stream));
	OK(cudaStreamDestroy(other));
	OK(cudaFree(memory));
	printf("%d failures\n", failures);
	return failures != 0;
}
