// SPDX-License-Identifier: GPL-2.0-only
/*
 * The simulator's device, where it has one: a register for the doorbell in
 * place of the marker, and an interrupt at the end of a wait. Found in the
 * device tree; without it, nothing here is ever used.
 */
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/mod_devicetable.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/wait.h>

#include "gil_internal.h"

/* Set before the first session; the driver cannot be unbound from it. */
static void __iomem *gil_registers;
static bool gil_wakes;

/* Who waits for the interrupt. */
static DECLARE_WAIT_QUEUE_HEAD(gil_sleepers);

static u64 gil_read(u32 offset)
{
	return readq(gil_registers + offset);
}

static void gil_write(u32 offset, u64 value)
{
	writeq(value, gil_registers + offset);
}

/* Rings, one way or the other. The answer is in memory on return. */
void gil_knock(u64 mailbox_gpa)
{
	if (!gil_registers) {
		gil_doorbell(mailbox_gpa);
		return;
	}
	gil_write(GIL_DEV_DOORBELL, mailbox_gpa);
	/* A write may be on its way still; it is done when a read behind it is. */
	gil_read(GIL_DEV_ID);
	mb();
}

bool gil_device_wakes(void)
{
	return gil_wakes;
}

/*
 * Sleeps until the deadline by the device's alarm. It may ring a period of the
 * counter too early by this CPU's clock: then it is set again.
 */
int gil_device_sleep(ktime_t deadline)
{
	int err = 0;
	DEFINE_WAIT(wait);

	for (;;) {
		prepare_to_wait(&gil_sleepers, &wait, TASK_INTERRUPTIBLE);
		if (ktime_compare(ktime_get(), deadline) >= 0)
			break;
		if (signal_pending(current)) {
			err = -ERESTARTSYS;
			break;
		}
		gil_write(GIL_DEV_WAKE, ktime_to_ns(deadline));
		schedule();
	}
	finish_wait(&gil_sleepers, &wait);
	return err;
}

static irqreturn_t gil_interrupt(int irq, void *data)
{
	gil_write(GIL_DEV_ACK, 1);
	wake_up_all(&gil_sleepers);
	return IRQ_HANDLED;
}

static int gil_probe_interrupt(struct platform_device *device)
{
	int irq, err;

	if (!(gil_read(GIL_DEV_FEATURES) & GIL_DEV_FEATURE_WAKE))
		return 0;
	irq = platform_get_irq(device, 0);
	if (irq < 0)
		return irq;
	err = devm_request_irq(&device->dev, irq, gil_interrupt, 0,
			       GIL_DEVICE_NAME, NULL);
	if (!err)
		gil_wakes = true;
	return err;
}

static int gil_probe(struct platform_device *device)
{
	void __iomem *registers = devm_platform_ioremap_resource(device, 0);
	u64 id;
	int err;

	if (IS_ERR(registers))
		return PTR_ERR(registers);
	id = readq(registers + GIL_DEV_ID);
	if (gil_registers || id != GIL_DEV_ID_VALUE) {
		dev_err(&device->dev, "not the one device of this driver (%#llx)\n",
			id);
		return -ENODEV;
	}
	gil_registers = registers;
	err = gil_probe_interrupt(device);
	if (err)
		gil_registers = NULL;
	return err;
}

static const struct of_device_id gil_compatible[] = {
	{ .compatible = "gil,bridge" },
	{}
};
MODULE_DEVICE_TABLE(of, gil_compatible);

static struct platform_driver gil_platform_driver = {
	.probe = gil_probe,
	.driver = {
		.name = GIL_DEVICE_NAME,
		.of_match_table = gil_compatible,
		/* Sessions would be left without it. */
		.suppress_bind_attrs = true,
	},
};

int __init gil_device_init(void)
{
	return platform_driver_register(&gil_platform_driver);
}

void gil_device_exit(void)
{
	platform_driver_unregister(&gil_platform_driver);
}
