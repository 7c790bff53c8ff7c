/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * void gil_doorbell(u64 mailbox_gpa)
 *
 * Simulators find it in one of two ways:
 *   - marker: they translate `mov x27, x27` at a kernel address, and act when
 *     it executes, with the mailbox's guest physical address in x0;
 *   - symbol: they know this function's bytes from gil.ko's ELF file, and act
 *     when its first instruction executes, x0 being the same. The constants
 *     ("gil_doorbell_a64" in x9 and x10) make the bytes unlike any other's. A
 *     driver built with GIL_NO_MARKER can be found in this way only.
 *
 * Written in assembly so that tracing, stack protection and the compiler's
 * mood add nothing before, between or behind. x9 to x12 may be clobbered.
 */
#include <linux/linkage.h>
#include <asm/assembler.h>

	.text
	/* Never across a page: simulators translate page by page. */
	.balign	64
SYM_FUNC_START(gil_doorbell)
	dsb	sy
	movz	x9, #0x6967
	movk	x9, #0x5f6c, lsl #16
	movk	x9, #0x6f64, lsl #32
	movk	x9, #0x726f, lsl #48
	movz	x10, #0x6562
	movk	x10, #0x6c6c, lsl #16
	movk	x10, #0x615f, lsl #32
	movk	x10, #0x3436, lsl #48
	eor	x11, x9, x10
#ifdef GIL_NO_MARKER
	nop
#else
	mov	x27, x27	// GIL_MARKER_A64
#endif
	dsb	sy
	ret
SYM_FUNC_END(gil_doorbell)
