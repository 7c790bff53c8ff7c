/* SPDX-License-Identifier: MIT OR Apache-2.0 */
	.text
	.balign	64
	.globl	gil_doorbell
	.type	gil_doorbell, %function
gil_doorbell:
	dsb	sy
	movz	x9, #0x1234
	movk	x9, #0x5678, lsl #16
	movk	x9, #0x9abc, lsl #32
	movk	x9, #0xdef0, lsl #48
	eor	x10, x9, x9, lsl #7
	add	x11, x10, x9, lsr #3
#ifdef MARKER
	mov	x27, x27
#else
	nop
#endif
	dsb	sy
	ret
	.size	gil_doorbell, . - gil_doorbell
