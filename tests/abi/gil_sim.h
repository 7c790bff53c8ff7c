/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A tiny simulator for the C and C++ tests of gil_host.h: an array of RAM, and
 * what a driver writes into it. Calls are encoded by hand, as libraries in
 * other languages would have to.
 */
#ifndef GIL_SIM_H
#define GIL_SIM_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gil.h"
#include "gil_host.h"

#define RAM_BASE 0x80000000ull
#define RAM_SIZE (1u << 20)
#define MAILBOX (RAM_BASE + 0x0)
#define REQUEST (RAM_BASE + 0x1000)
#define REPLY (RAM_BASE + 0x4000)
#define REGIONS (RAM_BASE + 0x8000)
#define PAGES (RAM_BASE + 0x10000)
#define DATA (RAM_BASE + 0x40000)

#define CHECK(condition)                                                          \
	do {                                                                      \
		if (!(condition)) {                                               \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			exit(1);                                                  \
		}                                                                 \
	} while (0)

/* The simulator: its RAM, and the program in the guest. */
struct sim {
	uint8_t *ram;
	gil_host *host;
	uint64_t session;
	uint64_t seq;
	uint64_t now_ns;
};

static inline void *at(struct sim *sim, uint64_t gpa)
{
	return sim->ram + (gpa - RAM_BASE);
}

static inline struct gil_mailbox *mailbox(struct sim *sim)
{
	return (struct gil_mailbox *)at(sim, MAILBOX);
}

static inline struct gil_mailbox *prepare(struct sim *sim, uint32_t kind)
{
	struct gil_mailbox *box = mailbox(sim);

	memset(box, 0, sizeof(*box));
	box->magic = GIL_MAILBOX_MAGIC;
	box->version = GIL_ABI_VERSION;
	box->session = sim->session;
	box->seq = ++sim->seq;
	box->kind = kind;
	box->pointer_bits = 64;
	box->process = 100;
	box->thread = 101;
	box->now_ns = sim->now_ns;
	box->now_counter = sim->now_ns;
	box->counter_hz = 1000000000;
	box->regions = REGIONS;
	box->request = REQUEST;
	box->reply = REPLY;
	box->reply_cap = GIL_REPLY_MAX;
	box->status = GIL_STATUS_UNSEEN;
	return box;
}

static inline uint32_t ring(struct sim *sim)
{
	CHECK(gil_host_doorbell(sim->host, MAILBOX, GIL_HOST_NOT_COUNTED) == GIL_HOST_OK);
	return mailbox(sim)->status;
}

/* One envelope without queue and events: class 0 query, 1 sync. */
static inline uint32_t put_envelope(struct sim *sim, uint32_t op, uint8_t call_class,
				    uint64_t entry, uint32_t regions, const void *args,
				    uint32_t args_len)
{
	uint8_t *start = (uint8_t *)at(sim, REQUEST);
	uint8_t *to = start + 24;
	uint16_t region_count = (uint16_t)regions;
	uint32_t len;

	memset(start, 0, 24);
	memcpy(start + 4, &op, 4);
	memcpy(start + 8, &entry, 8);
	start[16] = call_class;
	start[18] = 2; /* observable */
	memcpy(start + 20, &region_count, 2);
	memcpy(to, args, args_len);
	to += args_len;
	len = (uint32_t)(to - start) - 4;
	memcpy(start, &len, 4);
	return len + 4;
}

/* A region of one extent. */
static inline void put_region(struct sim *sim, uint32_t index, uint64_t gpa, uint64_t len,
			      uint32_t dir)
{
	uint64_t page_gpa = PAGES + index * sizeof(struct gil_extent_page);
	struct gil_extent_page *page = (struct gil_extent_page *)at(sim, page_gpa);
	struct gil_mbox_region *region = (struct gil_mbox_region *)at(sim, REGIONS) + index;

	page->next = 0;
	page->count = 1;
	page->extent[0].gpa = gpa;
	page->extent[0].len = len;
	region->len = len;
	region->extents = page_gpa;
	region->skip = 0;
	region->dir = dir;
	region->reserved = 0;
}

/* A control call: 5 bytes to the program's standard output. */
static inline uint32_t say_hello(struct sim *sim)
{
	static const uint8_t args[] = { 0, 5, 'h', 'e', 'l', 'l', 'o' };
	struct gil_mailbox *box = prepare(sim, GIL_MBOX_SUBMIT);

	box->request_len = put_envelope(sim, 1, 1, sim->now_ns, 0, args, sizeof(args));
	return ring(sim);
}

/* A call to the board: 8 bytes there, 8 back. */
static inline uint32_t call_board(struct sim *sim)
{
	struct gil_mailbox *box = prepare(sim, GIL_MBOX_SUBMIT);

	memcpy(at(sim, DATA), "12345678", 8);
	put_region(sim, 0, DATA, 8, GIL_DIR_IN);
	put_region(sim, 1, DATA + 0x1000, 8, GIL_DIR_OUT);
	box->region_count = 2;
	box->request_len = put_envelope(sim, 0x10001, 1, sim->now_ns, 2, "args", 4);
	return ring(sim);
}

static inline uint32_t open_session(struct sim *sim)
{
	prepare(sim, GIL_MBOX_OPEN);
	return ring(sim);
}

/* What a driver must never be answered with a crash. */
static inline void bad_mailboxes(struct sim *sim)
{
	struct gil_mailbox *box;

	prepare(sim, GIL_MBOX_SUBMIT)->magic = 1;
	CHECK(ring(sim) == GIL_STATUS_UNSEEN); /* not a mailbox: not written */
	prepare(sim, GIL_MBOX_SUBMIT)->version = 77;
	CHECK(ring(sim) == GIL_STATUS_BAD_MAILBOX);
	prepare(sim, 99);
	CHECK(ring(sim) == GIL_STATUS_BAD_MAILBOX);
	prepare(sim, GIL_MBOX_SUBMIT); /* no request */
	CHECK(ring(sim) == GIL_STATUS_BAD_MAILBOX);
	box = prepare(sim, GIL_MBOX_SUBMIT);
	box->request_len = put_envelope(sim, 0x10001, 1, 0, 1, "", 0);
	box->region_count = 1;
	put_region(sim, 0, RAM_BASE + RAM_SIZE - 4, 8, GIL_DIR_OUT); /* past the end */
	CHECK(ring(sim) == GIL_STATUS_BAD_MAILBOX);
	box = prepare(sim, GIL_MBOX_SUBMIT);
	box->request_len = 100; /* what stands there is no envelope */
	memset(at(sim, REQUEST), 0xff, 100);
	CHECK(ring(sim) == GIL_STATUS_BAD_REQUEST);
	/* Outside RAM altogether. */
	CHECK(gil_host_doorbell(sim->host, 0, GIL_HOST_NOT_COUNTED) == GIL_HOST_OK);
	CHECK(gil_host_doorbell(sim->host, UINT64_MAX, GIL_HOST_NOT_COUNTED) == GIL_HOST_OK);
}

#endif
