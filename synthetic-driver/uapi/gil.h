/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only */
/*
 * gil: the border between a guest program, the kernel module gil.ko and the
 * host interface inside the simulator.
 *
 * This header is the one truth for both layouts:
 *   - the ioctls of /dev/gil (guest library <-> driver), and
 *   - the mailbox (driver <-> host interface), which lies in guest RAM and is
 *     named to the simulator by its guest physical address.
 * The Rust mirrors are compared with it by tests that compile it.
 *
 * All fields are little-endian; sizes and offsets do not depend on the width
 * of a pointer. "gpa" is a guest physical address. Times called _ns are the
 * guest's CLOCK_MONOTONIC in nanoseconds.
 */
#ifndef GIL_UAPI_H
#define GIL_UAPI_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define GIL_ABI_VERSION 4
#define GIL_DEVICE_NAME "gil"

/* Bounds. What is larger travels in regions. */
#define GIL_REQUEST_MAX 8192u /* bytes of envelopes in one submission */
#define GIL_REPLY_MAX 8192u   /* bytes of answer, without regions */
#define GIL_REGIONS_MAX 64u   /* regions in one submission */

/* gil_region.dir, gil_mbox_region.dir */
#define GIL_DIR_IN 1u    /* the board reads it: captured at submission */
#define GIL_DIR_OUT 2u   /* the board writes it */
#define GIL_DIR_INOUT 3u /* both */

/* gil_submit.status, gil_mailbox.status */
#define GIL_STATUS_OK 0u
/* An observation, or a submission whose regions overlap with an outstanding
 * output, waits for an event that the program has yet to set. Nothing was
 * executed; with GIL_FLAG_PENDING: nothing but what stands in front of the last
 * envelope. Sleep with GIL_WAIT_PROGRESS, then submit the rest again. */
#define GIL_STATUS_UNRESOLVED 1u
#define GIL_STATUS_BAD_MAILBOX 2u /* the host refused the mailbox */
#define GIL_STATUS_BAD_REQUEST 3u /* an envelope that does not decode, or a call the board refused */
#define GIL_STATUS_LOST 4u        /* the board, or this session on it, is gone */
#define GIL_STATUS_DUPLICATE 5u   /* this sequence number was executed before; nothing was executed now */
#define GIL_STATUS_UNSERVED 6u    /* the board does not serve the last call's API; what stood in front was executed */
#define GIL_STATUS_UNSEEN 0xffffffffu /* preset by the driver: nobody answered the doorbell */

/* gil_submit.wait_kind, gil_wait.kind */
#define GIL_WAIT_NONE 0u     /* no delay */
#define GIL_WAIT_SLEEP 1u    /* GPU work: the thread sleeps until the deadline */
#define GIL_WAIT_OCCUPY 2u   /* CPU work: the vCPU is occupied until the deadline */
#define GIL_WAIT_PROGRESS 3u /* sleep until the session's progress exceeds gil_wait.progress */

/* gil_submit.flags, gil_mailbox.flags (host -> guest) */
#define GIL_FLAG_PROGRESS 1u /* mailbox: an event was set, or the board is lost; the driver wakes GIL_WAIT_PROGRESS sleepers */
#define GIL_FLAG_COLLECT 2u  /* output is ready by the deadline: after the wait, collect it (GIL_WAIT_COLLECT) */
#define GIL_FLAG_HOLD 4u     /* mailbox: keep this submission's out regions pinned until its number is released */
#define GIL_FLAG_MORE 8u     /* mailbox: more numbers are released than fit; collect again */
#define GIL_FLAG_PENDING 16u /* the submitted operation is accepted and not resolved yet */
#define GIL_FLAG_SPIN 32u    /* mailbox, answer to GIL_MBOX_OPEN: this simulator executes faster than it idles; short waits of the session spin */

/* gil_wait.flags */
#define GIL_WAIT_COLLECT 1u /* ring a COLLECT doorbell when the deadline has passed */

