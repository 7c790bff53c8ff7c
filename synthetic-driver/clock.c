// SPDX-License-Identifier: GPL-2.0-only
/*
 * The clock of the target's GPU, in files beside the device that have the names and the
 * unit (hertz) of the kernel's devfreq. A governor in the guest reads and sets it; the
 * host knows which rates it can have.
 */
#include <linux/device.h>
#include <linux/irqflags.h>
#include <linux/kernel.h>
#include <linux/kstrtox.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#include "gil_internal.h"

static int gil_clock_answer(const struct gil_mailbox *mailbox)
{
	switch (mailbox->status) {
	case GIL_STATUS_OK:
		return 0;
	case GIL_STATUS_BAD_REQUEST:
		return -EINVAL;
	case GIL_STATUS_UNSERVED:
		return -EOPNOTSUPP;
	default:
		return -EPROTO;
	}
}

/* Asks, or with GIL_CLOCK_SET sets the rate. The answer is in the mailbox. */
static int gil_clock_ring(struct gil_mailbox *mailbox, u64 rate, u32 len)
{
	unsigned long flags;
	bool answered;

	mailbox->request = rate;
	mailbox->request_len = len;
	local_irq_save(flags);
	answered = gil_kernel_ring(mailbox, GIL_MBOX_CLOCK);
	local_irq_restore(flags);
	return answered ? gil_clock_answer(mailbox) : -ENODEV;
}

/* What the host says of the clock, to be freed. */
static struct gil_mailbox *gil_clock_asked(void)
{
	struct gil_mailbox *mailbox = kzalloc(sizeof(*mailbox), GFP_KERNEL);
	int err;

	if (!mailbox)
		return ERR_PTR(-ENOMEM);
	err = gil_clock_ring(mailbox, 0, 0);
	if (!err)
		return mailbox;
	kfree(mailbox);
	return ERR_PTR(err);
}

/* Prints those of the answer's numbers that are rates. */
static ssize_t gil_clock_show(char *text, unsigned int first, unsigned int count)
{
	struct gil_mailbox *mailbox = gil_clock_asked();
	const u64 *rate;
	ssize_t len = 0;

	if (IS_ERR(mailbox))
		return PTR_ERR(mailbox);
	for (rate = mailbox->released + first; count--; rate++)
		if (*rate)
			len += sysfs_emit_at(text, len, "%s%llu",
					     len ? " " : "", *rate);
	len += sysfs_emit_at(text, len, "\n");
	kfree(mailbox);
	return len;
}

static ssize_t cur_freq_show(struct device *dev, struct device_attribute *attr,
			     char *text)
{
	return gil_clock_show(text, GIL_CLOCK_RATE, 1);
}
static DEVICE_ATTR_RO(cur_freq);

static ssize_t available_frequencies_show(struct device *dev,
					  struct device_attribute *attr,
					  char *text)
{
	return gil_clock_show(text, 0, GIL_CLOCK_RATES_MAX);
}
static DEVICE_ATTR_RO(available_frequencies);

static ssize_t set_freq_show(struct device *dev, struct device_attribute *attr,
			     char *text)
{
	return gil_clock_show(text, GIL_CLOCK_RATE, 1);
}

static ssize_t set_freq_store(struct device *dev, struct device_attribute *attr,
			      const char *text, size_t len)
{
	struct gil_mailbox *mailbox;
	u64 rate;
	int err;

	err = kstrtou64(text, 0, &rate);
	if (err)
		return err;
	mailbox = kzalloc(sizeof(*mailbox), GFP_KERNEL);
	if (!mailbox)
		return -ENOMEM;
	err = gil_clock_ring(mailbox, rate, GIL_CLOCK_SET);
	kfree(mailbox);
	return err ?: len;
}
static DEVICE_ATTR_RW(set_freq);

static struct attribute *gil_clock_files[] = {
	&dev_attr_cur_freq.attr,
	&dev_attr_available_frequencies.attr,
	NULL
};

static const struct attribute_group gil_clock_group = {
	.attrs = gil_clock_files,
};

/* Where devfreq has the file of its governor of that name. */
static struct attribute *gil_userspace_files[] = {
	&dev_attr_set_freq.attr,
	NULL
};

static const struct attribute_group gil_userspace_group = {
	.name = "userspace",
	.attrs = gil_userspace_files,
};

const struct attribute_group *gil_clock_groups[] = {
	&gil_clock_group,
	&gil_userspace_group,
	NULL
};
