// SPDX-License-Identifier: GPL-2.0-only
/*
 * In the guest, under scripted_host.c: the paths of gil.ko that ordinary
 * control calls do not reach. Regions arrive whole however they lie; held
 * output stays in place until it is released; progress wakes.
 */
#include "../../tests/guest/driver_test.h"
#include "script.h"
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define PAGE 4096ul
/* Where the guest's RAM begins, and what run.sh gives as mem=. */
#define LEFT_ALONE (0x40000000ul + (480ul << 20))

static int fd;

/* Runs a script over two regions; the host's answer is in *script. */
static int run(struct script *script, const void *in, void *out, uint64_t len,
	       struct gil_submit *answer)
{
	struct gil_region regions[2] = {
		{ (uintptr_t)in, len, GIL_DIR_IN, 0 },
		{ (uintptr_t)out, len, GIL_DIR_OUT, 0 },
	};
	struct gil_submit arg;

	script->magic = SCRIPT_MAGIC;
	arg = submit_of(script, sizeof(*script), script, sizeof(*script));
	arg.regions = (uintptr_t)regions;
	arg.region_count = !in ? 0 : !out ? 1 : 2;
	int result = ioctl(fd, GIL_IOC_SUBMIT, &arg);

	if (answer)
		*answer = arg;
	return result;
}

static int collect(void)
{
	struct gil_wait wait = { .flags = GIL_WAIT_COLLECT };

	return ioctl(fd, GIL_IOC_WAIT, &wait);
}

static uint64_t held(void)
{
	struct script script = { 0 };

	CHECK(run(&script, NULL, NULL, 0, NULL) == 0);
	return script.held;
}

static void fill(uint8_t *memory, size_t len, unsigned seed)
{
	for (size_t i = 0; i < len; i++)
		memory[i] = seed + i * 7 + (i >> 8) * 31;
}

static int inverted(const uint8_t *in, const uint8_t *out, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((out[i] ^ in[i]) != 0xff)
			return 0;
	return 1;
}

static void regions_arrive_whole(void)
{
	static uint8_t in[3000 * PAGE], out[3000 * PAGE];
	static const size_t lens[] = { 1, 63, 4095, 4096, 4097, 20000,
				       900 * PAGE + 5, 2990 * PAGE };

	for (unsigned i = 0; i < sizeof(lens) / sizeof(*lens); i++)
		for (size_t at = 0; at < 8192; at += 4093) {
			struct script script = { 0 };

			fill(in + at, lens[i], i);
			out[at + lens[i]] = 0x5a;
			CHECK(run(&script, in + at, out + at + 1, lens[i] - 1 ?:
				  1, NULL) == 0);
			CHECK(inverted(in + at, out + at + 1, lens[i] - 1 ?:
				       1));
		}
}

/* Pages of two mappings, touched in turn, lie apart: many extents. */
static void scattered_pages_are_chained(void)
{
	enum { PAGES = 2000 };
	uint8_t *in = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *out = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct script script = { 0 };

	madvise(in, PAGES * PAGE, MADV_NOHUGEPAGE);
	madvise(out, PAGES * PAGE, MADV_NOHUGEPAGE);
	for (int i = 0; i < PAGES; i++) {
		int page = (i * 37) % PAGES;

		fill(in + page * PAGE, PAGE, page);
		out[page * PAGE] = 1;
	}
	CHECK(run(&script, in, out, PAGES * PAGE, NULL) == 0);
	CHECK(inverted(in, out, PAGES * PAGE));
	printf("# %u extents for %d pages\n", script.extents, PAGES);
	CHECK(script.extents > GIL_EXTENTS_PER_PAGE);
	munmap(in, PAGES * PAGE);
	munmap(out, PAGES * PAGE);
}

/* Kernels with little memory switch huge pages off. */
static void allow_huge_pages(void)
{
	int file = open("/sys/kernel/mm/transparent_hugepage/enabled",
			O_WRONLY);

	CHECK(write(file, "always", 6) == 6);
	close(file);
}

