/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Watches for simulators written in C or C++: every call of a function of the
 * guest's kernel, of a kernel module, of a program or of a library, with its
 * arguments, as a line for the user and as values.
 *
 *   1. gil_watch_new() with a configuration such as
 *      "kernel=/boot/vmlinuz,watch=do_exit,watch=gil:gil_doorbell".
 *   2. gil_watch_point_at() for every index from 0 until it says that there is
 *      none: have the simulator stop at these addresses.
 *   3. gil_watch_reach() whenever the CPU is about to execute one of them, on
 *      whichever address space. Print the line, if there is one, and look for
 *      points that are new: modules and programs are found as they are loaded.
 *      What acts on a call asks for its values: gil_watch_argument_at().
 *   4. gil_watch_summary() at the end, then gil_watch_free().
 *
 * Without a kernel (system-call emulation) only functions of programs and
 * libraries can be watched; gil_watch_mapped() and gil_watch_loaded() tell where
 * files are.
 *
 * A CPU model may stop at an address again before it executed the instruction
 * there (a page fault, an interrupt): the caller passes on the first time only.
 *
 * Safety: as gil_host.h says. A handle is one that gil_watch_new() returned.
 */
#ifndef GIL_WATCH_H
#define GIL_WATCH_H

#include "gil_host.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gil_watch gil_watch;

/* gil_watch_guest.reg: the stack pointer. */
#define GIL_WATCH_SP 31u

/* gil_watch_point.id of the first watched function. */
#define GIL_WATCH_FIRST UINT64_C(2)

/* gil_watch_reach(): the simulated time is not known. */
#define GIL_WATCH_NO_TIME UINT64_MAX

/* The CPU at the entry of a function. Set it to all zero, then size. */
typedef struct gil_watch_guest {
	uint64_t size; /* sizeof(gil_watch_guest) */
	void *user;    /* passed to the functions */
	/* Register x0 to x30 (r0 to r12 if is_32bit) or GIL_WATCH_SP; 0 if it
	 * cannot be read. */
	int (*reg)(void *user, unsigned number, int is_32bit, uint64_t *value);
	/* Copies len bytes at a virtual address of the running process or the
	 * kernel; 0 if not all of them are there. */
	int (*read)(void *user, uint64_t address, void *to, uint64_t len);
	/* The running process's number; 0 if it is not known. May be NULL. */
	int (*process)(void *user, uint32_t *number);
} gil_watch_guest;

/* A watched function. Set it to all zero, then size. */
typedef struct gil_watch_function {
	uint64_t size; /* sizeof(gil_watch_function) */
	uint64_t calls;
} gil_watch_function;

/* An address to stop at. Set it to all zero, then size. */
typedef struct gil_watch_point {
	uint64_t size; /* sizeof(gil_watch_point) */
	uint64_t address;
	uint64_t id; /* for gil_watch_reach() */
} gil_watch_point;

/* gil_watch_argument.kind. */
#define GIL_WATCH_REGISTER 0u  /* of a function whose prototype is not known */
#define GIL_WATCH_SIGNED 1u    /* words[0] is the lower half, words[1] the upper; sign-extended */
#define GIL_WATCH_UNSIGNED 2u  /* the same, without a sign */
#define GIL_WATCH_ADDRESS 3u   /* a pointer */
#define GIL_WATCH_TEXT 4u      /* a pointer to constant characters */
#define GIL_WATCH_STRUCTURE 5u /* a structure, register by register: 8 bytes each, or 4 */
#define GIL_WATCH_COPY_AT 6u   /* the address of a structure that is passed by value */
#define GIL_WATCH_FLOAT 7u     /* a floating-point number, which is never read */

/* gil_watch_argument.words: how many there can be. */
#define GIL_WATCH_WORDS 16

/* An argument of a call. Set it to all zero, then size. */
typedef struct gil_watch_argument {
	uint64_t size;  /* sizeof(gil_watch_argument) */
	uint32_t kind;  /* GIL_WATCH_REGISTER … */
	uint32_t count; /* of words; 0 if the simulator does not show the value */
	uint64_t bytes; /* that an integer or a structure has; 0 for others */
	uint64_t words[GIL_WATCH_WORDS];
} gil_watch_argument;

/*
 * config has the keys kernel=PATH (an arm64 Image, raw or packed with gzip, or
 * its ELF file), watch=FUNCTION, watch=MODULE:FUNCTION or watch=OBJECT:FUNCTION@FILE with the
 * ELF file of a program or library, and watch-limit=LINES. What is not there is
 * GIL_HOST_BAD_CONFIG; error holds one sentence, as with gil_host_new().
 */
gil_host_result gil_watch_new(const char *config, gil_watch **out, char *error, size_t error_cap);

/* The watched function with that number, in the configuration's order, and its
 * name as lines have it, cut to cap bytes with its NUL. A point's id is its
 * function's number plus GIL_WATCH_FIRST; smaller ones serve gil itself.
 * GIL_HOST_BAD_ARGUMENT behind the last one. */
gil_host_result gil_watch_function_at(const gil_watch *watch, uint64_t index,
				      gil_watch_function *out, char *name, size_t cap);

/* The point with that number; points never change, but become more.
 * GIL_HOST_BAD_ARGUMENT behind the last one. */
gil_host_result gil_watch_point_at(const gil_watch *watch, uint64_t index, gil_watch_point *out);

/*
 * A point is reached, at so many nanoseconds of simulated time. line receives
 * one line without its end, cut to cap bytes with its NUL; it is empty if there
 * is nothing to say.
 */
gil_host_result gil_watch_reach(gil_watch *watch, const gil_watch_point *point,
				const gil_watch_guest *guest, uint64_t now_ns, char *line,
				size_t cap);

/*
 * The argument with that number of the watched function at whose entry the guest
 * is, and its parameter's or register's name, cut to cap bytes with its NUL;
 * whether gil_watch_reach() gave a line of this call or not. Nothing is counted.
 * GIL_HOST_BAD_ARGUMENT behind the last one, and if no watched function begins
 * at the point.
 */
gil_host_result gil_watch_argument_at(const gil_watch *watch, const gil_watch_point *point,
				      const gil_watch_guest *guest, uint64_t index,
				      gil_watch_argument *out, char *name, size_t cap);

/* The simulator itself mapped a file to be executed, from its byte offset on, at
 * addresses start to end (not part of it). */
gil_host_result gil_watch_mapped(gil_watch *watch, uint64_t start, uint64_t end, uint64_t offset);

/* The simulator itself loaded a program or library, and added so much to the
 * addresses that it was linked for. */
gil_host_result gil_watch_loaded(gil_watch *watch, uint64_t bias);

/* The simulation goes on where another was saved: modules may be loaded already,
 * and are found when the guest uses them. Before the first point is asked for.
 * GIL_HOST_BAD_CONFIG if the kernel cannot be read any more. */
gil_host_result gil_watch_resumed(gil_watch *watch);

/* That simulation had the same configuration, and knew this point.
 * GIL_HOST_BAD_ARGUMENT if there is no such function. */
gil_host_result gil_watch_restore(gil_watch *watch, const gil_watch_point *point);

/* A line about what was never called or not shown, from index 0 on.
 * GIL_HOST_BAD_ARGUMENT behind the last one. */
gil_host_result gil_watch_summary(const gil_watch *watch, uint64_t index, char *line, size_t cap);

/* NULL does nothing. */
void gil_watch_free(gil_watch *watch);

#ifdef __cplusplus
}
#endif

#endif
