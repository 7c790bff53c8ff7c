/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Firmware that writes rubbish to every register of gil's device, and ends the
 * simulation with code 0. It takes the place of gem5's boot loader.
 *   gcc -O1 -static -nostdlib -ffreestanding -mgeneral-regs-only -mstrict-align
 *       -I synthetic-driver/uapi -Wl,-Ttext=0x10 -Wl,-N */
#include "gil.h"

#define DEVICE 0x2d000000ul
#define RAM 0x80000000ul
#define ALARMS 3000

__asm__(".globl _start\n"
	"_start: mov sp, #0x80000000\n"
	"	add sp, sp, #0x100000\n"
	"	bl writes_rubbish\n"
	"	mov x0, #0\n"
	"	.inst 0xff210110\n" /* gem5's m5_exit */
	"1:	b 1b\n");

static void write64(unsigned long offset, unsigned long value)
{
	*(volatile unsigned long *)(DEVICE + offset) = value;
}

/* Numbers without meaning, the same in every run. */
static unsigned long next(unsigned long *state)
{
	*state = *state * 6364136223846793005ul + 1442695040888963407ul;
	return *state ^ *state >> 29;
}

static void rings(unsigned long mailbox)
{
	write64(GIL_DEV_DOORBELL, mailbox);
}

/* Mailboxes that begin as one should, and go on with rubbish. */
static void rings_with_rubbish_inside(unsigned long *state)
{
	volatile unsigned long *page = (volatile unsigned long *)(RAM + 0x200000);

	for (int i = 0; i < 512; i++)
		page[i] = next(state);
	rings((unsigned long)page);
	*(volatile unsigned int *)page = GIL_MAILBOX_MAGIC;
	rings((unsigned long)page);
	((volatile unsigned int *)page)[1] = GIL_ABI_VERSION;
	for (int i = 0; i < 64; i++) {
		page[1 + i % 32] = next(state) >> i;
		rings((unsigned long)page);
	}
}

void writes_rubbish(void)
{
	static const unsigned long places[] = { 0, 1, 7, 0x10, DEVICE, DEVICE + GIL_DEV_DOORBELL,
						RAM, RAM + 1, RAM + 0xfff, RAM + 0x7fffffff, ~0ul,
						~0xffful, 1ul << 63 };
	unsigned long state = 1;

	for (unsigned i = 0; i < sizeof(places) / sizeof(*places); i++) {
		rings(places[i]);
		write64(GIL_DEV_WAKE, places[i]);
	}
	rings_with_rubbish_inside(&state);
	for (int i = 0; i < ALARMS; i++)
		write64(GIL_DEV_WAKE, next(&state));
	*(volatile unsigned char *)(DEVICE + GIL_DEV_DOORBELL) = 1;
	*(volatile unsigned int *)(DEVICE + GIL_DEV_DOORBELL + 4) = 1;
	for (unsigned long at = 0; at < GIL_DEV_SIZE; at += 8) {
		if (at != GIL_DEV_DOORBELL)
			write64(at, next(&state));
		(void)*(volatile unsigned long *)(DEVICE + at);
	}
}
