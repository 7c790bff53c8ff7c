/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only */
/*
 * gil_disks: the table of read-only disks that a simulator maps behind the RAM
 * that the guest's kernel uses. gil_disk.ko reads it when it is loaded, at the
 * guest physical address that its parameter "at" gives. One page, at whole
 * pages, little-endian.
 *
 * The Rust mirror is compared with it by a test that compiles it.
 */
#ifndef GIL_DISKS_H
#define GIL_DISKS_H

#include <linux/types.h>

#define GIL_DISKS_MAGIC 0x534b5344u /* "DSKS" */
#define GIL_DISKS_MAX 16u

struct gil_disk {
	__u64 gpa; /* at whole pages */
	__u64 len; /* bytes, whole pages, not 0 */
};

/* Disk N is /dev/gildiskN. */
struct gil_disks {
	__u32 magic; /* GIL_DISKS_MAGIC */
	__u32 count; /* of disk[] */
	struct gil_disk disk[GIL_DISKS_MAX];
};

/*
 * Before it reads the table, gil_disk.ko writes GIL_PAUSE_EVENT to the first
 * byte of QEMU's pvpanic-pci, if the guest has that device: there QEMU stops, on
 * request, to save the guest, and there a saved guest goes on. (QEMU,
 * docs/specs/pvpanic.rst and docs/specs/pci-ids.rst.)
 */
#define GIL_PAUSE_VENDOR 0x1b36u
#define GIL_PAUSE_DEVICE 0x0011u
#define GIL_PAUSE_EVENT 1u

#endif
