/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Calls a function with arguments of all sizes, in registers and on the stack.
 *
 * Freestanding, for 64 and 32 bits: of the system, it only needs its end.
 *   gcc -g -O1 -static -nostdlib -ffreestanding */

/* Not empty: gem5 takes no segment without contents at the end of a file. */
int sum = 1;

__attribute__((noinline)) void many_arguments(int count, const char *text, unsigned long long wide,
					      signed char a, unsigned char b, short c, long d,
					      const int *e, unsigned int f)
{
	sum += count + text[0] + (int)wide + a + b + c + (int)d + *e + (int)f;
}

static void leave(void)
{
#ifdef __aarch64__
	register long code __asm__("x0") = 0;
	register long number __asm__("x8") = 94;
#else
	register long code __asm__("r0") = 0;
	register long number __asm__("r7") = 248;
#endif
	__asm__ volatile("svc #0" : : "r"(code), "r"(number));
}

void _start(void)
{
	int i;

	/* From one place, with the same stack: each is a call of its own. */
	for (i = 0; i < 3; i++)
		many_arguments(i - 1, "te\"xt", 0x1122334455667788ull, -3, 200, -400, -5, &sum, 9);
	leave();
}