struct gil_region {
	__u64 addr;   /* user virtual address; in an import, the first byte's offset */
	__u64 len;    /* bytes, not 0 */
	__u32 dir;    /* GIL_DIR_* */
	__u32 import; /* id of a gil_import_arg or gil_pin_arg, or 0: memory of the program's */
};

/*
 * GIL_IOC_SUBMIT. The request is one or more envelopes, each behind its length
 * as a __u32; all but the last are posts and get no answer. Never sleeps for a
 * deadline. A submission that returned 0 was handed to the host exactly once.
 *
 * Errors: EPERM (not the process that opened the device), EINVAL (a bound
 * above was exceeded, an unknown field is set, or an import is none), EFAULT (a region or buffer
 * is not accessible), ENOMEM (also: more memory than gil.ko's max_pinned, or
 * more outputs than it keeps, would be outstanding), EBADF (the device is being
 * closed), ENODEV (no simulator answers the doorbell). After each of them the
 * host has seen nothing; the one exception is EFAULT where another thread takes
 * the reply's memory away during the call.
 *
 * open() of the device fails with ENODEV (no simulator answers), EPROTO (the
 * host interface refuses this driver) or ENOMEM.
 */
struct gil_submit {
	__u64 request;      /* user address */
	__u64 reply;        /* user address */
	__u64 regions;      /* user address of struct gil_region[region_count] */
	__u32 request_len;
	__u32 reply_cap;
	__u32 region_count;
	__u32 reserved;
	/* out */
	__u32 status;       /* GIL_STATUS_* */
	__u32 reply_len;
	__u64 deadline_ns;
	__u64 now_ns;       /* when the doorbell rang */
	__u64 progress;     /* the session's progress before the doorbell rang */
	__u32 wait_kind;    /* GIL_WAIT_* */
	__u32 flags;        /* GIL_FLAG_COLLECT, GIL_FLAG_PENDING */
};

/*
 * GIL_IOC_WAIT. Restartable: a signal interrupts it with EINTR (or restarts
 * it), and calling it again with the same arguments is right.
 *
 * Errors: EINTR, EINVAL (an unknown kind or flag), and EPERM, EFAULT, EBADF and
 * ENODEV as above.
 */
struct gil_wait {
	__u64 deadline_ns;
	__u64 progress; /* with GIL_WAIT_PROGRESS */
	__u32 kind;     /* GIL_WAIT_* */
	__u32 flags;
};

/*
 * GIL_IOC_IMPORT. A dma-buf of any driver becomes memory that regions name by
 * its number, without being mapped. Its pages stay where they are until
 * GIL_IOC_FORGET, which takes the number, or the session's end; what a
 * submission names stays until that is done. The descriptor may be closed at
 * once.
 *
 * Errors: EBADF (no descriptor, or the device is being closed), EINVAL (no
 * dma-buf, or a flag), EOPNOTSUPP (its memory is not the guest's RAM), ENOMEM
 * (also: more than gil.ko's max_pinned or than the imports it keeps), EFAULT,
 * EPERM as above, and the errors of the driver that made it. GIL_IOC_FORGET:
 * ENOENT.
 */
struct gil_import_arg {
	__s32 fd;
	__u32 flags; /* 0 */
	/* out */
	__u64 len;   /* bytes */
	__u32 id;    /* never 0 */
	__u32 reserved;
};

/*
 * GIL_IOC_PIN. Memory of the program's becomes memory that regions name by its
 * number, from byte 0 on: its pages are found and pinned once. What the program
 * maps there afterwards is other memory. GIL_IOC_FORGET takes the number; what a
 * submission names stays until that is done.
 *
 * Errors: EINVAL (no byte, or a flag), EFAULT (memory that the program may not write,
 * or that has no pages), EINTR (the program is being killed), EBADF, ENOMEM and
 * EPERM as above, and those of pinning for long (some mappings of files).
 */
struct gil_pin_arg {
	__u64 addr;  /* user virtual address */
	__u64 len;   /* bytes, not 0 */
	__u32 flags; /* 0 */
	/* out */
	__u32 id; /* never 0 */
};

