/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Prices of European options by the formula of Black and Scholes (1973), in doubles.
 *
 *     black-scholes [--time] [--pinned] [COUNT]      (default: 20000 options)
 *
 * Exponentials and logarithms are computed here, of sums, products and quotients, which
 * every processor rounds alike: prices equal the CPU's to the bit.
 */
#include "example.h"
#include <math.h>

enum { BLOCK = 128 };
#define RATE 0.02
#define VOLATILITY 0.3

static __host__ __device__ double of_bits(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* e^x for |x| < 700: 2^k times a power series of what is left. */
static __host__ __device__ double exponential(double x)
{
	int k = (int)(x * 1.4426950408889634 + (x < 0 ? -0.5 : 0.5));
	double rest = x - k * 0.69314718036912382 - k * 1.9082149292705877e-10, sum = 1;

	for (int i = 14; i > 0; i--)
		sum = 1 + sum * rest / i;
	return sum * of_bits((uint64_t)(1023 + k) << 52);
}

/* ln x for ordinary x > 0: of x = m 2^k with m from 2/3 to 4/3, by the series of artanh. */
static __host__ __device__ double logarithm(double x)
{
	uint64_t bits;
	double m, t, sum = 0;
	int k;

	memcpy(&bits, &x, sizeof(bits));
	k = (int)(bits >> 52) - 1023;
	m = of_bits((bits & 0xfffffffffffffu) | (uint64_t)1023 << 52);
	if (m > 4.0 / 3) {
		m /= 2;
		k++;
	}
	t = (m - 1) / (m + 1);
	for (int i = 25; i > 0; i -= 2)
		sum = sum * t * t + 1.0 / i;
	return k * 0.69314718055994531 + 2 * t * sum;
}

/* The normal distribution: Abramowitz and Stegun, 26.2.17. */
static __host__ __device__ double normal(double x)
{
	double size = x < 0 ? -x : x, t = 1 / (1 + 0.2316419 * size);
	double sum = t * (0.319381530 +
			  t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))));
	double tail = 0.3989422804014327 * exponential(-size * size / 2) * sum;

	return x < 0 ? tail : 1 - tail;
}

struct option {
	double price, strike, years;
};

struct worth {
	double call, put;
};

static __host__ __device__ worth worth_of(option o)
{
	double spread = VOLATILITY * sqrt(o.years);
	double d1 = (logarithm(o.price / o.strike) +
		     (RATE + VOLATILITY * VOLATILITY / 2) * o.years) / spread;
	double d2 = d1 - spread, paid = o.strike * exponential(-RATE * o.years);
	double call = o.price * normal(d1) - paid * normal(d2);
	worth worth = {call, call + paid - o.price};

	return worth;
}

__global__ void price(const option *options, worth *worths, int count)
{
	int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);

	if (i < count)
		worths[i] = worth_of(options[i]);
}

static void price_on_device(const option *options, worth *worths, int count)
{
	option *in = device_memory<option>(count);
	worth *out = device_memory<worth>(count);

	to_device(in, options, count);
	price<<<blocks(count, BLOCK), BLOCK>>>(in, out, count);
	launched("price");
	from_device(worths, out, count);
	CHECK(cudaFree(in));
	CHECK(cudaFree(out));
}

int main(int argc, char **argv)
{
	example_begin("black-scholes", &argc, argv);

	int count = number(argc, argv, 1, 1, 1 << 24, 20000), is_right = 1, code;
	option *options = host_memory<option>(count);
	worth *worths = host_memory<worth>(count);
	uint32_t state = 1;

	for (int i = 0; i < count; i++) {
		options[i].price = 5 + next_random(&state) % 2500 / 100.0;
		options[i].strike = 1 + next_random(&state) % 9900 / 100.0;
		options[i].years = 0.25 + next_random(&state) % 975 / 100.0;
	}
	timed([&] { price_on_device(options, worths, count); });
	for (int i = 0; i < count; i++) {
		worth here = worth_of(options[i]);

		is_right &= memcmp(&here, &worths[i], sizeof(here)) == 0;
	}
	printf("black-scholes: %d options, the first call %.6f, the last put %.6f\n", count,
	       worths[0].call, worths[count - 1].put);
	code = verdict(is_right, worths, count * sizeof(*worths));
	host_free(options);
	host_free(worths);
	return code;
}
