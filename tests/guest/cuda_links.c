/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The linker: what it makes of several texts, what it tells, and states that are gone. */
#include "cuda_launches.h"

#include <stdlib.h>
#include <string.h>

typedef struct CUlinkState_st *CUlinkState;

CUresult cuLinkCreate_v2(unsigned int numOptions, int *options, void **optionValues, CUlinkState *stateOut);
CUresult cuLinkAddData_v2(CUlinkState state, int type, void *data, size_t size, const char *name,
	unsigned int numOptions, int *options, void **optionValues);
CUresult cuLinkAddFile_v2(CUlinkState state, int type, const char *path, unsigned int numOptions, int *options,
	void **optionValues);
CUresult cuLinkComplete(CUlinkState state, void **cubinOut, size_t *sizeOut);
CUresult cuLinkDestroy(CUlinkState state);

enum { MAX_REGISTERS = 0, WALL_TIME = 2, INFO = 3, INFO_BYTES = 4, ERRORS = 5, ERRORS_BYTES = 6, FAST_COMPILE = 17 };
enum { CUBIN = 0, PTX = 1 };

#define HEAD ".version 8.0\n.target sm_70\n.address_size 64\n"
static char first[] = HEAD ".visible .entry first(.param .u64 a)\n{\n\tret;\n}\n";
static char second[] = HEAD ".visible .entry second(.param .u32 a, .param .u8 b)\n{\n\tret;\n}\n";

static CUdevice device;
static CUcontext context;

static CUresult add(CUlinkState state, char *text)
{
	/* The end of a text need not be counted. */
	return cuLinkAddData_v2(state, PTX, text, strlen(text), "a text", 0, NULL, NULL);
}

static void links(void)
{
	char info[256] = "?", errors[256] = "?", small[4] = "?";
	int told[] = { INFO, INFO_BYTES, WALL_TIME, ERRORS, ERRORS_BYTES, MAX_REGISTERS };
	void *values[] = { info, (void *)sizeof(info), (void *)7, errors, (void *)sizeof(errors), (void *)32 };
	int registers[] = { MAX_REGISTERS }, one[] = { FAST_COMPILE }, in_small[] = { INFO, INFO_BYTES };
	void *number[] = { (void *)16 }, *of_small[] = { small, (void *)sizeof(small) };
	static char large[1 << 14];
	void *of_large[] = { large, (void *)sizeof(large) };
	char *name;
	CUlinkState state, other;
	CUmodule module;
	CUfunction function;
	void *linked = NULL, *again;
	size_t size = 0, offset, bytes;
	FILE *file;

	OK(cuLinkCreate_v2(6, told, values, &state));
	IS(info[0] == 0 && errors[0] == 0 && values[1] == NULL);
	OK(add(state, first));
	IS(strcmp(info, "null: a text and 0 options") == 0 && errors[0] == 0);
	/* One of a file, with an option of its own. */
	file = fopen("/tmp/second.ptx", "w");
	IS(file && fputs(second, file) >= 0 && fclose(file) == 0);
	OK(cuLinkAddFile_v2(state, PTX, "/tmp/second.ptx", 1, registers, number));
	IS(strcmp(info, "null: /tmp/second.ptx and 1 options") == 0 && values[1] == (void *)strlen(info));
	OK(cuLinkComplete(state, &linked, &size));
	/* So many bytes the null driver made of both: the second one's head is left out. */
	IS(size == strlen(first) + strlen(second) - strlen(HEAD) + 1);
	IS(linked && memcmp(linked, first, strlen(first)) == 0);
	IS(values[2] != (void *)7);
	/* What was linked is there as long as the state, and the module when that is gone. */
	OK(cuLinkComplete(state, &again, &bytes));
	IS(bytes == size && again != linked);
	OK(cuModuleLoadData(&module, linked));
	OK(cuLinkDestroy(state));
	OK(cuModuleGetFunction(&function, module, "first"));
	OK(cuModuleGetFunction(&function, module, "second"));
	OK(cuFuncGetParamInfo(function, 1, &offset, &bytes));
	IS(offset == 4 && bytes == 1);
	OK(cuModuleUnload(module));

	/* A long text is cut to what an answer has room for. */
	name = malloc(9001);
	memset(name, 'n', 9000);
	name[9000] = 0;
	OK(cuLinkCreate_v2(2, in_small, of_large, &state));
	OK(cuLinkAddData_v2(state, PTX, first, sizeof(first), name, 0, NULL, NULL));
	IS(strlen(large) == (3 << 10) - 1 && of_large[1] == (void *)((3 << 10) - 1) && memcmp(large, "null: nnn", 9) == 0);
	OK(cuLinkComplete(state, &linked, &size));
	OK(cuLinkDestroy(state));
	free(name);

	/* A text is cut to its space. */
	OK(cuLinkCreate_v2(2, in_small, of_small, &state));
	OK(add(state, first));
	IS(strcmp(small, "nul") == 0 && of_small[1] == (void *)3);

	/* Two states at once. */
	OK(cuLinkCreate_v2(0, NULL, NULL, &other));
	OK(add(other, second));
	OK(cuLinkComplete(other, &linked, &size));
	IS(size == strlen(second) + 1);
	OK(cuLinkComplete(state, &again, &bytes));
	IS(bytes == strlen(first) + 1 && memcmp(again, first, bytes) == 0 && memcmp(linked, second, size) == 0);
	OK(cuLinkDestroy(other));
	OK(cuLinkDestroy(state));
	GIVES(CUDA_ERROR_NOT_SUPPORTED, cuLinkCreate_v2(1, one, number, &state));
}

