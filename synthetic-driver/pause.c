// SPDX-License-Identifier: GPL-2.0-only
/*
 * The point at which a simulator may save the guest, and at which a saved guest
 * goes on: a write to QEMU's pvpanic-pci. Without that device there is no such
 * point.
 */
#include <linux/io.h>
#include <linux/pci.h>

#include "gil_disk.h"
#include "stop.h"
#include "uapi/gil_disks.h"

static int pause_at(struct pci_dev *device)
{
	void __iomem *port;
	int error = pci_enable_device(device);

	if (error)
		return error;
	port = pci_iomap(device, 0, 1);
	if (port) {
		gil_write_without_timers(GIL_PAUSE_EVENT, port);
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