/* Contiguous pages are one extent: a huge page shows it. */
static void contiguous_pages_are_merged(void)
{
	size_t len = 2ul << 20;
	uint8_t *memory = mmap(NULL, 2 * len, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *huge = (uint8_t *)(((uintptr_t)memory + len - 1) & -len);
	struct script script = { 0 };

	allow_huge_pages();
	madvise(huge, len, MADV_HUGEPAGE);
	fill(huge, len, 3);
	CHECK(run(&script, huge, NULL, len, NULL) == 0);
	CHECK(script.extents == 1);
	munmap(memory, 2 * len);
}

static void *vvar(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long start = 0;
	char line[256];

	while (fgets(line, sizeof(line), maps))
		if (strstr(line, "[vvar]"))
			sscanf(line, "%lx", &start);
	fclose(maps);
	return (void *)start;
}

/* Its clock moves on, but not its first bytes: sequence and clock mode. */
static void unpinnable_input_is_copied(void)
{
	struct script script = { 0 };
	uint8_t out[64] = { 0 };
	uint8_t *in = vvar();

	CHECK(in && run(&script, in + 4, out, 4, NULL) == 0);
	CHECK(inverted(in + 4, out, 4));
}

/*
 * RAM that the kernel leaves alone (mem=) has no pages to pin, yet
 * root can map it.
 */
static uint8_t *unpinnable_memory(void)
{
	int mem = open("/dev/mem", O_RDWR | O_SYNC);
	void *ram = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, mem,
			 LEFT_ALONE);

	close(mem);
	return ram == MAP_FAILED ? NULL : ram;
}

static void kept_output_arrives_when_released(void)
{
	static uint8_t in[5000], out[5000];
	struct script script = { .flags = GIL_FLAG_HOLD };
	uint64_t before = held();

	fill(in, sizeof(in), 9);
	memset(out, 0, sizeof(out));
	CHECK(run(&script, in, out, sizeof(in), NULL) == 0);
	CHECK(script.held == before + 1);
	CHECK(out[0] == 0 && out[4999] == 0);
	CHECK(collect() == 0);
	CHECK(inverted(in, out, sizeof(in)));
	CHECK(held() == before);
}

/* The memory is unmapped while the output is outstanding: no harm. */
static void kept_output_may_lose_its_memory(void)
{
	uint8_t in[64], *out = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct script script = { .flags = GIL_FLAG_HOLD };

	CHECK(run(&script, in, out, 64, NULL) == 0);
	munmap(out, PAGE);
	CHECK(collect() == 0);
	CHECK(held() == 0);
}

static void more_than_one_round_is_collected(void)
{
	static uint8_t in[64], out[100][64];
	struct script limit = { .per_round = 3 };

	fill(in, sizeof(in), 4);
	CHECK(run(&limit, NULL, NULL, 0, NULL) == 0);
	for (int i = 0; i < 100; i++) {
		struct script script = { .flags = GIL_FLAG_HOLD };

		CHECK(run(&script, in, out[i], 64, NULL) == 0);
	}
	CHECK(held() == 100);
	CHECK(collect() == 0);
	CHECK(held() == 0);
	for (int i = 0; i < 100; i++)
		CHECK(inverted(in, out[i], 64));
}

static void set_max_held(const char *value)
{
	int file = open("/sys/module/gil/parameters/max_held", O_WRONLY);

	CHECK(write(file, value, strlen(value)) == (ssize_t)strlen(value));
	close(file);
}

/* What is kept is bounded; at the bound the driver collects by itself. */
static void outstanding_output_is_bounded(void)
{
	static uint8_t in[16], out[16];
	struct script limit = { .per_round = GIL_RELEASED_MAX };
	uint64_t most = 0;

	set_max_held("4096");
	CHECK(run(&limit, NULL, NULL, 0, NULL) == 0);
	for (int i = 0; i < 5000; i++) {
		struct script script = { .flags = GIL_FLAG_HOLD };

		CHECK(run(&script, in, out, 16, NULL) == 0);
		most = script.held > most ? script.held : most;
	}
	set_max_held("32768");
	CHECK(most == 4096);
	CHECK(collect() == 0);
	CHECK(held() == 0);
}

struct progress {
	uint64_t seen;
	int result;
	volatile int done;
};

static void *await_progress(void *arg)
{
	struct progress *progress = arg;

	progress->result = wait_progress(fd, progress->seen);
	progress->done = 1;
	return NULL;
}

