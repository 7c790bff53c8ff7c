/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What CUDA's driver API promises of arrays, textures and surfaces, over a driver that samples none:
 * its number of a texture has a sum over all that it was made with in its upper half. */
#include "cuda_arrays.h"
#include "cuda_graphs.h"

static CUdevice device;
static CUcontext context;

#define WIDTH 60 /* elements, of which each has 16 bytes */
#define ROW (WIDTH * 16)
#define HEIGHT 9
#define DEPTH 4

static unsigned char sent[ROW * HEIGHT * DEPTH], got[ROW * HEIGHT * DEPTH];

static void fill(int factor)
{
	for (size_t n = 0; n < sizeof(sent); n++)
		sent[n] = n * factor + (n >> 8);
	memset(got, 0xee, sizeof(got));
}

static void flat_arrays(void)
{
	flat_array asked = { WIDTH, HEIGHT, FLOATS, 4 }, found;
	deep_array deep;
	CUarray array, other, line, none = (CUarray)&asked;
	CUdeviceptr memory;
	CUstream stream;
	copy2 up, down, across;

	fill(7);
	OK(cuArrayCreate_v2(&array, &asked));
	OK(cuArrayCreate_v2(&other, &asked));
	OK(cuArrayGetDescriptor_v2(&found, array));
	IS(found.width == WIDTH && found.height == HEIGHT && found.format == FLOATS && found.channels == 4);
	OK(cuArray3DGetDescriptor_v2(&deep, array));
	IS(deep.width == WIDTH && deep.height == HEIGHT && deep.depth == 0 && deep.channels == 4 && deep.flags == 0);

	/* There and back. */
	up = (copy2){ { .kind = HOST, .host = sent, .pitch = ROW }, { .kind = ARRAY, .array = array }, ROW, HEIGHT };
	OK(cuMemcpy2D_v2(&up));
	down = (copy2){ { .kind = ARRAY, .array = array }, { .kind = HOST, .host = got, .pitch = ROW }, ROW, HEIGHT };
	OK(cuMemcpy2D_v2(&down));
	IS(memcmp(got, sent, ROW * HEIGHT) == 0);

	/* A part, from array to array, and by the device's memory. */
	across = (copy2){ { .kind = ARRAY, .array = array, .x = 32, .y = 3 }, { .kind = ARRAY, .array = other, .x = 16, .y = 1 }, 64, 5 };
	OK(cuStreamCreate(&stream, 1));
	OK(cuMemcpy2DAsync_v2(&across, stream));
	OK(cuMemAlloc_v2(&memory, ROW * HEIGHT));
	down = (copy2){ { .kind = ARRAY, .array = other }, { .kind = DEVICE, .device = memory, .pitch = ROW }, ROW, HEIGHT };
	OK(cuMemcpy2DAsync_v2(&down, stream));
	OK(cuStreamSynchronize(stream));
	OK(cuMemcpyDtoH_v2(got, memory, ROW * HEIGHT));
	IS(memcmp(got + ROW + 16, sent + 3 * ROW + 32, 64) == 0);
	IS(memcmp(got + 5 * ROW + 16, sent + 7 * ROW + 32, 64) == 0);
	IS(got[ROW + 15] == 0 && got[ROW + 80] == 0 && got[16] == 0 && got[6 * ROW + 16] == 0);
	up = (copy2){ { .kind = DEVICE, .device = memory, .pitch = ROW }, { .kind = ARRAY, .array = array }, ROW, HEIGHT };
	OK(cuMemcpy2D_v2(&up));

	/* Bytes behind each other. */
	asked = (flat_array){ 100, 0, BYTES, 1 };
	OK(cuArrayCreate_v2(&line, &asked));
	OK(cuMemcpyHtoA_v2(line, 10, sent, 50));
	memset(got, 0xee, 100);
	OK(cuMemcpyAtoH_v2(got, line, 12, 40));
	IS(memcmp(got, sent + 2, 40) == 0 && got[40] == 0xee);
	OK(cuMemcpyHtoD_v2(memory, sent + 300, 64));
	OK(cuMemcpyDtoA_v2(line, 0, memory, 64));
	OK(cuMemcpyAtoA_v2(line, 80, line, 3, 20));
	OK(cuMemcpyAtoD_v2(memory, line, 80, 20));
	OK(cuMemcpyDtoH_v2(got, memory, 20));
	IS(memcmp(got, sent + 303, 20) == 0);
	OK(cuMemcpyHtoAAsync_v2(line, 0, sent, 100, stream));
	OK(cuMemcpyAtoHAsync_v2(got, line, 0, 100, stream));
	OK(cuStreamSynchronize(stream));
	IS(memcmp(got, sent, 100) == 0);
	OK(cuMemcpyHtoA_v2(line, 0, sent, 0));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoA_v2(line, 51, sent, 50));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoA_v2(line, (size_t)-1, sent, 50));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoA_v2(line, 0, NULL, 50));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoA_v2(NULL, 0, sent, 50));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuMemcpyAtoH_v2(got, none, 0, 50));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoA_v2(line, 0, 1, 10));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemcpyAtoD_v2(memory, line, 99, 2));

	/* A part that the array has not. */
	down = (copy2){ { .kind = ARRAY, .array = array, .y = 1 }, { .kind = HOST, .host = got, .pitch = ROW }, ROW, HEIGHT };
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D_v2(&down));
	down.from.y = 0;
	down.from.x = 1;
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D_v2(&down));

	GIVES(CUDA_ERROR_INVALID_VALUE, cuArrayCreate_v2(NULL, &asked));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuArrayCreate_v2(&array, NULL));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuArrayGetDescriptor_v2(&found, none));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuArrayGetDescriptor_v2(NULL, array));
	for (int n = 0; n < 5; n++) {
		static const flat_array wrong[] = { { 0, 1, BYTES, 1 }, { 1, 1, 7, 1 }, { 1, 1, BYTES, 3 },
			{ (size_t)-1, 1, FLOATS, 4 }, { 1 << 20, 1, BYTES, 1 } };
		GIVES(CUDA_ERROR_INVALID_VALUE, cuArrayCreate_v2(&line, &wrong[n]));
	}
	asked = (flat_array){ 16, 16, BLOCKS, 4 };
	GIVES(CUDA_ERROR_NOT_SUPPORTED, cuArrayCreate_v2(&line, &asked));
	OK(cuArrayDestroy(other));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuArrayDestroy(other));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuArrayDestroy(none));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuMemcpyAtoH_v2(got, other, 0, 1));
	OK(cuArrayDestroy(array));
	OK(cuMemFree_v2(memory));
	OK(cuStreamDestroy_v2(stream));
}

