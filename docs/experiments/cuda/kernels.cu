/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The kernels of program.c. */

extern "C" __global__ void multiply(const double *a, const double *b, double *c, int n)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	double sum = 0;

	if (x >= n || y >= n)
		return;
	for (int k = 0; k < n; k++)
		sum += a[y * n + k] * b[k * n + x];
	c[y * n + x] = sum;
}

extern "C" __global__ void add(const float *a, const float *b, float *c, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		c[i] = a[i] + b[i];
}

extern "C" __global__ void nothing(int *a)
{
}

/* Keeps its processors busy for so many cycles. */
extern "C" __global__ void spin(int *a, long long cycles)
{
	long long from = clock64();

	while (clock64() - from < cycles)
		;
	if (threadIdx.x == 0 && blockIdx.x == 0)
		a[0]++;
}

/* Some arithmetic on every element. */
extern "C" __global__ void work(float *a, int n, int times)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float it;

	if (i >= n)
		return;
	it = a[i];
	for (int time = 0; time < times; time++)
		it = it * 0.5f + 1.0f;
	a[i] = it;
}

/* Nothing is at this address. */
extern "C" __global__ void illegal(int *a)
{
	*(volatile int *)16 = 1;
}
