/*
 * An OpenCL driver with one device, which crashes where CRASH says:
 *   1  when it is asked for its platforms
 *   2  when a context is made
 * or does not answer when a context is made
 *   3  ever
 *   4  for two seconds
 */
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#include <CL/cl.h>
#include <CL/cl_icd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct object {
    cl_icd_dispatch *dispatch;
};

static cl_icd_dispatch table;
static struct object platform = {&table}, device = {&table};

static cl_int
answer(const void *bytes, size_t len, size_t room, void *value, size_t *size)
{
    if (size)
        *size = len;
    if (value && room < len)
        return CL_INVALID_VALUE;
    if (value)
        memcpy(value, bytes, len);
    return CL_SUCCESS;
}

static cl_int CL_API_CALL
platform_info(cl_platform_id of, cl_platform_info name, size_t room,
              void *value, size_t *size)
{
    const char *text = "crash";

    (void)of;
    if (name == CL_PLATFORM_EXTENSIONS)
        text = "cl_khr_icd";
    if (name == CL_PLATFORM_VERSION)
        text = "OpenCL 1.2 crash";
    return answer(text, strlen(text) + 1, room, value, size);
}

static cl_int CL_API_CALL
device_ids(cl_platform_id of, cl_device_type type, cl_uint room,
           cl_device_id *list, cl_uint *count)
{
    (void)of;
    (void)type;
    if (count)
        *count = 1;
    if (list && room)
        *list = (cl_device_id)&device;
    return CL_SUCCESS;
}

static cl_int CL_API_CALL
device_info(cl_device_id of, cl_device_info name, size_t room, void *value,
            size_t *size)
{
    const char *text = "a device that crashes";

    (void)of;
    (void)name;
    return answer(text, strlen(text) + 1, room, value, size);
}

/* A device that is no part of another has no count. */
static cl_int CL_API_CALL
hold_device(cl_device_id of)
{
    (void)of;
    return CL_SUCCESS;
}

static cl_context CL_API_CALL
create_context(const cl_context_properties *properties, cl_uint count,
               const cl_device_id *devices,
               void (CL_CALLBACK *notify)(const char *, const void *, size_t,
                                          void *),
               void *user, cl_int *error)
{
    (void)properties, (void)count, (void)devices, (void)notify, (void)user;
    while (CRASH == 3)
        pause();
    if (CRASH == 4) {
        sleep(2);
        *error = CL_OUT_OF_RESOURCES;
        return NULL;
    }
    *(volatile int *)8 = 0;
    return NULL;
}

cl_int CL_API_CALL
clIcdGetPlatformIDsKHR(cl_uint room, cl_platform_id *list, cl_uint *count)
{
    if (CRASH == 1)
        abort();
    table.clGetPlatformInfo = platform_info;
    table.clGetDeviceIDs = device_ids;
    table.clGetDeviceInfo = device_info;
    table.clRetainDevice = hold_device;
    table.clReleaseDevice = hold_device;
    table.clCreateContext = create_context;
    if (count)
        *count = 1;
    if (list && room)
        *list = (cl_platform_id)&platform;
    return CL_SUCCESS;
}

cl_int CL_API_CALL
clGetPlatformInfo(cl_platform_id of, cl_platform_info name, size_t room,
                  void *value, size_t *size)
{
    return platform_info(of, name, room, value, size);
}

void *CL_API_CALL
clGetExtensionFunctionAddress(const char *name)
{
    if (!strcmp(name, "clIcdGetPlatformIDsKHR"))
        return (void *)clIcdGetPlatformIDsKHR;
    if (!strcmp(name, "clGetPlatformInfo"))
        return (void *)clGetPlatformInfo;
    return NULL;
}