static void deep_arrays(void)
{
	deep_array asked = { WIDTH, HEIGHT, DEPTH, WORDS, 4, SURFACES }, found;
	deep_array layers = { 20, 0, DEPTH, BYTES, 1, LAYERS };
	CUarray array, lines, plane;
	char properties[64];
	copy3 up, down;
	copy2 flat;

	fill(11);
	OK(cuArray3DCreate_v2(&array, &asked));
	OK(cuArray3DGetDescriptor_v2(&found, array));
	IS(memcmp(&found, &asked, sizeof(found)) == 0);
	up = (copy3){ { .kind = HOST, .host = sent, .pitch = ROW, .height = HEIGHT }, { .kind = ARRAY, .array = array }, ROW, HEIGHT, DEPTH };
	OK(cuMemcpy3D_v2(&up));
	down = (copy3){ { .kind = ARRAY, .array = array }, { .kind = HOST, .host = got, .pitch = ROW, .height = HEIGHT }, ROW, HEIGHT, DEPTH };
	OK(cuMemcpy3D_v2(&down));
	IS(memcmp(got, sent, sizeof(sent)) == 0);
	memset(got, 0xee, sizeof(got));
	down.from.x = 48;
	down.from.y = 2;
	down.from.z = 3;
	down.width = 16;
	down.height = 2;
	down.depth = 1;
	OK(cuMemcpy3DAsync_v2(&down, NULL));
	OK(cuCtxSynchronize());
	IS(memcmp(got, sent + (3 * HEIGHT + 2) * ROW + 48, 16) == 0 && got[16] == 0xee);
	IS(memcmp(got + ROW, sent + (3 * HEIGHT + 3) * ROW + 48, 16) == 0);
	down.from.z = 4;
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemcpy3D_v2(&down));
	/* A rectangle of the first slice. */
	flat = (copy2){ { .kind = ARRAY, .array = array, .y = 1 }, { .kind = HOST, .host = got, .pitch = ROW }, ROW, 1 };
	OK(cuMemcpy2D_v2(&flat));
	IS(memcmp(got, sent + ROW, ROW) == 0);

	/* Layers of rows. */
	OK(cuArray3DCreate_v2(&lines, &layers));
	up = (copy3){ { .kind = HOST, .host = sent, .pitch = 20, .height = 1 }, { .kind = ARRAY, .array = lines }, 20, 1, DEPTH };
	OK(cuMemcpy3D_v2(&up));
	down = (copy3){ { .kind = ARRAY, .array = lines, .z = 2 }, { .kind = HOST, .host = got, .pitch = 20, .height = 1 }, 20, 1, 1 };
	OK(cuMemcpy3D_v2(&down));
	IS(memcmp(got, sent + 40, 20) == 0);

	/* What arrays have only if a program maps their memory, or if they have planes. */
	GIVES(CUDA_ERROR_INVALID_VALUE, cuArrayGetPlane(&plane, array, 0));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuArrayGetSparseProperties(properties, array));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuArrayGetMemoryRequirements(properties, array, device));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuArrayGetPlane(&plane, (CUarray)&flat, 0));
	asked.flags = SPARSE;
	GIVES(CUDA_ERROR_NOT_SUPPORTED, cuArray3DCreate_v2(&plane, &asked));
	asked.flags = 1 << 20;
	GIVES(CUDA_ERROR_INVALID_VALUE, cuArray3DCreate_v2(&plane, &asked));
	asked = (deep_array){ 8, 8, 5, BYTES, 1, CUBES };
	GIVES(CUDA_ERROR_INVALID_VALUE, cuArray3DCreate_v2(&plane, &asked));
	asked.depth = 6;
	OK(cuArray3DCreate_v2(&plane, &asked));
	OK(cuArrayDestroy(plane));
	OK(cuArrayDestroy(lines));
	OK(cuArrayDestroy(array));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuArrayDestroy(array));
}

