// SPDX-License-Identifier: GPL-2.0-only
/*
 * The point at which a simulator may save the guest, and at which a saved guest
 * goes on: a write to QEMU's pvpanic-pci. Without that device there is no such
 * point.
 *
 * A guest that QEMU saves there must go on as one that it does not. QEMU moves
 * its clock on to the next timer as soon as the CPU is stopped, which may be
 * before the machine is; so no timer is armed at that moment.
 */
#include <linux/io.h>
#include <linux/irqflags.h>
#include <linux/pci.h>

#include <asm/barrier.h>
#include <asm/sysreg.h>

#include "gil_disk.h"
#include "uapi/gil_disks.h"

static void write_without_timers(void __iomem *port)
{
	unsigned long flags;
	u64 virtual, physical;

	local_irq_save(flags);
	virtual = read_sysreg(cntv_ctl_el0);
	physical = read_sysreg(cntp_ctl_el0);
	write_sysreg(0, cntv_ctl_el0);
	write_sysreg(0, cntp_ctl_el0);
	isb();
	iowrite8(GIL_PAUSE_EVENT, port);
	write_sysreg(physical, cntp_ctl_el0);
	write_sysreg(virtual, cntv_ctl_el0);
	isb();
	local_irq_restore(flags);
}

static int pause_at(struct pci_dev *device)
{
	void __iomem *port;
	int error = pci_enable_device(device);

	if (error)
		return error;
	port = pci_iomap(device, 0, 1);
	if (port) {
		write_without_timers(port);
		pci_iounmap(device, port);
	}
	pci_disable_device(device);
	return port ? 0 : -ENOMEM;
}

int gil_pause(void)
{
	struct pci_dev *device;
	int error;

	device = pci_get_device(GIL_PAUSE_VENDOR, GIL_PAUSE_DEVICE, NULL);
	if (!device)
		return 0;
	error = pause_at(device);
	pci_dev_put(device);
	return error;
}
