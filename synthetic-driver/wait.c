// SPDX-License-Identifier: GPL-2.0-only
/*
 * GIL_IOC_WAIT: simulated time passes. Deadlines are absolute and without
 * slack, so that a signal may interrupt a wait and the program may call it
 * again with the same arguments.
 */
#include <linux/cpumask.h>
#include <linux/hrtimer.h>
#include <linux/irqflags.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/stat.h>
#include <linux/stringify.h>
#include <linux/uaccess.h>
#include <linux/version.h>
#include <asm/barrier.h>
#include <asm/cpuidle.h>

#include "gil_internal.h"

static ktime_t gil_deadline(u64 ns)
{
	return ns_to_ktime(min_t(u64, ns, KTIME_MAX));
}

static bool gil_is_due(ktime_t deadline)
{
	return ktime_compare(ktime_get(), deadline) >= 0;
}

/* No-ops between two looks for something else to do, where little time is left. */
#define GIL_SPIN_BLOCK 64
/*
 * The same where much is left: nobody notices another four microseconds on the way to the CPU.
 * QEMU executes these 512 instructions as fast as one, for it translates them as one block,
 * which is followed by itself and lies in one page.
 */
#define GIL_SPIN_ROUND 512
#define GIL_SPIN_ROUNDS 8
#define GIL_SPIN_LONG_BLOCK (GIL_SPIN_ROUND * GIL_SPIN_ROUNDS)

/*
 * The longest wait that spins. Under QEMU to sleep and to wake takes as much wall
 * time as to spin for some milliseconds.
 */
#define GIL_SPIN_MAX_NS 2000000

/* Whether this thread keeps nobody waiting by keeping its CPU. */
static bool gil_is_alone(void)
{
	return single_task_running() && !need_resched() &&
	       !signal_pending(current);
}

/*
 * With more CPUs, what one spins is simulated in turn with what another works,
 * and takes its time.
 */
static bool gil_may_spin(const struct gil_session *session, ktime_t deadline)
{
	return session->spins && num_online_cpus() == 1 &&
	       ktime_to_ns(ktime_sub(deadline, ktime_get())) <=
		       GIL_SPIN_MAX_NS;
}

static void gil_spin_long_blocks(u64 blocks)
{
	unsigned long rounds;

	for (; blocks && gil_is_alone(); blocks--) {
		rounds = GIL_SPIN_ROUNDS;
		asm volatile(".balign 2048\n"
			     "0:\n"
			     ".rept " __stringify(GIL_SPIN_ROUND) " - 2\n"
			     "nop\n"
			     ".endr\n"
			     "subs %0, %0, #1\n"
			     "b.ne 0b"
			     : "+r"(rounds)
			     :
			     : "cc");
	}
}

static void gil_spin_blocks(u64 blocks)
{
	for (; blocks && gil_is_alone(); blocks--)
		asm volatile(".rept " __stringify(GIL_SPIN_BLOCK) "\n"
			     "nop\n"
			     ".endr");
}

/* Executes at least so many no-ops, if nothing else wants this CPU. */
static void gil_spin_nops(u64 nops)
{
	gil_spin_long_blocks(nops / GIL_SPIN_LONG_BLOCK);
	gil_spin_blocks(nops % GIL_SPIN_LONG_BLOCK / GIL_SPIN_BLOCK);
}

/*
 * Executes no-ops until the deadline, or until something else wants this CPU.
 * To read the clock takes the simulator longer than many no-ops: each time as
 * many are executed as fit in the time that is left, going by how long the ones
 * before took with the look at the clock.
 */
static void gil_spin(ktime_t deadline)
{
	u64 nops = GIL_SPIN_BLOCK, took_ns, left_ns;
	ktime_t before = ktime_get(), now;

	while (ktime_before(before, deadline) && gil_is_alone()) {
		gil_spin_nops(nops);
		now = ktime_get();
		took_ns = max_t(s64, 1, ktime_to_ns(ktime_sub(now, before)));
		left_ns = max_t(s64, 0, ktime_to_ns(ktime_sub(deadline, now)));
		nops = max_t(u64, GIL_SPIN_BLOCK,
			     div64_u64(left_ns * nops, took_ns));
		before = now;
	}
}

