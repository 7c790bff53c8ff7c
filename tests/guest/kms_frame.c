// Runs a program that shows frames by KMS, and prints the size and a sum of what is on the
// display when it ends: as a program with a buffer of virtio_gpu's reads it. The program is
// stopped before its files are closed, which takes its frame off the display.
#define _GNU_SOURCE
#include <drm/drm.h>
#include <drm/drm_mode.h>
#include <drm/virtgpu_drm.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

static void call(int fd, unsigned long request, void *argument, const char *what)
{
	if (ioctl(fd, request, argument)) {
		perror(what);
		exit(2);
	}
}

// The frame buffer that the first CRTC shows, with a handle, which only root gets.
static struct drm_mode_fb_cmd shown(int fd)
{
	uint32_t crtcs[8];
	struct drm_mode_card_res all = { .crtc_id_ptr = (uintptr_t)crtcs, .count_crtcs = 8 };
	struct drm_mode_crtc crtc = { 0 };
	struct drm_mode_fb_cmd frame = { 0 };

	call(fd, DRM_IOCTL_MODE_GETRESOURCES, &all, "resources");
	crtc.crtc_id = crtcs[0];
	call(fd, DRM_IOCTL_MODE_GETCRTC, &crtc, "the CRTC");
	frame.fb_id = crtc.fb_id;
	call(fd, DRM_IOCTL_MODE_GETFB, &frame, "its frame buffer");
	return frame;
}

static const uint8_t *pixels(int fd, const struct drm_mode_fb_cmd *frame)
{
	struct drm_virtgpu_3d_transfer_from_host transfer = {
		.bo_handle = frame->handle,
		.box = { .w = frame->width, .h = frame->height, .d = 1 },
	};
	struct drm_virtgpu_3d_wait wait = { .handle = frame->handle };
	struct drm_virtgpu_map map = { .handle = frame->handle };
	void *at;

	call(fd, DRM_IOCTL_VIRTGPU_MAP, &map, "the map");
	at = mmap(NULL, (size_t)frame->pitch * frame->height, PROT_READ, MAP_SHARED, fd, map.offset);
	if (at == MAP_FAILED) {
		perror("mmap");
		exit(2);
	}
	call(fd, DRM_IOCTL_VIRTGPU_TRANSFER_FROM_HOST, &transfer, "the transfer");
	call(fd, DRM_IOCTL_VIRTGPU_WAIT, &wait, "the wait");
	return at;
}

// FNV-1a of red, green and blue.
static uint64_t sum(const uint8_t *pixels, const struct drm_mode_fb_cmd *frame)
{
	uint64_t sum = 0xcbf29ce484222325;

	for (uint32_t y = 0; y < frame->height; y++)
		for (uint32_t x = 0; x < frame->width; x++)
			for (int shade = 2; shade >= 0; shade--) {
				sum ^= pixels[(size_t)y * frame->pitch + 4 * x + shade];
				sum *= 0x100000001b3;
			}
	return sum;
}

static void show_sum(void)
{
	int fd = open("/dev/dri/card0", O_RDWR | O_CLOEXEC);
	struct drm_mode_fb_cmd frame;

	if (fd < 0) {
		perror("/dev/dri/card0");
		exit(2);
	}
	frame = shown(fd);
	printf("frame %ux%u %016llx\n", frame.width, frame.height,
	       (unsigned long long)sum(pixels(fd, &frame), &frame));
	fflush(stdout);
	close(fd);
}

static void run(char **program, int silent)
{
	dup2(silent, STDIN_FILENO);
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	raise(SIGSTOP);
	execvp(program[0], program);
	perror(program[0]);
	_exit(127);
}

int main(int argc, char **argv)
{
	int status, silent[2];
	pid_t child;

	// kmscube ends when there is something to read for it, an end too.
	if (argc < 2 || pipe2(silent, O_CLOEXEC))
		return 2;
	child = fork();
	if (child < 0)
		return 2;
	if (!child)
		run(argv + 1, silent[0]);
	waitpid(child, &status, 0);
	ptrace(PTRACE_SETOPTIONS, child, NULL, (void *)PTRACE_O_TRACEEXIT);
	ptrace(PTRACE_CONT, child, NULL, NULL);
	while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
		int signal = WSTOPSIG(status);

		if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXIT << 8))
			show_sum();
		// The stop of execve() is no signal of the program's.
		ptrace(PTRACE_CONT, child, NULL, (void *)(uintptr_t)(signal == SIGTRAP ? 0 : signal));
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
