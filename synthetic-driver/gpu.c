// SPDX-License-Identifier: GPL-2.0-only
/*
 * A GPU whose registers are RAM, for simulators that take no device of gil's: the kernel's
 * own driver of the GPU loads and stores there, and the simulator sees its stores. What
 * the simulator cannot do is interrupt the CPU. So this module watches the registers that
 * begin a job or let an interrupt through, by the CPU's own watchpoints, tells the host of
 * a store there, and makes the interrupts pending when the host says.
 *
 * The GPU's driver is not changed. When it is bound to the GPU, which must be after this
 * module is there, the simulator is told which code is its, and has seen by the end where
 * it maps the registers.
 */
#include <linux/device.h>
#include <linux/hrtimer.h>
#include <linux/hw_breakpoint.h>
#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/of.h>
#include <linux/of_address.h>
#include <linux/of_irq.h>
#include <linux/perf_event.h>
#include <linux/platform_device.h>
#include <linux/slab.h>
#include <linux/version.h>

#include "gil_internal.h"
#include "gpu.h"

MODULE_IMPORT_NS(GIL);

#undef pr_fmt
#define pr_fmt(fmt) "gil_gpu: " fmt

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)
#define GPU_CODE(module) ((module)->mem[MOD_TEXT].base)
#define GPU_CODE_LEN(module) ((module)->mem[MOD_TEXT].size)
#else
#define GPU_CODE(module) ((module)->core_layout.base)
#define GPU_CODE_LEN(module) ((module)->core_layout.text_size)
#endif

#define GPU_LINES_MAX 10
/* This many has a CPU at least that has any. */
#define GPU_WATCHES 4

/* The registers that are watched: those whose store begins a job, and T628's masks, since
 * an interrupt may wait behind one. */
struct gpu_kind {
	const char *compatible;
	u32 watched[GPU_WATCHES];
};

static const struct gpu_kind gpu_kinds[] = {
	/* JS0 and JS1_COMMAND_NEXT, JOB_INT_MASK, MMU_INT_MASK */
	{ "arm,mali-t628", { 0x1860, 0x18e0, 0x1008, 0x2008 } },
	/* GP_CMD; PP0, PP1 and PP3_CTRL: the driver starts one after the other from 0 on, so
	 * that of PP2 is known with the next */
	{ "arm,mali-400", { 0x0020, 0x900c, 0xb00c, 0xf00c } },
};

struct gpu {
	const struct gpu_kind *kind;
	struct device_node *node;
	unsigned int line_count;
	int irqs[GPU_LINES_MAX];
	struct mutex lock; /* of what follows: bound or not */
	u64 registers; /* where the driver has them; 0: not bound */
	struct perf_event *__percpu *watches[GPU_WATCHES];
	raw_spinlock_t ring_lock; /* of what follows */
	struct gil_mailbox *mailbox;
	struct hrtimer timer;
};

static struct gpu gpu;

/* ---- doorbells ------------------------------------------------------- */

static void gpu_raise(u64 lines)
{
	unsigned int line;

	for (line = 0; line < gpu.line_count; line++)
		if (lines & BIT_ULL(line) && gpu.irqs[line])
			irq_set_irqchip_state(gpu.irqs[line],
					      IRQCHIP_STATE_PENDING, true);
}

/* Rings, with what there is to tell, or without. Interrupts are off. */
static u64 gpu_ring(u64 what, u32 len)
{
	struct gil_mailbox *mailbox = gpu.mailbox;

	lockdep_assert_held(&gpu.ring_lock);
	mailbox->request = what;
	mailbox->request_len = len;
	if (!gil_kernel_ring(mailbox, GIL_MBOX_GPU) ||
	    mailbox->status != GIL_STATUS_OK)
		return 0;
	if (mailbox->attention_ns)
		hrtimer_start(&gpu.timer, ns_to_ktime(mailbox->attention_ns),
			      HRTIMER_MODE_ABS);
	gpu_raise(mailbox->released[GIL_GPU_LINES]);
	return mailbox->released[GIL_GPU_REGISTERS];
}

static u64 gpu_tell(u64 what, u32 len)
{
	unsigned long flags;
	u64 registers;

	raw_spin_lock_irqsave(&gpu.ring_lock, flags);
	registers = gpu_ring(what, len);
	raw_spin_unlock_irqrestore(&gpu.ring_lock, flags);
	return registers;
}

int gil_gpu_tell_rate(u64 hz)
{
	unsigned long flags;
	u32 status;

	raw_spin_lock_irqsave(&gpu.ring_lock, flags);
	gpu_ring(hz, GIL_GPU_CLOCK);
	status = gpu.mailbox->status;
	raw_spin_unlock_irqrestore(&gpu.ring_lock, flags);
	return status == GIL_STATUS_OK ? 0 : -EINVAL;
}

/* A job may have ended. */
static enum hrtimer_restart gpu_due(struct hrtimer *timer)
{
	gpu_tell(0, 0);
	/* Set again by the answer, if need be. */
	return HRTIMER_NORESTART;
}

/* ---- watchpoints ----------------------------------------------------- */

/* `str wT, [xN]`: what writel() is (arch/arm64/include/asm/io.h), without T and N. */
#define STORE 0xb9000000u
#define STORE_MASK 0xfffffc00u
#define ZERO_REGISTER 31

/*
 * The driver is about to store there. The CPU would stop here again and again, so the
 * store is done by the host, and the driver goes on behind it.
 */
static void gpu_stored(struct perf_event *event, struct perf_sample_data *data,
		       struct pt_regs *regs)
{
	u32 code = le32_to_cpup((__le32 *)regs->pc);
	u32 from = code & 31;
	u64 value, at;

