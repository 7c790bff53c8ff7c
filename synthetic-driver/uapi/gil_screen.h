/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only */
/*
 * gil_screen: how gil_screen.ko asks for pictures of the guest's display, by
 * writes to the first byte of QEMU's pvpanic-pci (gil_disks.h has its numbers).
 *
 * GIL_SCREEN_MARK, once or twice, says what the picture is for, and
 * GIL_SCREEN_STOP stops the machine until the picture is taken. QEMU reports the
 * first as GUEST_CRASHLOADED, the second as GUEST_PANICKED and STOP. (QEMU,
 * docs/specs/pvpanic.rst and qapi/run-state.json.)
 */
#ifndef GIL_SCREEN_H
#define GIL_SCREEN_H

#define GIL_SCREEN_STOP 1u
#define GIL_SCREEN_MARK 2u

/* Numbers of marks: the picture that counts if no later one does. */
#define GIL_SCREEN_LAST 1u
/* One of those that are taken at regular times. */
#define GIL_SCREEN_SERIES 2u

#endif
