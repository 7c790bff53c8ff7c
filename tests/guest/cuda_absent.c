/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* On a board without CUDA's driver. */
#include "cuda_driver.h"

int main(void)
{
	GIVES(CUDA_ERROR_NO_DEVICE, cuInit(0));
	printf("%d failures\n", failures);
	return failures != 0;
}
