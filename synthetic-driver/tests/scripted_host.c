// SPDX-License-Identifier: GPL-2.0-only
/*
 * A QEMU plugin that plays the host interface for gil.ko's own tests: it does
 * what each request's script says, so that every path of the driver can be
 * walked without a board. Built without QEMU's header: the few functions it
 * needs, of plugin API version 4, are declared here.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../uapi/gil.h"
#include "script.h"

#define RAM_BASE 0x40000000ull
#define KERNEL_HALF (1ull << 63)
#define HELD_MAX 8192

typedef uint64_t qemu_plugin_id_t;
struct bytes {
	uint8_t *data;
	unsigned int len;
};
struct registers {
	struct {
		void *handle;
		const char *name;
		const char *feature;
	} *data;
	unsigned int len;
};
enum { CB_READS_REGISTERS = 1 };

int qemu_plugin_version = 4;

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t,
					   void (*)(qemu_plugin_id_t, void *));
size_t qemu_plugin_tb_n_insns(const void *tb);
void *qemu_plugin_tb_get_insn(const void *tb, size_t index);
size_t qemu_plugin_insn_data(const void *insn, void *to, size_t len);
uint64_t qemu_plugin_insn_vaddr(const void *insn);
void qemu_plugin_register_vcpu_insn_exec_cb(void *insn,
					    void (*)(unsigned int, void *),
					    int flags, void *data);
struct registers *qemu_plugin_get_registers(void);
int qemu_plugin_read_register(void *handle, struct bytes *into);
struct bytes *g_byte_array_new(void);
void *g_byte_array_free(struct bytes *, int free_data);

struct held {
	uint64_t session, seq, extents, len;
	uint8_t *data;
};

static uint8_t *ram;
static uint64_t ram_len;
static struct held held[HELD_MAX];
static uint64_t held_count, opened, closed;
static uint32_t per_round = GIL_RELEASED_MAX;
/* The timer's script: the latest submission's. */
static uint64_t attended, attend_ns, attend_late_ns, wanted_ns;
static uint32_t attends, attend_flags;

static void fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fprintf(stderr, "scripted host: ");
	vfprintf(stderr, format, args);
	fprintf(stderr, "\n");
	va_end(args);
	exit(1);
}

static void find_ram(void)
{
	char path[64], target[256];
	struct stat stat;

	for (int fd = 3; fd < 256; fd++) {
		ssize_t len;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		len = readlink(path, target, sizeof(target) - 1);
		if (len <= 0)
			continue;
		target[len] = 0;
		if (!strstr(target, "memory-backend-memfd") || fstat(fd, &stat))
			continue;
		ram_len = stat.st_size;
		ram = mmap(NULL, ram_len, PROT_READ | PROT_WRITE, MAP_SHARED,
			   fd, 0);
		return;
	}
	fail("no shared guest memory: run QEMU with memory-backend-memfd");
}

static void *at(uint64_t gpa, uint64_t len)
{
	if (gpa < RAM_BASE || len > ram_len || gpa - RAM_BASE > ram_len - len)
		fail("%#llx+%#llx is not guest memory",
		     (unsigned long long)gpa, (unsigned long long)len);
	return ram + (gpa - RAM_BASE);
}

/* Copies between a region and `data`; returns the extent count. No region here is an import's. */
static uint32_t copy_chain(struct gil_mbox_region *region, uint8_t *data, bool out)
{
	uint64_t gpa = region->extents, len = region->len;
	uint32_t extents = 0;
	uint64_t done = 0;

	if (region->skip)
		fail("%llu bytes before a region", (unsigned long long)region->skip);
	while (gpa) {
		struct gil_extent_page *page = at(gpa, sizeof(*page));

		if (gpa % sizeof(*page) || page->count > GIL_EXTENTS_PER_PAGE)
			fail("an extent page at %#lx", gpa);
		for (uint32_t i = 0; i < page->count; i++) {
			struct gil_extent *extent = &page->extent[i];
			void *memory = at(extent->gpa, extent->len);

			if (!extent->len || done + extent->len > len)
				fail("an extent of %llu bytes", extent->len);
			if (out)
				memcpy(memory, data + done, extent->len);
			else
				memcpy(data + done, memory, extent->len);
			done += extent->len;
		}
		extents += page->count;
		gpa = page->next;
	}
	if (done != len)
		fail("extents of %lu bytes for a region of %lu", done, len);
	return extents;
}

