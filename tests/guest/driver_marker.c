/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Any program can execute the marker; it counts in the kernel only. The test
 * offers the host a whole mailbox, at its physical address as root can read it,
 * and sees that nobody touches it.
 */
#include "driver_test.h"
#include <sys/mman.h>

static uint64_t physical(const void *addr)
{
	int pagemap = open("/proc/self/pagemap", O_RDONLY);
	uint64_t entry = 0, page = (uintptr_t)addr / 4096;

	if (pread(pagemap, &entry, sizeof(entry), page * 8) != sizeof(entry))
		entry = 0;
	close(pagemap);
	return (entry & ((1ull << 55) - 1)) * 4096 + (uintptr_t)addr % 4096;
}

static void mark(uint64_t gpa)
{
	register uint64_t x0 asm("x0") = gpa;

	asm volatile("dsb sy\n\tmov x27, x27\n\tdsb sy"
		     :
		     : "r"(x0)
		     : "memory");
}

static void programs_markers_are_ignored(void)
{
	static _Alignas(4096) volatile struct gil_mailbox mailbox;
	int fd = open_session();
	uint64_t gpa;

	mailbox.magic = GIL_MAILBOX_MAGIC;
	mailbox.version = GIL_ABI_VERSION;
	mailbox.session = 0x1234567;
	mailbox.seq = 1;
	mailbox.kind = GIL_MBOX_OPEN;
	mailbox.pointer_bits = 64;
	mailbox.status = GIL_STATUS_UNSEEN;
	gpa = physical((const void *)&mailbox);
	CHECK(gpa >= 4096);
	mark(gpa);
	CHECK(mailbox.status == GIL_STATUS_UNSEEN);
	mark(0);
	mark(UINT64_MAX);
	CHECK(works(fd));
	close(fd);
}

int main(void)
{
	run_test("programs_markers_are_ignored", programs_markers_are_ignored);
	return failures != 0;
}