static void progress_wakes(void)
{
	struct script plain = { 0 }, resolves = { .flags = GIL_FLAG_PROGRESS };
	struct progress progress = { 0 };
	struct gil_submit answer;
	pthread_t thread;

	CHECK(run(&plain, NULL, NULL, 0, &answer) == 0);
	progress.seen = answer.progress;
	pthread_create(&thread, NULL, await_progress, &progress);
	usleep(2000);
	CHECK(run(&plain, NULL, NULL, 0, NULL) == 0);
	usleep(2000);
	CHECK(!progress.done);
	CHECK(run(&resolves, NULL, NULL, 0, &answer) == 0);
	CHECK(answer.progress == progress.seen && answer.flags == 0);
	pthread_join(thread, NULL);
	CHECK(progress.result == 0);
	/* Progress that came before the wait is not waited for. */
	CHECK(wait_progress(fd, progress.seen) == 0);
}

static uint64_t attended(struct script *answer)
{
	struct script script = { 0 };

	CHECK(run(&script, NULL, NULL, 0, NULL) == 0);
	if (answer)
		*answer = script;
	return script.attended;
}

/* The timer rings while the program sleeps and while it is busy. */
static void the_timer_rings_by_itself(void)
{
	struct script script = { .attend_ns = 1000000, .attends = 4 };
	struct script answer;
	uint64_t before = attended(NULL);
	uint64_t until;

	CHECK(run(&script, NULL, NULL, 0, NULL) == 0);
	usleep(20000);
	CHECK(attended(&answer) == before + 5);
	printf("# the last ring came %llu ns late\n",
	       (unsigned long long)answer.attend_late_ns);
	CHECK(run(&script, NULL, NULL, 0, NULL) == 0);
	until = now_ns() + 20000000;
	while (now_ns() < until)
		;
	CHECK(attended(&answer) == before + 10);
}

static void the_latest_answer_sets_the_timer(void)
{
	struct script soon = { .attend_ns = 500000 }, later = { .attend_ns = 50000000 };
	uint64_t before = attended(NULL);

	CHECK(run(&soon, NULL, NULL, 0, NULL) == 0);
	CHECK(attended(NULL) == before); /* asks for none */
	usleep(3000);
	CHECK(attended(NULL) == before);
	CHECK(run(&later, NULL, NULL, 0, NULL) == 0);
	soon.attend_ns = 500000;
	CHECK(run(&soon, NULL, NULL, 0, NULL) == 0);
	usleep(3000);
	CHECK(attended(NULL) == before + 1);
	/* A time that has come is as good as now. */
	soon.attend_ns = 1;
	CHECK(run(&soon, NULL, NULL, 0, NULL) == 0);
	usleep(1000);
	CHECK(attended(NULL) == before + 2);
}

static void the_timer_wakes_for_progress(void)
{
	struct script script = { .attend_ns = 2000000,
				 .attend_flags = GIL_FLAG_PROGRESS };
	struct gil_submit answer;

	CHECK(run(&script, NULL, NULL, 0, &answer) == 0);
	CHECK(wait_progress(fd, answer.progress) == 0);
	CHECK(now_ns() >= answer.now_ns + 2000000);
}

/* The timer of a program that is gone rings no more: the host would fail. */
static void exit_ends_the_timer(void)
{
	for (int i = 0; i < 20; i++) {
		pid_t child = fork();

		if (child == 0) {
			struct script script = { .attend_ns = 20000,
						 .attends = 1000000 };

			fd = open_session();
			run(&script, NULL, NULL, 0, NULL);
			usleep(i * 100);
			raise(9);
		}
		waitpid(child, NULL, 0);
	}
	usleep(3000);
}

static void answers_come_back(void)
{
	struct script script = { .status = GIL_STATUS_UNRESOLVED,
				 .wait_kind = GIL_WAIT_SLEEP,
				 .delay_ns = 12345,
				 .flags = GIL_FLAG_COLLECT | GIL_FLAG_PENDING };
	struct gil_submit answer;
	uint64_t seq;

	CHECK(run(&script, NULL, NULL, 0, &answer) == 0);
	seq = script.seq;
	CHECK(answer.status == GIL_STATUS_UNRESOLVED);
	CHECK(answer.wait_kind == GIL_WAIT_SLEEP);
	CHECK(answer.deadline_ns == answer.now_ns + 12345);
	CHECK(answer.flags == (GIL_FLAG_COLLECT | GIL_FLAG_PENDING));
	CHECK(answer.reply_len == sizeof(script));
	CHECK(answer.now_ns <= now_ns() && now_ns() - answer.now_ns < MS);
	CHECK(run(&script, NULL, NULL, 0, NULL) == 0);
	CHECK(script.seq == seq + 1);
}

