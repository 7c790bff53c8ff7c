/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What scripted.c, in the guest, has scripted_host.c, in the simulator, do:
 * one request is one script.
 */
#ifndef GIL_SCRIPT_H
#define GIL_SCRIPT_H

#include <linux/types.h>

#define SCRIPT_MAGIC 0x74706372u /* "rcpt" */

/* Region 0's bytes, inverted, go to region 1; the answer is the script. */
struct script {
	__u32 magic;
	__u32 status;
	__u64 delay_ns; /* deadline = now + delay */
	__u32 wait_kind;
	__u32 flags;	/* GIL_FLAG_*; HOLD: output at the next COLLECT */
	__u32 per_round; /* numbers released in one COLLECT, at most */
	__u32 extents;	/* answer: of all regions together */
	__u64 attend_ns; /* attention = now + this; 0: none */
	__u32 attends;	/* so many rings of the timer ask for another one */
	__u32 attend_flags; /* GIL_FLAG_* in the answers to these rings */
	__u64 attended;	/* answer: rings of the timer so far */
	__u64 attend_late_ns; /* answer: how late the latest of them was */
	__u64 seq;	/* answer */
	__u64 held;	/* answer: outputs held */
	__u64 opened;	/* answer: sessions opened so far */
	__u64 closed;	/* answer: sessions closed so far */
};

#endif
