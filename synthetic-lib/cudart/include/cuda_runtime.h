/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What scripts/guest-nvcc includes into every program: CUDA C++ for clang without NVIDIA's own
 * device headers. The runtime API comes from cuda_runtime_api.h, gil's or NVIDIA's. */
#ifndef GIL_CUDA_RUNTIME_H
#define GIL_CUDA_RUNTIME_H

#include "cuda_targets.h"
#include <cuda_runtime_api.h>

#ifdef GIL_CUDA_RUNTIME_API_H
#include "cuda_flags.h"
#endif
#ifdef __cplusplus
#include "cuda_templates.h"
#endif
#ifdef __CUDA__
#include <__clang_cuda_builtin_vars.h>
#include "cuda_device.h"
#ifdef GIL_LIBDEVICE
#include "cuda_libdevice.h"
#endif
#endif

#endif