/* A call whose answer has nowhere to go is refused before it is executed. */
static void faults_come_before_the_doorbell(void)
{
	struct gil_submit *locked = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
					 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct script script = { .magic = SCRIPT_MAGIC };
	uint64_t seq;

	CHECK(run(&script, NULL, NULL, 0, NULL) == 0);
	seq = script.seq;
	*locked = submit_of(&script, sizeof(script), &script, sizeof(script));
	mprotect(locked, PAGE, PROT_READ);
	FAILS(ioctl(fd, GIL_IOC_SUBMIT, locked), EFAULT);
	mprotect(locked, PAGE, PROT_READ | PROT_WRITE);
	locked->reply = (uintptr_t)vvar();
	FAILS(ioctl(fd, GIL_IOC_SUBMIT, locked), EFAULT);
	CHECK(run(&script, NULL, NULL, 0, NULL) == 0);
	CHECK(script.seq == seq + 1);
	munmap(locked, PAGE);
}

/* `count` pages of RAM that cannot be pinned, at `at` or anywhere. */
static uint8_t *map_left_alone(void *at, size_t count)
{
	int mem = open("/dev/mem", O_RDWR | O_SYNC);
	void *ram = mmap(at, count * PAGE, PROT_READ | PROT_WRITE,
			 MAP_SHARED | (at ? MAP_FIXED : 0), mem, LEFT_ALONE);

	close(mem);
	return ram == MAP_FAILED ? NULL : ram;
}

/* Only the page that cannot be pinned is copied, the others stay in place. */
static void pages_are_pinned_or_staged_each(void)
{
	uint8_t *in = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *out = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct script keep = { .flags = GIL_FLAG_HOLD };
	size_t len = 3 * PAGE - 200;

	CHECK(map_left_alone(out + PAGE, 1));
	fill(in, 3 * PAGE, 5);
	memset(out, 0, 3 * PAGE);
	CHECK(run(&keep, in + 100, out + 100, len, NULL) == 0);
	CHECK(collect() == 0);
	CHECK(inverted(in + 100, out + 100, len));
	CHECK(out[99] == 0 && out[100 + len] == 0);
	munmap(in, 3 * PAGE);
	munmap(out, 3 * PAGE);
}

/* What cannot be pinned is bounded: no program's memory is charged with it. */
static void staged_pages_are_bounded(void)
{
	struct script script = { 0 };
	uint8_t *most = map_left_alone(NULL, 4096);
	uint8_t *more = map_left_alone(NULL, 4097);

	CHECK(run(&script, most, NULL, 4096 * PAGE, NULL) == 0);
	FAILS(run(&script, more, NULL, 4097 * PAGE, NULL), ENOMEM);
	CHECK(run(&script, most, NULL, 4096 * PAGE, NULL) == 0);
	munmap(most, 4096 * PAGE);
	munmap(more, 4097 * PAGE);
}

