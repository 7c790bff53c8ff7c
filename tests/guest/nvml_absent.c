/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* On a board without NVML. */
#include "nvml_calls.h"

int main(void)
{
	GIVES(NVML_ERROR_DRIVER_NOT_LOADED, nvmlInit_v2());
	GIVES(NVML_ERROR_UNINITIALIZED, nvmlShutdown());
	printf("%d failures\n", failures);
	return failures != 0;
}
