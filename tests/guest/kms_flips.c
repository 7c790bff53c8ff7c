// Page flips of a driver's own buffers whose jobs have not ended: what the second of two at
// once gets, when the event comes, and what is left of the frame buffers of a closed file.
// With an argument it flips until the board is gone, and ends well if every flip is done.
#include <drm/drm.h>
#include <drm/drm_fourcc.h>
#include <drm/drm_mode.h>
#include <drm/virtgpu_drm.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { BGRX = 2, TEXTURE = 2, TARGET = 1 << 1, SCANOUT = 1 << 18 };

struct buffer {
	uint32_t handle, frame;
};

struct screen {
	int card;
	uint32_t connector, crtc;
	struct drm_mode_modeinfo mode;
	struct buffer buffers[2];
};

static void die(const char *what)
{
	perror(what);
	exit(2);
}

static void ask(const struct screen *screen, unsigned long request, void *with, const char *what)
{
	if (ioctl(screen->card, request, with))
		die(what);
}

static void find(struct screen *screen)
{
	struct drm_mode_modeinfo modes[64];
	struct drm_mode_card_res all = {
		.crtc_id_ptr = (uintptr_t)&screen->crtc,
		.connector_id_ptr = (uintptr_t)&screen->connector,
		.count_crtcs = 1,
		.count_connectors = 1,
	};
	struct drm_mode_get_connector connector = { 0 };

	ask(screen, DRM_IOCTL_MODE_GETRESOURCES, &all, "resources");
	// Once to look for modes, once to read them.
	connector.connector_id = screen->connector;
	ask(screen, DRM_IOCTL_MODE_GETCONNECTOR, &connector, "the connector");
	if (connector.count_modes > 64)
		connector.count_modes = 64;
	connector.modes_ptr = (uintptr_t)modes;
	connector.count_props = connector.count_encoders = 0;
	ask(screen, DRM_IOCTL_MODE_GETCONNECTOR, &connector, "its modes");
	for (uint32_t i = 0; i < connector.count_modes; i++)
		if (modes[i].type & DRM_MODE_TYPE_PREFERRED)
			screen->mode = modes[i];
}

static void make(const struct screen *screen, struct buffer *buffer)
{
	struct drm_virtgpu_resource_create made = {
		.target = TEXTURE,
		.format = BGRX,
		.bind = TARGET | SCANOUT,
		.width = screen->mode.hdisplay,
		.height = screen->mode.vdisplay,
		.depth = 1,
		.array_size = 1,
	};
	struct drm_mode_fb_cmd2 frame = {
		.width = screen->mode.hdisplay,
		.height = screen->mode.vdisplay,
		.pixel_format = DRM_FORMAT_XRGB8888,
		.pitches = { 4 * screen->mode.hdisplay },
	};

	made.size = frame.pitches[0] * made.height;
	ask(screen, DRM_IOCTL_VIRTGPU_RESOURCE_CREATE, &made, "a buffer");
	frame.handles[0] = buffer->handle = made.bo_handle;
	ask(screen, DRM_IOCTL_MODE_ADDFB2, &frame, "a frame buffer");
	buffer->frame = frame.fb_id;
}

// A job that does nothing, but with this buffer.
static int work(const struct screen *screen, const struct buffer *buffer)
{
	struct drm_virtgpu_execbuffer job = {
		.num_bo_handles = 1,
		.bo_handles = (uintptr_t)&buffer->handle,
	};

	return ioctl(screen->card, DRM_IOCTL_VIRTGPU_EXECBUFFER, &job);
}

static int flip(const struct screen *screen, const struct buffer *buffer)
{
	struct drm_mode_crtc_page_flip flip = {
		.crtc_id = screen->crtc,
		.fb_id = buffer->frame,
		.flags = DRM_MODE_PAGE_FLIP_EVENT,
	};

	return ioctl(screen->card, DRM_IOCTL_MODE_PAGE_FLIP, &flip);
}

static int is_flipped(const struct screen *screen)
{
	struct pollfd wait = { .fd = screen->card, .events = POLLIN };
	struct drm_event_vblank event;

	return poll(&wait, 1, 20000) == 1 &&
	       read(screen->card, &event, sizeof(event)) == sizeof(event) &&
	       event.base.type == DRM_EVENT_FLIP_COMPLETE;
}

static void begin(struct screen *screen)
{
	struct drm_mode_crtc crtc = { .mode_valid = 1, .count_connectors = 1 };

	screen->card = open("/dev/dri/card0", O_RDWR | O_CLOEXEC);
	if (screen->card < 0)
		die("/dev/dri/card0");
	find(screen);
	for (int i = 0; i < 2; i++)
		make(screen, &screen->buffers[i]);
	crtc.crtc_id = screen->crtc;
	crtc.fb_id = screen->buffers[0].frame;
	crtc.set_connectors_ptr = (uintptr_t)&screen->connector;
	crtc.mode = screen->mode;
	ask(screen, DRM_IOCTL_MODE_SETCRTC, &crtc, "the mode");
}

static int check(int is_right, const char *what)
{
	printf("%s %s\n", is_right ? "ok" : "not ok", what);
	fflush(stdout);
	return !is_right;
}

static int two_at_once(const struct screen *screen)
{
	const struct buffer *first = &screen->buffers[0], *second = &screen->buffers[1];
	int failed;

	failed = check(!work(screen, second) && !flip(screen, second), "a flip to a job's buffer");
	failed |= check(flip(screen, first) == -1 && errno == EBUSY, "another is refused until then");
	failed |= check(is_flipped(screen), "it is done when the job is");
	failed |= check(!flip(screen, first) && is_flipped(screen), "then another is taken");
	return failed;
}

// Whether a frame buffer of that number is there, and whether one is shown.
static int closed(const struct screen *before)
{
	struct screen screen = { .card = open("/dev/dri/card0", O_RDWR | O_CLOEXEC) };
	struct drm_mode_fb_cmd frame = { .fb_id = before->buffers[0].frame };
	struct drm_mode_crtc crtc = { .crtc_id = before->crtc };
	int is_gone;

	if (screen.card < 0)
		die("/dev/dri/card0");
	is_gone = ioctl(screen.card, DRM_IOCTL_MODE_GETFB, &frame) == -1 && errno == ENOENT;
	ask(&screen, DRM_IOCTL_MODE_GETCRTC, &crtc, "the CRTC");
	return check(is_gone && !crtc.fb_id, "a closed file's frame buffers are gone");
}

// Until the board is gone, and then as often again.
static int until_it_is_gone(const struct screen *screen)
{
	int is_lost = 0, failed = 0, after = 0;

	for (int i = 1; after < 10 && !failed; i++) {
		const struct buffer *next = &screen->buffers[i % 2];

		if (work(screen, next)) {
			is_lost |= errno == EIO;
			failed |= !is_lost;
		}
		after += is_lost;
		failed |= flip(screen, next) || !is_flipped(screen);
		if (i == 3)
			check(!failed, "the board is there");
	}
	return check(is_lost && !failed, "flips are done without the board");
}

int main(int argc, char **argv)
{
	struct screen screen = { 0 };

	(void)argv;
	begin(&screen);
	if (argc > 1)
		return until_it_is_gone(&screen);
	if (two_at_once(&screen))
		return 1;
	close(screen.card);
	return closed(&screen);
}
