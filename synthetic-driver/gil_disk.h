/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef GIL_DISK_H
#define GIL_DISK_H

/* Where the simulator may save the guest, and a saved guest goes on. */
int gil_pause(void);

#endif