struct gil_info {
	__u32 abi_version;
	__u32 reserved;
	__u64 session;
};

/* The deadline of a fence is at most so far away. */
#define GIL_FENCE_MAX_NS 60000000000ull

/*
 * GIL_IOC_FENCE. A sync file that signals at the deadline, and at once if that has
 * passed: poll, and the ioctls of linux/sync_file.h, as with any driver's. It stays
 * with its descriptors when the session ends.
 * EINVAL: flags, or more than GIL_FENCE_MAX_NS from now. EMFILE, ENFILE: no descriptor.
 * ENOMEM, EPERM as above.
 */
struct gil_fence_arg {
	__u64 deadline_ns; /* CLOCK_MONOTONIC */
	__u32 flags;       /* 0 */
	/* out */
	__s32 fd; /* closed by execve */
};

#define GIL_IOC_MAGIC 'g'
#define GIL_IOC_INFO _IOR(GIL_IOC_MAGIC, 0x01, struct gil_info)
#define GIL_IOC_SUBMIT _IOWR(GIL_IOC_MAGIC, 0x02, struct gil_submit)
#define GIL_IOC_WAIT _IOW(GIL_IOC_MAGIC, 0x03, struct gil_wait)
#define GIL_IOC_IMPORT _IOWR(GIL_IOC_MAGIC, 0x04, struct gil_import_arg)
#define GIL_IOC_FORGET _IO(GIL_IOC_MAGIC, 0x05)
#define GIL_IOC_PIN _IOWR(GIL_IOC_MAGIC, 0x09, struct gil_pin_arg)
#define GIL_IOC_FENCE _IOWR(GIL_IOC_MAGIC, 0x08, struct gil_fence_arg)

/* ---- driver <-> host interface --------------------------------------- */

#define GIL_MAILBOX_MAGIC 0x424d4c47u /* "GLMB" */

/* The marker: mov x27, x27. A no-op; counts only at kernel addresses, with the
 * mailbox's gpa in x0. */
#define GIL_MARKER_A64 0xaa1b03fbu

/* gil_mailbox.kind */
#define GIL_MBOX_OPEN 1u    /* a session begins; session, process, pointer_bits */
#define GIL_MBOX_SUBMIT 2u
#define GIL_MBOX_COLLECT 3u /* deliver output that is ready, release what is delivered */
#define GIL_MBOX_CLOSE 4u   /* the session ends: the host forgets every region at once */
#define GIL_MBOX_ATTEND 5u  /* the driver's timer: as GIL_MBOX_COLLECT, but releases nothing */
/*
 * A GPU whose registers are RAM: of no session. request_len is a GIL_GPU_* that says what
 * `request` is, or 0: only the time is told. The answer is in `released`, at GIL_GPU_LINES
 * and GIL_GPU_REGISTERS; the driver rings again at attention_ns.
 */
#define GIL_MBOX_GPU 6u
#define GIL_GPU_STORE 4u  /* the GPU's driver stores: the register's offset, and the value in the upper half */
#define GIL_GPU_CODE 8u   /* it is about to be bound to the GPU: where its code begins in memory; `reply` is how many bytes that is */
#define GIL_GPU_CLOCK 12u /* the GPU's clock has this rate from now on, hertz; GIL_STATUS_BAD_REQUEST: it does not have it */
#define GIL_GPU_LINES 0     /* interrupt lines that are high, a bit each, as the device tree has them */
#define GIL_GPU_REGISTERS 1 /* virtual address at which the GPU's driver has the registers; 0: not known */

/*
 * The clock of the target's GPU, which a governor in the guest reads and sets: of no
 * session. request_len is 0, or GIL_CLOCK_SET: `request` is its rate from now on, hertz;
 * GIL_STATUS_BAD_REQUEST: it is none of those that it can have. `released` has these in
 * their order, and at GIL_CLOCK_RATE the one that it has. GIL_STATUS_UNSERVED: the clock
 * is not the guest's to set.
 */
