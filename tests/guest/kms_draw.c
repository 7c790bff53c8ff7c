// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Draws known colours on the display by the kernel's interface alone, in a dumb
 * buffer that it shows:
 *
 *     kms_draw [FLIPS]
 *
 * The four quarters are red, green, blue and white, in a frame of 8 black pixels.
 * With FLIPS, as many page flips follow between two such buffers; then it prints
 * the simulated milliseconds that the slowest of them took. It ends with the
 * picture on the screen.
 */
#include <drm/drm.h>
#include <drm/drm_mode.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { FRAME = 8 };

struct screen {
	int card;
	uint32_t connector;
	uint32_t crtc;
	struct drm_mode_modeinfo mode;
};

struct buffer {
	uint32_t id;
	uint32_t pitch;
	uint8_t *bytes;
};

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void ask(const struct screen *screen, unsigned long request, void *with, const char *what)
{
	if (ioctl(screen->card, request, with) < 0)
		die(what);
}

static void find_mode(struct screen *screen)
{
	struct drm_mode_modeinfo modes[64];
	struct drm_mode_get_connector connector = {
		.connector_id = screen->connector,
	};

	/* Once to look for displays, once for their modes. */
	ask(screen, DRM_IOCTL_MODE_GETCONNECTOR, &connector, "connector");
	if (!connector.count_modes || connector.count_modes > 64) {
		fprintf(stderr, "%u modes\n", connector.count_modes);
		exit(1);
	}
	connector.modes_ptr = (uintptr_t)modes;
	connector.count_props = connector.count_encoders = 0;
	ask(screen, DRM_IOCTL_MODE_GETCONNECTOR, &connector, "modes");
	screen->mode = modes[0];
}

static struct screen open_screen(void)
{
	struct screen screen;
	struct drm_mode_card_res resources = {
		.crtc_id_ptr = (uintptr_t)&screen.crtc,
		.count_crtcs = 1,
		.connector_id_ptr = (uintptr_t)&screen.connector,
		.count_connectors = 1,
	};

	screen.card = open("/dev/dri/card0", O_RDWR | O_CLOEXEC);
	if (screen.card < 0)
		die("/dev/dri/card0");
	ask(&screen, DRM_IOCTL_MODE_GETRESOURCES, &resources, "resources");
	find_mode(&screen);
	return screen;
}

static struct buffer make_buffer(const struct screen *screen)
{
	struct drm_mode_create_dumb dumb = {
		.width = screen->mode.hdisplay,
		.height = screen->mode.vdisplay,
		.bpp = 32,
	};
	struct drm_mode_map_dumb map = { 0 };
	struct drm_mode_fb_cmd fb = { .depth = 24, .bpp = 32 };
	void *bytes;

	ask(screen, DRM_IOCTL_MODE_CREATE_DUMB, &dumb, "dumb buffer");
	fb.width = dumb.width;
	fb.height = dumb.height;
	fb.pitch = dumb.pitch;
	fb.handle = map.handle = dumb.handle;
	ask(screen, DRM_IOCTL_MODE_ADDFB, &fb, "framebuffer");
	ask(screen, DRM_IOCTL_MODE_MAP_DUMB, &map, "mapping");
	bytes = mmap(NULL, dumb.size, PROT_READ | PROT_WRITE, MAP_SHARED, screen->card, map.offset);
	if (bytes == MAP_FAILED)
		die("mmap");
	return (struct buffer){ fb.fb_id, dumb.pitch, bytes };
}

static uint32_t colour(const struct drm_mode_modeinfo *mode, unsigned x, unsigned y)
{
	static const uint32_t quarters[4] = { 0xff0000, 0x00ff00, 0x0000ff, 0xffffff };
	unsigned width = mode->hdisplay, height = mode->vdisplay;

	if (x < FRAME || y < FRAME || x >= width - FRAME || y >= height - FRAME)
		return 0;
	return quarters[(y >= height / 2) * 2 + (x >= width / 2)];
}

static void draw(const struct screen *screen, const struct buffer *buffer)
{
	unsigned x, y;

	for (y = 0; y < screen->mode.vdisplay; y++) {
		uint32_t *row = (uint32_t *)(buffer->bytes + (size_t)y * buffer->pitch);

		for (x = 0; x < screen->mode.hdisplay; x++)
			row[x] = colour(&screen->mode, x, y);
	}
}

static void show(struct screen *screen, const struct buffer *buffer)
{
	struct drm_mode_crtc crtc = {
		.set_connectors_ptr = (uintptr_t)&screen->connector,
		.count_connectors = 1,
		.crtc_id = screen->crtc,
		.fb_id = buffer->id,
		.mode_valid = 1,
		.mode = screen->mode,
	};

	ask(screen, DRM_IOCTL_MODE_SETCRTC, &crtc, "mode");
}

static double now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1e3 + time.tv_nsec / 1e6;
}

/* To its end, as the kernel reports it; the simulated milliseconds that took. */
static double flip(const struct screen *screen, const struct buffer *buffer)
{
	struct drm_mode_crtc_page_flip flip = {
		.crtc_id = screen->crtc,
		.fb_id = buffer->id,
		.flags = DRM_MODE_PAGE_FLIP_EVENT,
	};
	char event[256];
	double began = now_ms();

	ask(screen, DRM_IOCTL_MODE_PAGE_FLIP, &flip, "flip");
	if (read(screen->card, event, sizeof(event)) < (int)sizeof(struct drm_event))
		die("event");
	return now_ms() - began;
}

int main(int argc, char **argv)
{
	int flips = argc > 1 ? atoi(argv[1]) : 0;
	struct screen screen = open_screen();
	struct buffer buffers[2] = { make_buffer(&screen), make_buffer(&screen) };
	double slowest = 0;
	int i;

	draw(&screen, &buffers[0]);
	draw(&screen, &buffers[1]);
	show(&screen, &buffers[0]);
	for (i = 0; i < flips; i++) {
		double took = flip(&screen, &buffers[(i + 1) % 2]);

		slowest = took > slowest ? took : slowest;
	}
	printf("%ux%u\n", screen.mode.hdisplay, screen.mode.vdisplay);
	if (flips)
		printf("%.3f ms\n", slowest);
	return 0;
}