/* GPU work: the thread sleeps. */
static int gil_sleep(const struct gil_session *session, ktime_t deadline)
{
	if (gil_may_spin(session, deadline))
		gil_spin(deadline);
	if (gil_device_wakes())
		return gil_device_sleep(deadline);
	while (!gil_is_due(deadline)) {
		if (signal_pending(current))
			return -ERESTARTSYS;
		set_current_state(TASK_INTERRUPTIBLE);
		schedule_hrtimeout_range(&deadline, 0, HRTIMER_MODE_ABS);
	}
	return 0;
}

static enum hrtimer_restart gil_alarm(struct hrtimer *timer)
{
	/* The interrupt itself ends the wfi. */
	return HRTIMER_NORESTART;
}

static void gil_alarm_init(struct hrtimer *timer)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup_on_stack(timer, gil_alarm, CLOCK_MONOTONIC,
			       HRTIMER_MODE_ABS_PINNED);
#else
	hrtimer_init_on_stack(timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_PINNED);
	timer->function = gil_alarm;
#endif
}

/* Until an interrupt, which stays pending if it comes before the wfi. */
static void gil_halt(void)
{
	struct arm_cpuidle_irq_context context;

	arm_cpuidle_save_irq_context(&context);
	dsb(sy);
	wfi();
	arm_cpuidle_restore_irq_context(&context);
}

/*
 * CPU work that the program itself would do here: the thread keeps its CPU, as
 * far as others do not take their share, yet executes next to nothing, for
 * every instruction costs the simulator wall time. The alarm is set anew each
 * time, on the CPU that is going to halt.
 */
static int gil_occupy(const struct gil_session *session, ktime_t deadline)
{
	struct hrtimer alarm;
	int err = 0;

	if (gil_may_spin(session, deadline))
		gil_spin(deadline);
	gil_alarm_init(&alarm);
	while (!gil_is_due(deadline)) {
		if (signal_pending(current)) {
			err = -ERESTARTSYS;
			break;
		}
		cond_resched();
		local_irq_disable();
		if (!need_resched() && !signal_pending(current)) {
			hrtimer_start(&alarm, deadline,
				      HRTIMER_MODE_ABS_PINNED);
			gil_halt();
		}
		local_irq_enable();
	}
	hrtimer_cancel(&alarm);
	destroy_hrtimer_on_stack(&alarm);
	return err;
}

static bool gil_progressed(struct gil_session *session, u64 seen)
{
	return READ_ONCE(session->progress) > seen ||
	       READ_ONCE(session->closed);
}

static int gil_await_progress(struct gil_session *session, u64 seen)
{
	int err = wait_event_interruptible(session->progress_wait,
					   gil_progressed(session, seen));

	if (err)
		return err;
	return READ_ONCE(session->closed) ? -EBADF : 0;
}

int gil_pass_time(struct gil_session *session, const struct gil_wait *arg)
{
	switch (arg->kind) {
	case GIL_WAIT_NONE:
		return 0;
	case GIL_WAIT_SLEEP:
		return gil_sleep(session, gil_deadline(arg->deadline_ns));
	case GIL_WAIT_OCCUPY:
		return gil_occupy(session, gil_deadline(arg->deadline_ns));
	case GIL_WAIT_PROGRESS:
		return gil_await_progress(session, arg->progress);
	default:
		return -EINVAL;
	}
}

static int gil_collect_due(struct gil_session *session)
{
	int err;

	mutex_lock(&session->lock);
	err = session->closed ? -EBADF : gil_collect(session);
	mutex_unlock(&session->lock);
	return err;
}

long gil_wait(struct gil_session *session, const struct gil_wait __user *user)
{
	struct gil_wait arg;
	int err;

	if (copy_from_user(&arg, user, sizeof(arg)))
		return -EFAULT;
	if (arg.flags & ~GIL_WAIT_COLLECT)
		return -EINVAL;
	err = gil_pass_time(session, &arg);
	if (!err && arg.flags & GIL_WAIT_COLLECT)
		err = gil_collect_due(session);
	return err;
}
