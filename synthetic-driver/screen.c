// SPDX-License-Identifier: GPL-2.0-only
/*
 * gil_screen.ko: the moments at which pictures of the guest's display are taken.
 *
 * As a program ends, the kernel takes its buffers off the screen and shows its own
 * console again, so the program's last picture is taken before that: at the last
 * close of a display that the program was master of. A program that draws into the
 * console's memory (/dev/fb0) leaves it on the screen; its picture is taken when
 * init writes to the parameter "end". What runs beside the program and has the
 * display, such as a compositor, is about to be killed when the program has ended:
 * init says so by "leave", and the picture of then is the last.
 */
#include <linux/atomic.h>
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/of.h>
#include <linux/of_address.h>
#include <linux/pci.h>
#include <linux/ptrace.h>
#include <linux/spinlock.h>
#include <linux/version.h>

#include <drm/drm_auth.h>
#include <drm/drm_file.h>

#include "stop.h"
#include "uapi/gil_disks.h"
#include "uapi/gil_screen.h"

static unsigned long every_us;
module_param(every_us, ulong, 0444);
MODULE_PARM_DESC(every_us, "take a picture each time so many microseconds have passed; 0: none");

/*
 * Longer than the kernel waits (50 ms) before it shows what was drawn into the
 * console's memory, where the display has memory of its own.
 */
#define SHOWN_WITHIN_MS 200

static struct pci_dev *device;
static void __iomem *port;
static struct hrtimer timer;

/* One picture after the other. */
static DEFINE_RAW_SPINLOCK(lock);
/* Whether the last picture is there: nobody opened the console since. */
static bool is_taken;
/* Whether nothing that happens from now on is the program's. */
static bool is_over;
/* How many files of the display are open. */
static atomic_t users = ATOMIC_INIT(0);

static void take(unsigned int marks)
{
	while (marks--)
		iowrite8(GIL_SCREEN_MARK, port);
	gil_write_without_timers(GIL_SCREEN_STOP, port);
}

static int closes_display(struct kprobe *probe, struct pt_regs *regs)
{
	struct file *file = (struct file *)regs_get_kernel_argument(regs, 1);
	unsigned long flags;

	atomic_dec(&users);
	if (READ_ONCE(is_over) || !drm_is_current_master(file->private_data))
		return 0;
	raw_spin_lock_irqsave(&lock, flags);
	take(GIL_SCREEN_LAST);
	WRITE_ONCE(is_taken, true);
	raw_spin_unlock_irqrestore(&lock, flags);
	return 0;
}

static int opens_console(struct kprobe *probe, struct pt_regs *regs)
{
	WRITE_ONCE(is_taken, false);
	return 0;
}

static struct kprobe on_close = {
	.symbol_name = "drm_release",
	.pre_handler = closes_display,
};

static int opens_display(struct kprobe *probe, struct pt_regs *regs)
{
	atomic_inc(&users);
	return 0;
}

static struct kprobe on_display = {
	.symbol_name = "drm_open",
	.pre_handler = opens_display,
};

static struct kprobe on_open = {
	.symbol_name = "fb_open",
	.pre_handler = opens_console,
};

static struct kprobe *probes[] = { &on_close, &on_display, &on_open };

static enum hrtimer_restart take_next(struct hrtimer *of)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&lock, flags);
	take(GIL_SCREEN_SERIES);
	raw_spin_unlock_irqrestore(&lock, flags);
	hrtimer_forward_now(of, ns_to_ktime(every_us * NSEC_PER_USEC));
	return HRTIMER_RESTART;
}

static void start_series(void)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(&timer, take_next, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
#else
	hrtimer_init(&timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
	timer.function = take_next;
#endif
	if (every_us)
		hrtimer_start(&timer, ns_to_ktime(every_us * NSEC_PER_USEC),
			      HRTIMER_MODE_REL_HARD);
}

static int end(const char *value, const struct kernel_param *param)
{
	unsigned long flags;

	if (!port)
		return -ENODEV;
	hrtimer_cancel(&timer);
	if (READ_ONCE(is_taken))
		return 0;
	msleep(SHOWN_WITHIN_MS);
	raw_spin_lock_irqsave(&lock, flags);
	take(GIL_SCREEN_LAST);
	raw_spin_unlock_irqrestore(&lock, flags);
	return 0;
}

static int leave(const char *value, const struct kernel_param *param)
{
	unsigned long flags;

	if (!port)
		return -ENODEV;
	if (atomic_read(&users) <= 0)
		return 0;
	hrtimer_cancel(&timer);
	raw_spin_lock_irqsave(&lock, flags);
	take(GIL_SCREEN_LAST);
	WRITE_ONCE(is_taken, true);
	WRITE_ONCE(is_over, true);
	raw_spin_unlock_irqrestore(&lock, flags);
	return 0;
}

static const struct kernel_param_ops leave_ops = { .set = leave };
module_param_cb(leave, &leave_ops, NULL, 0200);
MODULE_PARM_DESC(leave, "the program has ended: take the last picture if others have the display");

static const struct kernel_param_ops end_ops = { .set = end };
module_param_cb(end, &end_ops, NULL, 0200);
MODULE_PARM_DESC(end, "the program has ended: take the last picture, unless it is taken");

static int find_port(void)
{
	int error;

	device = pci_get_device(GIL_PAUSE_VENDOR, GIL_PAUSE_DEVICE, NULL);
	if (!device)
		return -ENODEV;
	error = pci_enable_device(device);
	if (error)
		goto put;
	port = pci_iomap(device, 0, 1);
	if (port)
		return 0;
	error = -ENOMEM;
	pci_disable_device(device);
put:
	pci_dev_put(device);
	return error;
}

/* Registers of Arm's PL031, and the bit of its alarm in the last two. */
#define CLOCK_COUNT 0x00
#define CLOCK_ALARM 0x04
#define CLOCK_RAISED 0x14
#define CLOCK_CLEAR 0x1c
#define CLOCK_BIT 1u

/*
 * Ends the alarm of the real-time clock, which nobody uses. QEMU has it run since the
 * saved guest was restored, 81 years ahead: as the only timer that is left when the
 * machine stops, it would be what QEMU's clock moves on to (stop.h). An alarm for this
 * very second is raised, and over.
 */
static void end_alarm(void __iomem *clock)
{
	int tries;

	for (tries = 0; tries < 3; tries++) {
		iowrite32(ioread32(clock + CLOCK_COUNT), clock + CLOCK_ALARM);
		if (ioread32(clock + CLOCK_RAISED) & CLOCK_BIT)
			break;
	}
	iowrite32(CLOCK_BIT, clock + CLOCK_CLEAR);
}

static void end_alarms(void)
{
	struct device_node *node = of_find_compatible_node(NULL, NULL, "arm,pl031");
	void __iomem *clock = node ? of_iomap(node, 0) : NULL;

	of_node_put(node);
	if (!clock)
		return;
	end_alarm(clock);
	iounmap(clock);
}

static void forget_port(void)
{
	pci_iounmap(device, port);
	pci_disable_device(device);
	pci_dev_put(device);
}

static int __init screen_init(void)
{
	int error = find_port();

	if (error)
		return error;
	end_alarms();
	error = register_kprobes(probes, ARRAY_SIZE(probes));
	if (error) {
		forget_port();
		return error;
	}
	start_series();
	return 0;
}

static void __exit screen_exit(void)
{
	hrtimer_cancel(&timer);
	unregister_kprobes(probes, ARRAY_SIZE(probes));
	forget_port();
}

module_init(screen_init);
module_exit(screen_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Moments at which pictures of the guest's display are taken");