/* More than the guest has: nothing is taken for it, and nobody is killed. */
static void memory_that_is_not_there_takes_none(void)
{
	size_t len = 1ul << 30;
	uint8_t *none = mmap(NULL, len, PROT_NONE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct script script = { 0 };

	FAILS(run(&script, none, NULL, len, NULL), EFAULT);
	munmap(none, len);
	FAILS(run(&script, none, NULL, len, NULL), EFAULT);
}

static void set(const char *parameter, const char *value)
{
	char path[128];
	int file;

	snprintf(path, sizeof(path), "/sys/module/gil/parameters/%s",
		 parameter);
	file = open(path, O_WRONLY);
	CHECK(write(file, value, strlen(value)) == (ssize_t)strlen(value));
	close(file);
}

/* Holds output of 10 pages in a session of its own. */
static int hold_ten_pages(void)
{
	static uint8_t in[10 * PAGE], out[10 * PAGE]
		__attribute__((aligned(4096)));
	struct script script = { .flags = GIL_FLAG_HOLD };

	fd = open_session();
	return run(&script, in, out, sizeof(in), NULL);
}

/* Fails in a second session, and in another process's; 0 if so. */
static int is_a_users(void)
{
	int status = 1;
	pid_t child;

	if (setuid(1000) || hold_ten_pages())
		return 1;
	if (hold_ten_pages() != -1 || errno != ENOMEM)
		return 2;
	child = fork();
	if (child == 0)
		_exit(hold_ten_pages() == -1 && errno == ENOMEM ? 0 : 3);
	waitpid(child, &status, 0);
	return status;
}

/* As many pages as two sessions pin while they submit, but not hold. */
static void limits_are_a_users(void)
{
	int status = 1;
	pid_t child;

	set("max_pinned", "122880");
	child = fork();
	if (child == 0)
		_exit(is_a_users());
	waitpid(child, &status, 0);
	CHECK(status == 0);
	/* All of it is free again. */
	child = fork();
	if (child == 0)
		_exit(is_a_users());
	waitpid(child, &status, 0);
	CHECK(status == 0);
	set("max_pinned", "1073741824");
}

static void staged_output_is_copied(void)
{
	struct script script = { 0 }, keep = { .flags = GIL_FLAG_HOLD };
	uint8_t in[64], *out = unpinnable_memory();

	if (!out) {
		printf("# no RAM at %#lx is left alone: boot with mem=480M\n",
		       LEFT_ALONE);
		failures++;
		return;
	}
	fill(in, sizeof(in), 1);
	CHECK(run(&script, in, out + 64, 64, NULL) == 0);
	CHECK(inverted(in, out + 64, 64));
	fill(in, sizeof(in), 2);
	CHECK(run(&keep, in, out + 64, 64, NULL) == 0);
	CHECK(!inverted(in, out + 64, 64));
	CHECK(collect() == 0);
	CHECK(inverted(in, out + 64, 64));
}

/* A program is killed with output outstanding: its session is closed. */
static void exit_revokes_kept_output(void)
{
	struct script before = { 0 }, after = { 0 };
	pid_t child;

	CHECK(run(&before, NULL, NULL, 0, NULL) == 0);
	child = fork();
	if (child == 0) {
		static uint8_t in[8192], out[8192];
		struct script script = { .flags = GIL_FLAG_HOLD };

		fd = open_session();
		run(&script, in, out, sizeof(in), NULL);
		raise(9);
	}
	waitpid(child, NULL, 0);
	CHECK(run(&after, NULL, NULL, 0, NULL) == 0);
	CHECK(after.opened == before.opened + 1);
	CHECK(after.closed == before.closed + 1);
}

int main(void)
{
	fd = open_session();
	run_test("regions_arrive_whole", regions_arrive_whole);
	run_test("scattered_pages_are_chained", scattered_pages_are_chained);
	run_test("contiguous_pages_are_merged", contiguous_pages_are_merged);
	run_test("unpinnable_input_is_copied", unpinnable_input_is_copied);
	run_test("staged_output_is_copied", staged_output_is_copied);
	run_test("pages_are_pinned_or_staged_each",
		 pages_are_pinned_or_staged_each);
	run_test("staged_pages_are_bounded", staged_pages_are_bounded);
	run_test("memory_that_is_not_there_takes_none",
		 memory_that_is_not_there_takes_none);
	run_test("limits_are_a_users", limits_are_a_users);
	run_test("kept_output_arrives_when_released",
		 kept_output_arrives_when_released);
	run_test("kept_output_may_lose_its_memory",
		 kept_output_may_lose_its_memory);
	run_test("more_than_one_round_is_collected",
		 more_than_one_round_is_collected);
	run_test("outstanding_output_is_bounded",
		 outstanding_output_is_bounded);
	run_test("progress_wakes", progress_wakes);
	run_test("the_timer_rings_by_itself", the_timer_rings_by_itself);
	run_test("the_latest_answer_sets_the_timer",
		 the_latest_answer_sets_the_timer);
	run_test("the_timer_wakes_for_progress", the_timer_wakes_for_progress);
	run_test("exit_ends_the_timer", exit_ends_the_timer);
	run_test("answers_come_back", answers_come_back);
	run_test("faults_come_before_the_doorbell",
		 faults_come_before_the_doorbell);
	run_test("exit_revokes_kept_output", exit_revokes_kept_output);
	return failures != 0;
}