static void refuses(void)
{
	char errors[256] = "?", none[] = "none";
	int told[] = { ERRORS, ERRORS_BYTES };
	void *values[] = { errors, (void *)sizeof(errors) }, *linked;
	CUlinkState state;
	size_t size;

	GIVES(CUDA_ERROR_INVALID_VALUE, cuLinkCreate_v2(0, NULL, NULL, NULL));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuLinkCreate_v2(1, NULL, values, &state));
	OK(cuLinkCreate_v2(2, told, values, &state));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuLinkComplete(state, &linked, &size));
	IS(strcmp(errors, "null: nothing was added") == 0);
	GIVES(CUDA_ERROR_INVALID_VALUE, cuLinkAddData_v2(state, PTX, NULL, 5, "a", 0, NULL, NULL));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuLinkAddData_v2(state, PTX, none, 0, "a", 0, NULL, NULL));
	IS(add(state, none) != CUDA_SUCCESS);
	IS(strcmp(errors, "null: a text is no PTX that it knows") == 0);
	GIVES(CUDA_ERROR_INVALID_IMAGE, cuLinkAddData_v2(state, CUBIN, none, sizeof(none), NULL, 0, NULL, NULL));
	GIVES(CUDA_ERROR_FILE_NOT_FOUND, cuLinkAddFile_v2(state, PTX, "/nowhere", 0, NULL, NULL));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuLinkAddFile_v2(state, PTX, NULL, 0, NULL, NULL));
	/* What is told is the state's matter. */
	GIVES(CUDA_ERROR_INVALID_VALUE,
	      cuLinkAddData_v2(state, PTX, first, sizeof(first), "a", 2, told, (void *[]){ errors, (void *)9 }));
	OK(add(state, first));
	GIVES(CUDA_ERROR_INVALID_VALUE, cuLinkComplete(state, NULL, &size));
	OK(cuLinkComplete(state, &linked, NULL));
	/* An archive is none, and NVVM's code is not looked into. */
	GIVES(CUDA_ERROR_INVALID_IMAGE, cuLinkAddData_v2(state, 4, first, sizeof(first), "a", 0, NULL, NULL));
	GIVES(CUDA_ERROR_NOT_SUPPORTED, cuLinkAddData_v2(state, 5, first, sizeof(first), "a", 0, NULL, NULL));
	OK(cuLinkDestroy(state));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuLinkDestroy(state));
	GIVES(CUDA_ERROR_INVALID_HANDLE, add(state, first));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuLinkAddFile_v2(NULL, PTX, "/nowhere", 0, NULL, NULL));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuLinkComplete((CUlinkState)errors, &linked, &size));
}

/* A state goes with its context. */
static void goes_with_its_context(void)
{
	char info[64];
	int told[] = { INFO, INFO_BYTES };
	void *values[] = { info, (void *)sizeof(info) };
	CUlinkState state, kept;
	CUcontext other;

	OK(cuLinkCreate_v2(0, NULL, NULL, &kept));
	OK(cuCtxCreate_v2(&other, 0, device));
	OK(cuLinkCreate_v2(2, told, values, &state));
	OK(add(state, first));
	/* Whichever context is current. */
	OK(add(kept, first));
	OK(cuCtxDestroy_v2(other));
	OK(cuCtxSetCurrent(context));
	GIVES(CUDA_ERROR_INVALID_HANDLE, add(state, second));
	GIVES(CUDA_ERROR_INVALID_HANDLE, cuLinkDestroy(state));
	OK(cuLinkDestroy(kept));
}

int main(void)
{
	CUlinkState state;

	/* What a program that stops had come to. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	GIVES(CUDA_ERROR_NOT_INITIALIZED, cuLinkCreate_v2(0, NULL, NULL, &state));
	GIVES(CUDA_ERROR_NOT_INITIALIZED, cuLinkAddData_v2(NULL, PTX, first, 4, NULL, 0, NULL, NULL));
	OK(cuInit(0));
	OK(cuDeviceGet(&device, 0));
	GIVES(CUDA_ERROR_INVALID_CONTEXT, cuLinkCreate_v2(0, NULL, NULL, &state));
	OK(cuCtxCreate_v2(&context, 0, device));
	links();
	refuses();
	goes_with_its_context();
	OK(cuCtxDestroy_v2(context));
	printf("%d failures\n", failures);
	return failures != 0;
}
