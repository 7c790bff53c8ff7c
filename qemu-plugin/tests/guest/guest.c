/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What a driver and a program do, without an operating system: a session, the
 * program's start, output, CALLS calls to the board with their waits, its end.
 */
#include "gil.h"

#define HIGH 0xffffff8000000000ull
#define COUNTER_NS 16 /* 62.5 MHz */

void gil_doorbell(unsigned long gpa);

static struct gil_mailbox box __attribute__((aligned(4096)));
static unsigned char request[256], reply[512];
static unsigned long seq;

static unsigned long gpa(const void *address)
{
	return (unsigned long)address - HIGH;
}

static unsigned long counter(void)
{
	unsigned long value;

	__asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(value)::"memory");
	return value;
}

static volatile unsigned int *device(unsigned long at)
{
	return (volatile unsigned int *)(HIGH + at);
}

/* The timer's interrupt ends wfi; it is never taken. */
static void enable_timer(void)
{
	*device(0x08000000) = 1;
	*device(0x08000100) = 1u << 27;
	*device(0x08010004) = 0xff;
	*device(0x08010000) = 1;
}

static void wait_until(unsigned long deadline_ns)
{
	unsigned long deadline = (deadline_ns + COUNTER_NS - 1) / COUNTER_NS;

	__asm__ volatile("msr cntv_cval_el0, %0" ::"r"(deadline));
	__asm__ volatile("msr cntv_ctl_el0, %0\n\tisb" ::"r"(1ul));
	while (counter() < deadline)
		__asm__ volatile("wfi" ::: "memory");
	__asm__ volatile("msr cntv_ctl_el0, %0\n\tisb" ::"r"(0ul));
}

static void ring(unsigned int kind, unsigned int request_len)
{
	box.magic = GIL_MAILBOX_MAGIC;
	box.version = GIL_ABI_VERSION;
	box.session = 1;
	box.seq = ++seq;
	box.kind = kind;
	box.pointer_bits = 64;
	box.now_counter = counter();
	box.now_ns = box.now_counter * COUNTER_NS;
	box.counter_hz = 62500000;
	box.request = gpa(request);
	box.reply = gpa(reply);
	box.request_len = request_len;
	box.reply_cap = sizeof(reply);
	box.status = GIL_STATUS_UNSEEN;
	gil_doorbell(gpa(&box));
	if (box.wait_kind != GIL_WAIT_NONE)
		wait_until(box.deadline_ns);
}

static unsigned char *put(unsigned char *to, unsigned long number, unsigned int bytes)
{
	for (; bytes > 0; bytes--, number >>= 8)
		*to++ = (unsigned char)number;
	return to;
}

/* A synchronous call without regions, as wire-protocol/src/envelope/bytes.rs
 * lays it out. */
static unsigned int call(unsigned long op, const unsigned char *args, unsigned int len)
{
	unsigned char *to = put(request, 20 + len, 4);

	to = put(to, op, 4);
	to = put(to, counter(), 8);
	to = put(to, 1, 4); /* class; engine, flags, rows */
	to = put(to, 0, 4); /* regions, waits */
	for (unsigned int i = 0; i < len; i++)
		*to++ = args[i];
	ring(GIL_MBOX_SUBMIT, 24 + len);
	return box.status;
}

void guest(void)
{
	static const unsigned char started[] = { 9 };
	static const unsigned char ok[] = { 0, 3, 'o', 'k', '\n' };
	static const unsigned char exited[] = { 1, 14, 0 }; /* code 7 */
	unsigned int failures = 0;

	enable_timer();
	ring(GIL_MBOX_OPEN, 0);
	failures += box.status;
	failures += call(2, started, sizeof(started));
	for (unsigned int i = 0; i < CALLS; i++) {
		failures += call(0x10001, started, 1);
		for (volatile unsigned int work = 0; work < 1000 * i; work++)
			;
	}
	if (failures == 0)
		failures += call(1, ok, sizeof(ok));
	call(3, exited, sizeof(exited));
	ring(GIL_MBOX_CLOSE, 0);
}