/* Where the region's extents are, in memory that stays the driver's. */
static void hold(struct gil_mailbox *mailbox, struct gil_mbox_region *region,
		 uint8_t *data)
{
	struct held *slot = &held[held_count++ % HELD_MAX];

	slot->session = mailbox->session;
	slot->seq = mailbox->seq;
	slot->len = region->len;
	slot->data = data;
	/* One page of extents is enough for these tests; the driver frees it. */
	struct gil_extent_page *copy = malloc(sizeof(*copy));

	*copy = *(struct gil_extent_page *)at(region->extents, sizeof(*copy));
	if (copy->next)
		fail("a held region with more than one page of extents");
	slot->extents = (uintptr_t)copy;
}

static void deliver(struct held *slot)
{
	struct gil_extent_page *page = (void *)(uintptr_t)slot->extents;
	uint64_t done = 0;

	for (uint32_t i = 0; i < page->count; i++) {
		struct gil_extent *extent = &page->extent[i];

		memcpy(at(extent->gpa, extent->len), slot->data + done,
		       extent->len);
		done += extent->len;
	}
	free(page);
	free(slot->data);
	slot->session = 0;
}

static uint64_t held_by(uint64_t session)
{
	uint64_t count = 0;

	for (int i = 0; i < HELD_MAX; i++)
		count += held[i].session == session;
	return count;
}

static void collect(struct gil_mailbox *mailbox)
{
	for (int i = 0; i < HELD_MAX; i++) {
		if (held[i].session != mailbox->session)
			continue;
		if (mailbox->released_count == per_round) {
			mailbox->flags |= GIL_FLAG_MORE;
			return;
		}
		mailbox->released[mailbox->released_count++] = held[i].seq;
		deliver(&held[i]);
	}
}

static void forget(uint64_t session)
{
	for (int i = 0; i < HELD_MAX; i++)
		if (held[i].session == session)
			held[i].session = 0;
}

static void move_data(struct gil_mailbox *mailbox, struct script *script)
{
	struct gil_mbox_region *region =
		at(mailbox->regions, mailbox->region_count * sizeof(*region));
	uint8_t *data = malloc(region[0].len + 1);

	script->extents =
		copy_chain(&region[0], data, false);
	if (mailbox->region_count < 2 || region[1].len != region[0].len) {
		free(data);
		return;
	}
	for (uint64_t i = 0; i < region[0].len; i++)
		data[i] = ~data[i];
	if (script->flags & GIL_FLAG_HOLD) {
		hold(mailbox, &region[1], data);
		return;
	}
	copy_chain(&region[1], data, true);
	free(data);
}

/* A number as postcard encodes it. */
static uint64_t number(const uint8_t **from, const uint8_t *end)
{
	uint64_t value = 0;

	for (int shift = 0; *from < end && shift < 64; shift += 7) {
		uint8_t byte = *(*from)++;

		value |= (uint64_t)(byte & 127) << shift;
		if (byte < 128)
			break;
	}
	return value;
}

/* Bytes of an envelope before its arguments, without queue, events and rows. */
#define CONTROL_HEAD 20

/*
 * The guest's init speaks too: API 0, with nothing but an entry time in its
 * envelope. Its console goes to standard output, the program's exit code or
 * the reason why it did not run to standard error.
 */
static void control(struct gil_mailbox *mailbox)
{
	const uint8_t *at_byte = at(mailbox->request, mailbox->request_len);
	const uint8_t *end = at_byte + mailbox->request_len;
	uint64_t len;
	uint32_t size = 0, op = 0;

	if (end - at_byte > 4)
		memcpy(&size, at_byte, sizeof(size));
	if (!size || size != end - at_byte - 4) {
		mailbox->status = GIL_STATUS_BAD_REQUEST;
		return;
	}
	at_byte += 4;
	if (size > CONTROL_HEAD)
		memcpy(&op, at_byte, sizeof(op));
	at_byte += CONTROL_HEAD;
	if (at_byte >= end || op < 1 || op > 4) {
		mailbox->status = GIL_STATUS_BAD_REQUEST;
		return;
	}
	if (op == 1) {
		at_byte++; /* stream */
		len = number(&at_byte, end);
		if (at_byte + len <= end)
			fwrite(at_byte, 1, len, stdout);
		fflush(stdout);
	} else if (op == 3) {
		fprintf(stderr, "exited: %s %d\n",
			at_byte[0] ? "code" : "signal",
			(at_byte[0] ? at_byte[1] : at_byte[2]) / 2);
	} else if (op == 4) {
		fprintf(stderr, "failed: %.*s\n", (int)(end - at_byte - 2),
			at_byte + 2);
	}
	/* An answer whose four fields are empty. */
	memset(at(mailbox->reply, 4), 0, 4);
	mailbox->reply_len = 4;
}

