/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A write to QEMU's pvpanic-pci at which QEMU stops the machine, on request.
 *
 * A guest that was stopped must go on as one that was not. QEMU moves its clock
 * on to the next timer as soon as the CPU is stopped, which may be before the
 * machine is; so no timer is armed at that moment.
 */
#ifndef GIL_STOP_H
#define GIL_STOP_H

#include <linux/io.h>
#include <linux/irqflags.h>

#include <asm/barrier.h>
#include <asm/sysreg.h>

static inline void gil_write_without_timers(u8 event, void __iomem *port)
{
	unsigned long flags;
	u64 virtual, physical;

	local_irq_save(flags);
	virtual = read_sysreg(cntv_ctl_el0);
	physical = read_sysreg(cntp_ctl_el0);
	write_sysreg(0, cntv_ctl_el0);
	write_sysreg(0, cntp_ctl_el0);
	isb();
	iowrite8(event, port);
	write_sysreg(physical, cntp_ctl_el0);
	write_sysreg(virtual, cntv_ctl_el0);
	isb();
	local_irq_restore(flags);
}

#endif
