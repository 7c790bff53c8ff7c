/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A guest without an operating system: runs in the upper half of the address
 * space, where a kernel would. */
	.section .text.start, "ax"
	.globl	_start
_start:
	mov	x27, x27		// the marker below the kernel: no doorbell
	adrp	x0, table
	msr	ttbr0_el1, x0
	msr	ttbr1_el1, x0
	ldr	x1, =0x00ff		// attribute 0: memory, 1: device
	msr	mair_el1, x1
	ldr	x1, =0x80190019		// 39 bit in both halves, 4 KiB pages
	msr	tcr_el1, x1
	isb
	mrs	x1, sctlr_el1
	orr	x1, x1, #1
	msr	sctlr_el1, x1
	isb
	ldr	x1, =high		// its linked address, in the upper half
	br	x1
high:
	ldr	x1, =stack
	mov	sp, x1
	bl	guest
	ldr	x0, =0x84000008		// power off
	hvc	#0
1:	b	1b

	.data
	.balign	4096
table:					// 1 GiB each: devices, RAM
	.quad	0x00000405
	.quad	0x40000701
	.fill	510, 8, 0
	.fill	16384
stack:
