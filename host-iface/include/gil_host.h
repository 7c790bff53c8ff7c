/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * gil's host interface for simulators written in C or C++.
 *
 *   1. gil_host_new() with a configuration such as "board=unix:/run/gil.sock".
 *   2. gil_host_add_ram() for every range of guest RAM.
 *   3. gil_host_doorbell() whenever the guest's driver rings, on the vCPU's own
 *      thread, with the mailbox's guest physical address. Simulated time must
 *      stand still until it returns. The answer is then in guest RAM, and the
 *      driver waits in the guest: nothing is left for the simulator to do.
 *   4. gil_host_finish() when the simulation ends, then gil_host_free().
 *
 * Link libgil_host.a, and -lpthread -ldl -lm.
 *
 * Safety, for all functions: a handle is one that gil_host_new() returned and
 * gil_host_free() has not been given; a string is NUL-terminated UTF-8; a
 * buffer has the size that is said. Handles may be used on any thread, by
 * several at a time. No function throws or longjmps, and none of the
 * simulator's own functions that are called from here may.
 */
#ifndef GIL_HOST_H
#define GIL_HOST_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised when something in this header changes its meaning. */
#define GIL_HOST_ABI_VERSION 1u

/* gil_host_doorbell(): the simulator does not count instructions. */
#define GIL_HOST_NOT_COUNTED UINT64_MAX

/* What a function returns; 0 is success. */
typedef enum gil_host_result {
	GIL_HOST_OK = 0,
	GIL_HOST_BAD_ARGUMENT = 1, /* a NULL, a wrong size, no UTF-8 */
	GIL_HOST_BAD_CONFIG = 2,   /* the configuration; the error says which key */
	GIL_HOST_BAD_RAM = 3,      /* ranges that overlap, a file that cannot be mapped */
	GIL_HOST_BAD_FILE = 4,     /* the monitor, a channel, the recording or the log of calls cannot be opened */
	GIL_HOST_TOO_LATE = 5,     /* RAM is added after the first doorbell */
	GIL_HOST_NO_CHECKPOINT = 8, /* sessions cannot be kept or restored */
	GIL_HOST_NO_BOARD = 7,     /* the board cannot be reached, or refuses */
	GIL_HOST_INTERNAL = 6      /* a defect of gil; it stands on standard error */
} gil_host_result;

typedef struct gil_host gil_host;

/* Copies len bytes of guest RAM at gpa; 0 if it could not. Only called with
 * ranges that were added. */
typedef int (*gil_host_read_fn)(void *user, uint64_t gpa, void *to, uint64_t len);
typedef int (*gil_host_write_fn)(void *user, uint64_t gpa, const void *from, uint64_t len);

/* Output of the guest's program; stream is 1 or 2. */
typedef void (*gil_host_console_fn)(void *user, int stream, const void *bytes, uint64_t len);

/* One sentence for the user; fatal is 1 if the run should stop. */
typedef void (*gil_host_message_fn)(void *user, int fatal, const char *text);

/* How the simulator is reached. Set it to all zero, then size. */
typedef struct gil_host_setup {
	uint64_t size;         /* sizeof(gil_host_setup) */
	const char *simulator; /* its name, for reports; required */
	void *user;            /* passed to the functions below */
	/* Both or none. Without them guest RAM is the file of ram=PATH. */
	gil_host_read_fn read;
	gil_host_write_fn write;
	/* NULL: to standard output and standard error. */
	gil_host_console_fn console;
	gil_host_message_fn message;
} gil_host_setup;

/* GIL_HOST_ABI_VERSION of the library. */
uint32_t gil_host_abi_version(void);

/*
 * Sets up the host interface. config is "key=value,key=value" with the keys
 * board, monitor, channel-files, channel-input, ram, ram-base, gpu, trace, calls, report,
 * board-timeout, time, contention, checkpoint-log (detect, module and count are for simulators that look at code themselves).
 *
 * On success *out is the handle. On failure *out is NULL, and error holds one
 * sentence, cut to error_cap bytes with its NUL; error may be NULL.
 */
gil_host_result gil_host_new(const char *config, const gil_host_setup *setup,
			     gil_host **out, char *error, size_t error_cap);

/*
 * Adds a range of guest RAM: len bytes at guest physical address gpa, which
 * lie at offset in the file of ram=PATH (without meaning if there are
 * functions). Without any range the whole file is RAM from ram-base on.
 * Possible until the first doorbell.
 */
gil_host_result gil_host_add_ram(gil_host *host, uint64_t gpa, uint64_t len, uint64_t offset,
				 char *error, size_t error_cap);

/*
 * Connects to the board and hangs up, so that a wrong address is reported before the
 * guest boots; waits no longer than ten seconds. Without it the board is looked
 * for at a session's first call.
 */
gil_host_result gil_host_check_board(gil_host *host, char *error, size_t error_cap);

/*
 * The guest rings: the mailbox lies at guest physical address gpa.
 * instructions is how many the guest executed so far, for the report's
 * prediction, or GIL_HOST_NOT_COUNTED. What the guest does wrong is answered
 * in its mailbox and is no failure here.
 */
gil_host_result gil_host_doorbell(gil_host *host, uint64_t gpa, uint64_t instructions);

/* What a doorbell was for, and what it was answered: the mailbox's own fields
 * (gil.h says what they mean). Set it to all zero, then size. */
typedef struct gil_host_answer {
	uint64_t size; /* sizeof(gil_host_answer) */
	uint64_t session;
	uint64_t seq;
	uint32_t kind;      /* GIL_MBOX_*; 0: the mailbox was refused */
	uint32_t status;    /* GIL_STATUS_*; GIL_STATUS_UNSEEN: no mailbox is there */
	uint32_t wait_kind; /* GIL_WAIT_* */
	uint32_t flags;     /* GIL_FLAG_* */
	uint64_t now_ns;
	uint64_t deadline_ns;
	uint64_t attention_ns;
} gil_host_answer;

/* gil_host_doorbell() for simulators that act on the answer themselves, for
 * example by raising an interrupt at the deadline. */
gil_host_result gil_host_ring(gil_host *host, uint64_t gpa, uint64_t instructions,
			      gil_host_answer *answer);

/*
 * A GPU that the guest's own kernel drives by its registers, with gpu=NAME in the
 * configuration (mali-t628, mali-400): a device of the simulator's hands over each load and
 * store of four bytes at an offset of its registers, at now_ns of guest time.
 * Simulated time must stand still meanwhile; jobs that a store starts are executed on the
 * board. Where no register is, loads give 0 and stores do nothing. Set it to all zero, then
 * size.
 */
typedef struct gil_host_gpu {
	uint64_t size;         /* sizeof(gil_host_gpu) */
	uint32_t value;        /* what a load returns */
	uint32_t lines;        /* interrupts that are high, a bit each, in the device tree's order */
	uint64_t attention_ns; /* a job ends then: gil_host_gpu_tick(); 0: none does */
} gil_host_gpu;

/* GIL_HOST_BAD_ARGUMENT without gpu=NAME. */
gil_host_result gil_host_gpu_load(gil_host *host, uint32_t offset, uint64_t now_ns,
				  gil_host_gpu *out);
gil_host_result gil_host_gpu_store(gil_host *host, uint32_t offset, uint32_t value,
				   uint64_t now_ns, gil_host_gpu *out);
gil_host_result gil_host_gpu_tick(gil_host *host, uint64_t now_ns, gil_host_gpu *out);
/* Its clock has this rate from now on, in hertz, or the nearest that it can have: jobs that
 * begin later last by it. At first it has the highest, at which the board executes. */
gil_host_result gil_host_gpu_clock(gil_host *host, uint64_t hz, uint64_t now_ns,
				   gil_host_gpu *out);

/* The guest's CPU idles, having executed so many instructions. */
gil_host_result gil_host_idle(gil_host *host, uint64_t instructions);

/* Ends every wait for the board, now and later: the user quits. From any
 * thread; not from a signal handler. */
gil_host_result gil_host_cancel(gil_host *host);

/*
 * Ends the run: closes the sessions and the recording, writes what report=FILE
 * asks for. json receives the report, cut to cap bytes with its NUL; *len, if
 * not NULL, its whole length without NUL. A second call returns the same.
 */
gil_host_result gil_host_finish(gil_host *host, char *json, size_t cap, size_t *len);

/*
 * Before a checkpoint, while the guest's CPUs stand still: has the board finish
 * every operation, and delivers the output that is ready at now_ns, in nanoseconds
 * of guest time. *end_ns, if not NULL, is when the last one ends: pass simulated
 * time until then and call it again. 0: nothing ever ran.
 */
gil_host_result gil_host_settle(gil_host *host, uint64_t now_ns, uint64_t *end_ns);

/*
 * Keeps in the file path what the board holds for the guest's programs, after
 * gil_host_settle() and before any doorbell. GIL_HOST_NO_CHECKPOINT if it
 * cannot, with one sentence in error; no file is left then, and the programs go
 * on. Without checkpoint-log=on it can only while no program uses the GPU.
 */
gil_host_result gil_host_checkpoint(gil_host *host, const char *path, uint64_t now_ns,
				    char *error, size_t error_cap);

/* Makes it again on the board, before the first doorbell and after RAM was
 * added. GIL_HOST_NO_CHECKPOINT as above. */
gil_host_result gil_host_restore(gil_host *host, const char *path, char *error, size_t error_cap);

/* Sums since gil_host_new(), for the simulator's own statistics. They only ever
 * grow, but for sessions. Set it to all zero, then size. */
typedef struct gil_host_counters {
	uint64_t size;             /* sizeof(gil_host_counters) */
	uint64_t doorbells;        /* of all kinds */
	uint64_t calls;            /* to the board's APIs, posts included */
	uint64_t posts;            /* calls that needed no answer */
	uint64_t bytes_to_board;   /* of regions */
	uint64_t bytes_from_board; /* of regions */
	uint64_t late_deliveries;  /* outputs delivered over 0.1 ms after their end */
	uint64_t gpu_ns;           /* simulated: what operations took on the device */
	uint64_t board_cpu_ns;     /* simulated: the API's functions on the board's CPU */
	uint64_t wait_ns;          /* simulated: delays that calls were given */
	uint64_t excess_ns;        /* simulated: how long after their ends calls rang */
	uint64_t bridge_wall_ns;   /* wall time of the host interface's own work */
	uint64_t doorbell_wall_ns; /* wall time in doorbells, the board's included */
	uint64_t sessions;         /* open now */
} gil_host_counters;

gil_host_result gil_host_count(gil_host *host, gil_host_counters *out);

/* gil_host_program(). */
#define GIL_HOST_PROGRAM_NONE 0  /* not started, or nobody says */
#define GIL_HOST_PROGRAM_RUNS 1
#define GIL_HOST_PROGRAM_ENDED 2 /* or could not be run */

/*
 * How the program does, as the guest's init tells in full system. *code is its
 * exit code once it ended: 128 and the signal that ended it, or 125 to 127 if
 * it could not be run. Each of the two may be NULL.
 */
gil_host_result gil_host_program(gil_host *host, int *state, int *code);

/*
 * For simulators that execute the program themselves, where no init in the
 * guest tells: it is about to be executed, now_ns nanoseconds into simulated
 * time; it exited.
 */
gil_host_result gil_host_program_started(gil_host *host, uint64_t now_ns);
gil_host_result gil_host_program_exited(gil_host *host, uint64_t now_ns, int code);

/* The name of an entry point that this library knows, by its place in the list
 * of all, from 0; cut to cap bytes with its NUL. GIL_HOST_BAD_ARGUMENT behind
 * the last one. */
gil_host_result gil_host_entry_name(uint32_t index, char *name, size_t cap);

/* Sums of one entry point. Set it to all zero, then size. */
typedef struct gil_host_entry {
	uint64_t size; /* sizeof(gil_host_entry) */
	uint64_t calls;
	uint64_t gpu_ns;       /* simulated: on the device */
	uint64_t board_cpu_ns; /* simulated: on the board's CPU */
	uint64_t wall_ns;      /* of its doorbells */
	uint64_t bytes_to_board;
	uint64_t bytes_from_board;
} gil_host_entry;

gil_host_result gil_host_count_entry(gil_host *host, uint32_t index, gil_host_entry *out);

/* Frees a handle, finishing the run if nobody did. NULL does nothing. */
void gil_host_free(gil_host *host);

#ifdef __cplusplus
}
#endif

#endif