static void ask_attention(struct gil_mailbox *mailbox, uint64_t in_ns)
{
	wanted_ns = in_ns ? mailbox->now_ns + in_ns : 0;
	mailbox->attention_ns = wanted_ns;
}

static void attend(struct gil_mailbox *mailbox)
{
	if (!wanted_ns)
		fail("the timer rings, and nobody asked for it");
	if (mailbox->now_ns < wanted_ns)
		fail("the timer rings too early");
	attended++;
	attend_late_ns = mailbox->now_ns - wanted_ns;
	mailbox->flags = attend_flags;
	ask_attention(mailbox, attends ? attend_ns : 0);
	if (attends)
		attends--;
}

static void submit(struct gil_mailbox *mailbox)
{
	struct script script = { 0 };

	if (mailbox->request_len == sizeof(script) &&
	    mailbox->reply_cap >= sizeof(script))
		memcpy(&script, at(mailbox->request, sizeof(script)),
		       sizeof(script));
	if (script.magic != SCRIPT_MAGIC) {
		control(mailbox);
		return;
	}
	if (mailbox->region_count)
		move_data(mailbox, &script);
	mailbox->status = script.status;
	mailbox->flags = script.flags;
	mailbox->wait_kind = script.wait_kind;
	mailbox->deadline_ns = mailbox->now_ns + script.delay_ns;
	script.attended = attended;
	script.attend_late_ns = attend_late_ns;
	attend_ns = script.attend_ns;
	attends = script.attends;
	attend_flags = script.attend_flags;
	ask_attention(mailbox, script.attend_ns);
	if (script.per_round)
		per_round = script.per_round;
	script.seq = mailbox->seq;
	script.held = held_by(mailbox->session);
	script.opened = opened;
	script.closed = closed;
	memcpy(at(mailbox->reply, sizeof(script)), &script, sizeof(script));
	mailbox->reply_len = sizeof(script);
}

static void serve(uint64_t gpa)
{
	struct gil_mailbox *mailbox = at(gpa, sizeof(*mailbox));

	if (mailbox->magic != GIL_MAILBOX_MAGIC ||
	    mailbox->version != GIL_ABI_VERSION ||
	    mailbox->status != GIL_STATUS_UNSEEN || !mailbox->session ||
	    mailbox->pointer_bits != 64 || !mailbox->counter_hz)
		fail("the mailbox at %#lx is not filled in", gpa);
	mailbox->status = GIL_STATUS_OK;
	switch (mailbox->kind) {
	case GIL_MBOX_OPEN:
		opened++;
		mailbox->flags = GIL_FLAG_SPIN;
		break;
	case GIL_MBOX_SUBMIT:
		submit(mailbox);
		break;
	case GIL_MBOX_COLLECT:
		collect(mailbox);
		break;
	case GIL_MBOX_ATTEND:
		attend(mailbox);
		break;
	case GIL_MBOX_CLOSE:
		closed++;
		wanted_ns = 0;
		forget(mailbox->session);
		break;
	default:
		fail("kind %u", mailbox->kind);
	}
}

static uint64_t x0(void)
{
	static void *handle;
	struct bytes *bytes = g_byte_array_new();
	uint64_t value;

	if (!handle) {
		struct registers *all = qemu_plugin_get_registers();

		for (unsigned int i = 0; i < all->len; i++)
			if (!strcmp(all->data[i].name, "x0"))
				handle = all->data[i].handle;
	}
	qemu_plugin_read_register(handle, bytes);
	memcpy(&value, bytes->data, sizeof(value));
	g_byte_array_free(bytes, 1);
	return value;
}

static void on_marker(unsigned int vcpu, void *data)
{
	(void)vcpu;
	(void)data;
	if (!ram)
		find_ram();
	serve(x0());
}

static void on_translation(qemu_plugin_id_t id, void *tb)
{
	size_t count = qemu_plugin_tb_n_insns(tb);

	(void)id;
	for (size_t i = 0; i < count; i++) {
		void *insn = qemu_plugin_tb_get_insn(tb, i);
		uint32_t code = 0;

		qemu_plugin_insn_data(insn, &code, sizeof(code));
		if (code == GIL_MARKER_A64 &&
		    qemu_plugin_insn_vaddr(insn) >= KERNEL_HALF)
			qemu_plugin_register_vcpu_insn_exec_cb(
				insn, on_marker, CB_READS_REGISTERS, NULL);
	}
}

int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc,
			char **argv)
{
	(void)info;
	(void)argc;
	(void)argv;
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
	return 0;
}