static void levels(void)
{
	deep_array asked = { 40, 20, 0, UNORM_BYTES_4, 4, 0 }, found;
	CUmipmappedArray array;
	CUarray first, third, again, none;
	char properties[64];
	copy2 up, down;

	fill(5);
	OK(cuMipmappedArrayCreate(&array, &asked, 4));
	OK(cuMipmappedArrayGetLevel(&first, array, 0));
	OK(cuMipmappedArrayGetLevel(&third, array, 2));
	OK(cuMipmappedArrayGetLevel(&again, array, 2));
	IS(again == third && third != first);
	OK(cuArray3DGetDescriptor_v2(&found, third));
	IS(found.width == 10 && found.height == 5 && found.depth == 0 && found.format == UNORM_BYTES_4);
	up = (copy2){ { .kind = HOST, .host = sent, .pitch = 40 }, { .kind = ARRAY, .array = third }, 40, 5 };
	OK(cuMemcpy2D_v2(&up));
	down = (copy2){ { .kind = ARRAY, .array = third }, { .kind = HOST, .host = got, .pitch = 40 }, 40, 5 };
	OK(cuMemcpy2D_v2(&down));
	IS(memcmp(got, sent, 200) == 0);
	down.from.array = first;
	OK(cuMemcpy2D_v2(&down));
	IS(got[0] == 0 && got[199] == 0);
	down.from.array = third;
	down.height = 6;
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D_v2(&down));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMipmappedArrayGetLevel(&none, array, 4));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuMipmappedArrayGetLevel(&none, (CUmipmappedArray)first, 0));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuArrayDestroy(third));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMipmappedArrayGetSparseProperties(properties, array));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMipmappedArrayGetMemoryRequirements(properties, array, device));
	OK(cuMipmappedArrayDestroy(array));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuMipmappedArrayDestroy(array));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuArray3DGetDescriptor_v2(&found, third));
	/* More levels than there can be are as many as there can be. */
	OK(cuMipmappedArrayCreate(&array, &asked, 100));
	OK(cuMipmappedArrayGetLevel(&third, array, 5));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMipmappedArrayGetLevel(&third, array, 6));
	OK(cuMipmappedArrayDestroy(array));
}