#define GIL_MBOX_CLOCK 7u
#define GIL_CLOCK_SET 8u
#define GIL_CLOCK_RATE 15
#define GIL_CLOCK_RATES_MAX 15u

struct gil_extent {
	__u64 gpa;
	__u64 len; /* bytes; contiguous neighbours are merged */
};

#define GIL_EXTENTS_PER_PAGE 255u

/* One page, 4096 bytes, page-aligned. Pages are chained. */
struct gil_extent_page {
	__u64 next;  /* gpa of the next page, or 0 */
	__u32 count; /* of extent[] */
	__u32 reserved;
	struct gil_extent extent[GIL_EXTENTS_PER_PAGE];
};

struct gil_mbox_region {
	__u64 len;     /* bytes, not 0 */
	__u64 extents; /* gpa of the first struct gil_extent_page */
	/* Bytes of the first page's extents before the region. Its chain may go on behind it:
	 * that of an import is written once. */
	__u64 skip;
	__u32 dir;     /* GIL_DIR_* */
	__u32 reserved;
};

#define GIL_RELEASED_MAX 16u

struct gil_mailbox {
	/* driver -> host */
	__u32 magic;        /*   0: GIL_MAILBOX_MAGIC */
	__u32 version;      /*   4: GIL_ABI_VERSION */
	__u64 session;      /*   8: unique since boot, never 0 */
	__u64 seq;          /*  16: from 1, unique in the session */
	__u32 kind;         /*  24: GIL_MBOX_* */
	__u32 pointer_bits; /*  28: 32 or 64, of the program */
	__u32 process;      /*  32: guest process id */
	__u32 thread;       /*  36: guest thread id */
	__u64 now_ns;       /*  40: CLOCK_MONOTONIC at the doorbell */
	__u64 now_counter;  /*  48: virtual counter (CNTVCT) at the same instant */
	__u32 counter_hz;   /*  56: its frequency */
	__u32 region_count; /*  60 */
	__u64 regions;      /*  64: gpa of struct gil_mbox_region[region_count] */
	__u64 request;      /*  72: gpa, contiguous */
	__u64 reply;        /*  80: gpa, contiguous */
	__u32 request_len;  /*  88 */
	__u32 reply_cap;    /*  92 */
	/* host -> driver */
	__u32 status;       /*  96: GIL_STATUS_*, preset to GIL_STATUS_UNSEEN */
	__u32 reply_len;    /* 100 */
	__u64 deadline_ns;  /* 104 */
	__u32 wait_kind;    /* 112: GIL_WAIT_* */
	__u32 flags;        /* 116: GIL_FLAG_* */
	__u32 released_count; /* 120 */
	__u32 reserved;     /* 124 */
	__u64 released[GIL_RELEASED_MAX]; /* 128: numbers whose held regions may be unpinned */
	/* 256: when the driver rings GIL_MBOX_ATTEND by itself, unless another
	 * doorbell's answer says otherwise before; 0: not at all */
	__u64 attention_ns;
};                          /* 264 bytes */

/* ---- driver <-> device ----------------------------------------------- */

/*
 * A device beside the marker, where the simulator has one: compatible
 * "gil,bridge" in the device tree. Offsets of its registers, of 64 bits each.
 */
#define GIL_DEV_ID 0x00u       /* r: GIL_DEV_ID_VALUE */
#define GIL_DEV_FEATURES 0x08u /* r: GIL_DEV_FEATURE_* */
#define GIL_DEV_DOORBELL 0x10u /* w: the mailbox's gpa; answered when the write is done */
#define GIL_DEV_WAKE 0x18u     /* w: CLOCK_MONOTONIC, ns: interrupt then, or now if it has passed */
#define GIL_DEV_ACK 0x20u      /* w: takes the interrupt back */
#define GIL_DEV_SIZE 0x1000u

#define GIL_DEV_ID_VALUE 0x315645444c4947ull /* "GILDEV1" */
#define GIL_DEV_FEATURE_WAKE 1ull            /* GIL_DEV_WAKE works; waits should use it */

#endif
