// SPDX-License-Identifier: GPL-2.0-only
/*
 * What sessions take together: an account is a user's, however many processes
 * and open files that user has. Whoever may lock memory without bound anyway
 * (CAP_IPC_LOCK) has one for each address space.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/uidgid.h>

#include "gil_internal.h"

static unsigned long max_pinned = 1UL << 30;
module_param(max_pinned, ulong, 0644);
MODULE_PARM_DESC(max_pinned,
		 "most bytes of user memory that a user may have pinned or staged at once, and as many that programs pinned themselves");

static unsigned int max_sessions = 256;
module_param(max_sessions, uint, 0644);
MODULE_PARM_DESC(max_sessions, "most sessions that a user may have open");

static unsigned int max_held = 32768;
module_param(max_held, uint, 0644);
MODULE_PARM_DESC(max_held,
		 "most submissions of a user whose output may be outstanding at once");

struct gil_account {
	struct list_head node;
	kuid_t uid;
	struct mm_struct *mm; /* of whoever may lock memory; for comparison */
	unsigned int sessions; /* under gil_accounts_lock */
	atomic64_t pinned; /* bytes of regions, pinned or staged */
	atomic64_t kept; /* bytes that programs pinned themselves */
	atomic64_t staged; /* pages of ours among them */
	atomic64_t held; /* submissions whose output is outstanding */
};

static LIST_HEAD(gil_accounts);
static DEFINE_MUTEX(gil_accounts_lock);

static struct gil_account *gil_account_find(struct mm_struct *mm)
{
	struct gil_account *account;

	list_for_each_entry(account, &gil_accounts, node)
		if (uid_eq(account->uid, current_uid()) && account->mm == mm)
			return account;
	account = kzalloc(sizeof(*account), GFP_KERNEL_ACCOUNT);
	if (!account)
		return NULL;
	account->uid = current_uid();
	account->mm = mm;
	list_add(&account->node, &gil_accounts);
	return account;
}

/*
 * The account of a new session, which keeps its address space for as long as it
 * has it.
 */
struct gil_account *gil_account_get(void)
{
	struct mm_struct *mm = capable(CAP_IPC_LOCK) ? current->mm : NULL;
	struct gil_account *account;

	mutex_lock(&gil_accounts_lock);
	account = gil_account_find(mm);
	if (!account)
		account = ERR_PTR(-ENOMEM);
	else if (account->sessions >= max(READ_ONCE(max_sessions), 1u))
		account = ERR_PTR(-EMFILE);
	else
		account->sessions++;
	mutex_unlock(&gil_accounts_lock);
	return account;
}

/* The session is gone, and with it all that it had taken. */
void gil_account_put(struct gil_account *account)
{
	mutex_lock(&gil_accounts_lock);
	if (!--account->sessions) {
		list_del(&account->node);
		kfree(account);
	}
	mutex_unlock(&gil_accounts_lock);
}

/* Takes so much of a bound, or nothing. */
static bool gil_take(atomic64_t *taken, u64 more, u64 limit)
{
	s64 old = atomic64_read(taken);

	do {
		if (more > limit || old > limit - more)
			return false;
	} while (!atomic64_try_cmpxchg(taken, &old, old + more));
	return true;
}

bool gil_account_pin(struct gil_account *account, u64 bytes)
{
	u64 limit = min_t(u64, READ_ONCE(max_pinned), S64_MAX);

	return atomic64_read(&account->held) < READ_ONCE(max_held) &&
	       gil_take(&account->pinned, bytes, limit);
}

/* Whether one submission may name so many bytes of imports: the host makes a list of their extents. */
bool gil_account_names(u64 bytes)
{
	return bytes <= READ_ONCE(max_pinned);
}

void gil_account_unpin(struct gil_account *account, u64 bytes)
{
	atomic64_sub(bytes, &account->pinned);
}

/*
 * The same for memory that stays pinned: apart, or submissions would have no room
 * beside it.
 */
bool gil_account_keep(struct gil_account *account, u64 bytes)
{
	u64 limit = min_t(u64, READ_ONCE(max_pinned), S64_MAX);

	return gil_take(&account->kept, bytes, limit);
}

void gil_account_unkeep(struct gil_account *account, u64 bytes)
{
	atomic64_sub(bytes, &account->kept);
}

bool gil_account_stage(struct gil_account *account)
{
	return gil_take(&account->staged, 1, GIL_STAGED_MAX);
}

void gil_account_unstage(struct gil_account *account)
{
	atomic64_dec(&account->staged);
}

/* Submissions come one at a time for each session: few more than the bound. */
void gil_account_hold(struct gil_account *account)
{
	atomic64_inc(&account->held);
}

void gil_account_unhold(struct gil_account *account)
{
	atomic64_dec(&account->held);
}