/* FNV-1a of numbers, each of 8 bytes, folded to 32 bits. */
static uint64_t numbers[40];
static int count;

static void adds(uint64_t number)
{
	numbers[count++] = number;
}

static void adds_float(float number)
{
	uint32_t bits;

	memcpy(&bits, &number, sizeof(bits));
	adds(bits);
}

static void adds_sampled(const sampled *it)
{
	for (int n = 0; n < 3; n++)
		adds(it->modes[n]);
	adds(it->filter);
	adds(it->flags);
	adds(it->anisotropy);
	adds(it->levels);
	for (int n = 0; n < 3; n++)
		adds_float(it->levels_at[n]);
	for (int n = 0; n < 4; n++)
		adds_float(it->border[n]);
}

static uint32_t sum(void)
{
	uint64_t sum = 0xcbf29ce484222325;

	for (int n = 0; n < count * 8; n++)
		sum = (sum ^ (numbers[n / 8] >> n % 8 * 8 & 0xff)) * 0x100000001b3;
	count = 0;
	return sum ^ sum >> 32;
}

static void textures(void)
{
	flat_array asked = { 64, 32, FLOATS, 1 };
	shown of = { 0 }, found;
	sampled how = { .modes = { 1, 2, 3 }, .filter = 1, .flags = 2, .anisotropy = 8, .levels = 1,
		.levels_at = { 0.5f, 1, 7 }, .border = { 0.25f, 0.5f, 0.75f, 1 } }, how_found;
	seen as = { .format = 0x16, .size = { 64, 32, 0 }, .ranges = { 0, 0, 1, 2 } }, as_found;
	uint64_t object, second, none = 12345;
	deep_array mipmapped = { 64, 32, 0, BYTES, 4, 0 };
	CUmipmappedArray levels;
	CUdeviceptr memory;
	CUarray array;
	size_t pitch;

	OK(cuArrayCreate_v2(&array, &asked));
	of.kind = LINE_OF_ARRAY;
	of.res.array = array;
	OK(cuTexObjectCreate(&object, &of, &how, &as));
	adds(0);
	adds_sampled(&how);
	adds(as.format);
	for (int n = 0; n < 3; n++)
		adds(as.size[n]);
	for (int n = 0; n < 4; n++)
		adds(as.ranges[n]);
	IS(object >> 32 == sum());
	OK(cuTexObjectGetResourceDesc(&found, object));
	IS(found.kind == of.kind && found.res.array == array && found.flags == 0);
	OK(cuTexObjectGetTextureDesc(&how_found, object));
	IS(memcmp(&how_found, &how, sizeof(how)) == 0);
	OK(cuTexObjectGetResourceViewDesc(&as_found, object));
	IS(as_found.format == as.format && as_found.size[1] == 32 && as_found.ranges[3] == 2);
	OK(cuTexObjectCreate(&second, &of, &how, NULL));
	IS(second != object);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuTexObjectGetResourceViewDesc(&as_found, second));

	/* Of the device's memory. */
	OK(cuMemAllocPitch_v2(&memory, &pitch, 100, 10, 4));
	memset(&of, 0, sizeof(of));
	of.kind = LINEAR;
	of.res.linear.at = memory;
	of.res.linear.format = BYTES;
	of.res.linear.channels = 4;
	of.res.linear.bytes = 400;
	OK(cuTexObjectCreate(&second, &of, &how, NULL));
	adds(LINEAR);
	adds(memory);
	adds(BYTES | 4ull << 32);
	adds(400);
	adds_sampled(&how);
	IS(second >> 32 == sum());
	OK(cuTexObjectDestroy(second));
	of.res.linear.bytes = pitch * 10 + 1;
	GIVES(CUDA_ERROR_INVALID_VALUE, cuTexObjectCreate(&second, &of, &how, NULL));
	of.res.linear.at = 16;
	GIVES(CUDA_ERROR_INVALID_VALUE, cuTexObjectCreate(&second, &of, &how, NULL));
	memset(&of, 0, sizeof(of));
	of.kind = PITCHED;
	of.res.rows.at = memory;
	of.res.rows.format = FLOATS;
	of.res.rows.channels = 1;
	of.res.rows.width = 25;
	of.res.rows.height = 10;
	of.res.rows.pitch = pitch;
	OK(cuTexObjectCreate(&second, &of, &how, NULL));
	adds(PITCHED);
	adds(memory);
	adds(FLOATS | 1ull << 32);
	adds(25);
	adds(10);
	adds(pitch);
	adds_sampled(&how);
	IS(second >> 32 == sum());
	OK(cuTexObjectGetResourceDesc(&found, second));
	IS(found.res.rows.height == 10 && found.res.rows.pitch == pitch && found.res.rows.at == memory);
	OK(cuTexObjectDestroy(second));
	of.res.rows.height = 12;
	GIVES(CUDA_ERROR_INVALID_VALUE, cuTexObjectCreate(&second, &of, &how, NULL));
	of.res.rows.height = (size_t)-1;
	GIVES(CUDA_ERROR_INVALID_VALUE, cuTexObjectCreate(&second, &of, &how, NULL));

	/* Of levels. */
	OK(cuMipmappedArrayCreate(&levels, &mipmapped, 3));
	memset(&of, 0, sizeof(of));
	of.kind = MIPMAPPED;
	of.res.array = levels;
	OK(cuTexObjectCreate(&second, &of, &how, NULL));
	OK(cuTexObjectDestroy(second));
	of.res.array = array;
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuTexObjectCreate(&second, &of, &how, NULL));
	OK(cuMipmappedArrayDestroy(levels));

	of.kind = 9;
	GIVES(CUDA_ERROR_INVALID_VALUE, cuTexObjectCreate(&second, &of, &how, NULL));
	of.kind = LINE_OF_ARRAY;
	of.flags = 1;
	GIVES(CUDA_ERROR_INVALID_VALUE, cuTexObjectCreate(&second, &of, &how, NULL));
	of.flags = 0;
	how.modes[1] = 77;
	GIVES(CUDA_ERROR_INVALID_VALUE, cuTexObjectCreate(&second, &of, &how, NULL));
	how.modes[1] = 0;
	GIVES(CUDA_ERROR_INVALID_VALUE, cuTexObjectCreate(NULL, &of, &how, NULL));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuTexObjectCreate(&second, NULL, &how, NULL));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuTexObjectCreate(&second, &of, NULL, NULL));
	OK(cuTexObjectDestroy(object));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuTexObjectDestroy(object));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuTexObjectDestroy(none));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuTexObjectGetTextureDesc(&how_found, object));
	OK(cuMemFree_v2(memory));
	OK(cuArrayDestroy(array));
}

