/* The toy API: what a second API needs to be shown beside OpenCL in gil, and no
 * more. An object is current in each thread, as contexts are in CUDA and EGL;
 * errors are positive; a context is a queue, whose commands run in order. */
#ifndef TOY_H
#define TOY_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef int toyResult;
typedef unsigned int toyInfo;
typedef struct toyContext_st *toyContext;
typedef struct toyBuffer_st *toyBuffer;

#define TOY_SUCCESS 0
#define TOY_INVALID_VALUE 1
#define TOY_OUT_OF_MEMORY 2
/* No context is current in this thread. */
#define TOY_NO_CONTEXT 3
#define TOY_INVALID_HANDLE 4
/* This library, or the machine that it stands for, has no such function. */
#define TOY_NOT_SUPPORTED 5
#define TOY_NO_DEVICE 6
/* A command failed. */
#define TOY_FAILED 7

/* Of toyDeviceInfo: a string. */
#define TOY_DEVICE_NAME 1
/* The driver's name, the device's, and its place among those: a string. */
#define TOY_DEVICE_PLACE 2
/* 16 bytes, the same whatever the API; zeroes if the driver knows none. */
#define TOY_DEVICE_UUID 3

/* What the device of this number, counted from 0, says under `name`. */
toyResult toyDeviceInfo(unsigned int device, toyInfo name, size_t size, void *value, size_t *size_ret);

toyResult toyContextCreate(toyContext *context, unsigned int device);
toyResult toyContextDestroy(toyContext context);
/* From here on this thread's calls are about `context`; NULL: about none. */
toyResult toyContextSetCurrent(toyContext context);

/* In the current context. */
toyResult toyBufferCreate(toyBuffer *buffer, size_t size);
toyResult toyBufferDestroy(toyBuffer buffer);
/* Returns when the bytes are in the buffer, behind all commands before. */
toyResult toyUpload(toyBuffer buffer, size_t offset, const void *data, size_t size);
/* Command: multiplies each 32-bit number of the buffer. */
toyResult toyScale(toyBuffer buffer, unsigned int factor);
/* Command: bytes of the buffer; returns when they are there if `wait`. */
toyResult toyRead(toyBuffer buffer, size_t offset, void *data, size_t size, int wait);
/* Command: calls `callback` once, in a thread of the library's. */
toyResult toyNotify(void (*callback)(toyResult status, void *user_data), void *user_data);
/* Waits for all commands of the current context. */
toyResult toyFinish(void);

/* For tools that measure, where the library is the device's own driver: waits
 * for all commands of the current context; nanoseconds that the device spent on
 * the latest. */
toyResult toyElapsed(unsigned long long *nanoseconds);

#ifdef __cplusplus
}
#endif

#endif
