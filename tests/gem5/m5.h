/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a program in gem5 asks of it. */
#ifndef GIL_TEST_M5_H
#define GIL_TEST_M5_H

/* m5_checkpoint(0, 0): now, and once. */
static inline void m5_checkpoint(void)
{
	register unsigned long delay __asm__("x0") = 0;
	register unsigned long period __asm__("x1") = 0;

	__asm__ volatile(".inst 0xff430110" : "+r"(delay), "+r"(period)::"memory");
}

#endif