static void surfaces(void)
{
	deep_array asked = { 64, 32, 0, WORDS, 1, SURFACES };
	shown of = { 0 }, found;
	CUarray array, plain;
	uint64_t object;
	sampled how;

	OK(cuArray3DCreate_v2(&array, &asked));
	asked.flags = 0;
	OK(cuArray3DCreate_v2(&plain, &asked));
	of.res.array = array;
	OK(cuSurfObjectCreate(&object, &of));
	adds(0);
	IS(object >> 32 == sum());
	OK(cuSurfObjectGetResourceDesc(&found, object));
	IS(found.res.array == array);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuTexObjectGetTextureDesc(&how, object));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuTexObjectDestroy(object));
	OK(cuSurfObjectDestroy(object));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuSurfObjectDestroy(object));
	of.res.array = plain;
	GIVES(CUDA_ERROR_INVALID_VALUE, cuSurfObjectCreate(&object, &of));
	of.kind = LINEAR;
	GIVES(CUDA_ERROR_INVALID_VALUE, cuSurfObjectCreate(&object, &of));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuSurfObjectCreate(&object, NULL));
	OK(cuArrayDestroy(plain));
	OK(cuArrayDestroy(array));
}

/* Copies from and to arrays as nodes of a graph. */
static void captured(void)
{
	flat_array asked = { 100, 0, BYTES, 1 };
	CUarray array;
	CUstream stream;
	CUgraph graph;
	CUgraphExec exec;

	fill(13);
	OK(cuArrayCreate_v2(&array, &asked));
	OK(cuStreamCreate(&stream, 1));
	OK(cuStreamBeginCapture_v2(stream, 0));
	OK(cuMemcpyHtoAAsync_v2(array, 0, sent, 100, stream));
	OK(cuMemcpyAtoHAsync_v2(got, array, 10, 50, stream));
	OK(cuStreamEndCapture(stream, &graph));
	IS(got[0] == 0xee);
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	OK(cuGraphLaunch(exec, stream));
	OK(cuStreamSynchronize(stream));
	IS(memcmp(got, sent + 10, 50) == 0 && got[50] == 0xee);
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(graph));
	OK(cuStreamDestroy_v2(stream));
	OK(cuArrayDestroy(array));
}