	if ((code & STORE_MASK) != STORE) {
		pr_err_once("a store that is no writel(): its job is not seen\n");
		regs->pc += sizeof(code);
		return;
	}
	value = from == ZERO_REGISTER ? 0 : (u32)regs->regs[from];
	at = regs->regs[code >> 5 & 31] - READ_ONCE(gpu.registers);
	gpu_tell(value << 32 | (u32)at, GIL_GPU_STORE);
	regs->pc += sizeof(code);
}

static void gpu_unwatch(void)
{
	unsigned int i;

	for (i = 0; i < GPU_WATCHES; i++) {
		if (gpu.watches[i])
			unregister_wide_hw_breakpoint(gpu.watches[i]);
		gpu.watches[i] = NULL;
	}
	WRITE_ONCE(gpu.registers, 0);
}

static int gpu_watch_one(unsigned int i)
{
	struct perf_event_attr attr;
	struct perf_event *__percpu *watch;

	hw_breakpoint_init(&attr);
	attr.bp_addr = gpu.registers + gpu.kind->watched[i];
	attr.bp_len = HW_BREAKPOINT_LEN_4;
	attr.bp_type = HW_BREAKPOINT_W;
	watch = register_wide_hw_breakpoint(&attr, gpu_stored, NULL);
	if (IS_ERR((void __force *)watch))
		return PTR_ERR((void __force *)watch);
	gpu.watches[i] = watch;
	return 0;
}

/* The driver is bound, and has stored to registers. */
static void gpu_watch(void)
{
	unsigned int i;
	int err = 0;

	gpu_unwatch();
	WRITE_ONCE(gpu.registers, gpu_tell(0, 0));
	if (!gpu.registers) {
		pr_err("the simulator has seen no store to the GPU's registers\n");
		return;
	}
	for (i = 0; i < GPU_WATCHES && gpu.kind->watched[i] && !err; i++)
		err = gpu_watch_one(i);
	if (err) {
		pr_err("no watchpoint is free: jobs will not end (%d)\n", err);
		gpu_unwatch();
	}
}

/* ---- the driver ------------------------------------------------------ */

static void gpu_tell_code(u64 code, u64 len)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&gpu.ring_lock, flags);
	gpu.mailbox->reply = len;
	gpu_ring(code, GIL_GPU_CODE);
	gpu.mailbox->reply = 0;
	raw_spin_unlock_irqrestore(&gpu.ring_lock, flags);
}

/* Its stores are the simulator's to see from here on, and nobody else's. */
static void gpu_tell_driver(const struct device_driver *driver)
{
	const struct module *module = driver->owner;

	if (!module) {
		pr_err("the GPU's driver is no module: its stores are not seen\n");
		return;
	}
	gpu_tell_code((u64)GPU_CODE(module), GPU_CODE_LEN(module));
}

static int gpu_bound(struct notifier_block *block, unsigned long action,
		     void *data)
{
	struct device *device = data;

	if (device->of_node != gpu.node)
		return NOTIFY_DONE;
	mutex_lock(&gpu.lock);
	if (action == BUS_NOTIFY_BIND_DRIVER)
		gpu_tell_driver(device->driver);
	else if (action == BUS_NOTIFY_BOUND_DRIVER)
		gpu_watch();
	else if (action == BUS_NOTIFY_UNBIND_DRIVER)
		gpu_unwatch();
	else if (action == BUS_NOTIFY_UNBOUND_DRIVER)
		/* Another module may be there next. */
		gpu_tell_code(0, 0);
	mutex_unlock(&gpu.lock);
	return NOTIFY_DONE;
}

static struct notifier_block gpu_notifier = { .notifier_call = gpu_bound };

static bool gpu_find(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(gpu_kinds) && !gpu.node; i++) {
		gpu.kind = &gpu_kinds[i];
		gpu.node = of_find_compatible_node(NULL, NULL,
						   gpu.kind->compatible);
	}
	return gpu.node;
}

static void gpu_find_lines(void)
{
	int irq;

	for (; gpu.line_count < GPU_LINES_MAX; gpu.line_count++) {
		irq = of_irq_get(gpu.node, gpu.line_count);
		if (irq <= 0)
			break;
		gpu.irqs[gpu.line_count] = irq;
	}
}

static int __init gpu_init(void)
{
	int err;

	if (!gpu_find())
		return -ENODEV;
	mutex_init(&gpu.lock);
	raw_spin_lock_init(&gpu.ring_lock);
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(&gpu.timer, gpu_due, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
#else
	hrtimer_init(&gpu.timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	gpu.timer.function = gpu_due;
#endif
	gpu.mailbox = kzalloc(sizeof(*gpu.mailbox), GFP_KERNEL);
	err = gpu.mailbox ? 0 : -ENOMEM;
	gpu_find_lines();
	err = err ?: gil_gpu_clock_begin();
	if (err)
		goto no_clock;
	err = bus_register_notifier(&platform_bus_type, &gpu_notifier);
	if (err)
		goto no_notifier;
	return 0;

no_notifier:
	gil_gpu_clock_end();
no_clock:
	kfree(gpu.mailbox);
	of_node_put(gpu.node);
	return err;
}

static void __exit gpu_exit(void)
{
	bus_unregister_notifier(&platform_bus_type, &gpu_notifier);
	gil_gpu_clock_end();
	gpu_unwatch();
	hrtimer_cancel(&gpu.timer);
	kfree(gpu.mailbox);
	of_node_put(gpu.node);
}

module_init(gpu_init);
module_exit(gpu_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Interrupts of a GPU whose registers are RAM");