/* What a context has goes with it, and is no other's. */
static void contexts(void)
{
	flat_array asked = { 100, 0, BYTES, 1 };
	sampled how = { 0 }, found;
	shown of = { 0 };
	CUcontext other;
	CUarray array;
	uint64_t object;

	OK(cuCtxCreate_v2(&other, 0, device));
	OK(cuArrayCreate_v2(&array, &asked));
	of.res.array = array;
	OK(cuTexObjectCreate(&object, &of, &how, NULL));
	OK(cuCtxSetCurrent(context));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoA_v2(array, 0, sent, 10));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuTexObjectCreate(&object, &of, &how, NULL));
	OK(cuCtxDestroy_v2(other));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuArrayDestroy(array));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuTexObjectGetTextureDesc(&found, object));
}

int main(void)
{
	flat_array asked = { 1, 1, BYTES, 1 };
	CUarray array;

	GIVES(CUDA_ERROR_NOT_INITIALIZED, cuArrayCreate_v2(&array, &asked));
	OK(cuInit(0));
	GIVES(CUDA_ERROR_INVALID_CONTEXT, cuArrayCreate_v2(&array, &asked));
	OK(cuDeviceGet(&device, 0));
	OK(cuCtxCreate_v2(&context, 0, device));
	flat_arrays();
	deep_arrays();
	levels();
	textures();
	surfaces();
	captured();
	contexts();
	OK(cuCtxDestroy_v2(context));
	printf("%d failures\n", failures);
	return failures != 0;
}
