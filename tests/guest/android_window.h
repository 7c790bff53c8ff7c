/* A window as Android has it, for one program: a queue of buffers, which are the display
 * driver's dumb buffers as dma-bufs, by the structures that a driver is given. The layouts are
 * those of system/window.h, nativebase/nativebase.h and cutils/native_handle.h of the Android
 * Open Source Project. What a window is asked for is written down in `log`:
 * d dequeue, q queue, c cancel. */
#ifndef ANDROID_WINDOW_H
#define ANDROID_WINDOW_H

#include <drm/drm.h>
#include <drm/drm_mode.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { RGBA_8888 = 1, RGBX_8888 = 2, RGB_565 = 4, IMPLEMENTATION_DEFINED = 0x22 };
enum { WINDOW_MAGIC = 0x5f776e64, BUFFER_MAGIC = 0x5f626672 };
enum { QUERY_DEFAULT_WIDTH = 6, QUERY_DEFAULT_HEIGHT = 7 };
enum { SET_USAGE = 0, SET_DIMENSIONS = 8, SET_FORMAT = 9, API_CONNECT = 13, SET_USAGE_64 = 30 };

struct base {
	int magic, version;
	void *reserved[4];
	void (*inc_ref)(struct base *);
	void (*dec_ref)(struct base *);
};

struct handle {
	int version, fds, ints;
	int data[2];
};

struct android_buffer {
	struct base base;
	int width, height, stride, format, old_usage;
	uintptr_t layers;
	void *reserved[1];
	const struct handle *handle;
	uint64_t usage;
	void *reserved_proc[8 - sizeof(uint64_t) / sizeof(void *)];
};

struct android_window {
	struct base base;
	uint32_t flags;
	int min_swap_interval, max_swap_interval;
	float xdpi, ydpi;
	intptr_t oem[4];
	int (*set_swap_interval)(struct android_window *, int);
	void *unfenced[3];
	int (*query)(const struct android_window *, int, int *);
	int (*perform)(struct android_window *, int, ...);
	void *unfenced_cancel;
	int (*dequeue)(struct android_window *, struct android_buffer **, int *);
	int (*queue)(struct android_window *, struct android_buffer *, int);
	int (*cancel)(struct android_window *, struct android_buffer *, int);
};

/* A buffer with its memory. */
struct slot {
	struct android_buffer buffer;
	struct handle handle;
	uint8_t *bytes;
	size_t size;
	int is_out; /* dequeued */
};

enum { SLOTS_MAX = 6, LOG_MAX = 256 };

struct window_queue {
	struct android_window window;
	int references;
	int width, height; /* as the window's owner has it */
	int asked_width, asked_height, format, usage, swap_interval;
	struct slot slots[SLOTS_MAX];
	int count, next;
	struct slot *shown;
	char log[LOG_MAX];
	/* What is wrong with it, on purpose. */
	int is_abandoned, is_stubborn, has_no_fds;
	/* Fences: pipes, which signal when a byte is in them. */
	int is_fenced, writer, is_signaled;
	pthread_t signaler;
	/* What a driver did wrong. */
	int mistakes;
};

static int card = -1;

static void noted(struct window_queue *queue, char what)
{
	size_t len = strlen(queue->log);

	if (len + 1 < LOG_MAX)
		queue->log[len] = what;
}

/* Bytes of a pixel. */
static int pixel_bytes(int format)
{
	return format == RGB_565 ? 2 : 4;
}

static int allocate(struct slot *slot, int width, int height, int format)
{
	/* Rows are longer than the picture, as a gralloc may have them. */
	int stride = ((width + 31) & ~31) + 32, bytes = pixel_bytes(format);
	struct drm_mode_create_dumb dumb = { .bpp = 32 };
	struct drm_prime_handle prime = { .flags = O_RDWR | O_CLOEXEC };

	memset(slot, 0, sizeof(*slot));
	/* The driver has 32 bits a pixel only. */
	dumb.width = stride * bytes / 4;
	dumb.height = height + 8;
	if (ioctl(card, DRM_IOCTL_MODE_CREATE_DUMB, &dumb) ||
	    dumb.pitch != (uint32_t)(stride * bytes))
		return -1;
	prime.handle = dumb.handle;
	if (ioctl(card, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime))
		return -1;
	slot->size = dumb.size;
	slot->bytes = mmap(NULL, dumb.size, PROT_READ | PROT_WRITE, MAP_SHARED, prime.fd, 0);
	if (slot->bytes == MAP_FAILED)
		return -1;
	slot->handle = (struct handle){ 12, 1, 1, { prime.fd, (int)dumb.handle } };
	slot->buffer = (struct android_buffer){
		.base = { .magic = BUFFER_MAGIC, .version = sizeof(struct android_buffer) },
		.width = width,
		.height = height,
		.stride = stride,
		.format = format,
		.handle = &slot->handle,
	};
	return 0;
}

static void release(struct slot *slot)
{
	struct drm_mode_destroy_dumb dumb = { .handle = slot->handle.data[1] };

	if (!slot->bytes)
		return;
	munmap(slot->bytes, slot->size);
	close(slot->handle.data[0]);
	ioctl(card, DRM_IOCTL_MODE_DESTROY_DUMB, &dumb);
	slot->bytes = NULL;
}

static struct window_queue *queue_of(const void *window)
{
	return (struct window_queue *)window;
}

static void inc_ref(struct base *base)
{
	queue_of(base)->references++;
}

static void dec_ref(struct base *base)
{
	queue_of(base)->references--;
}

static int set_swap_interval(struct android_window *window, int interval)
{
	queue_of(window)->swap_interval = interval;
	return 0;
}

static int query(const struct android_window *window, int what, int *value)
{
	switch (what) {
	case QUERY_DEFAULT_WIDTH:
		*value = queue_of(window)->width;
		return 0;
	case QUERY_DEFAULT_HEIGHT:
		*value = queue_of(window)->height;
		return 0;
	default:
		return -EINVAL;
	}
}

static int perform(struct android_window *window, int operation, ...)
{
	struct window_queue *queue = queue_of(window);
	int result = 0;
	va_list list;

	va_start(list, operation);
	switch (operation) {
	case SET_DIMENSIONS:
		queue->asked_width = va_arg(list, int);
		queue->asked_height = va_arg(list, int);
		break;
	case SET_FORMAT:
		queue->format = va_arg(list, int);
		break;
	case SET_USAGE_64:
		queue->usage = (int)va_arg(list, uint64_t);
		break;
	case API_CONNECT:
		/* Android's libEGL does that, in front of the driver. */
		queue->mistakes++;
		result = -EINVAL;
		break;
	default:
		result = -ENOENT;
	}
	va_end(list);
	return result;
}

static void *signal_soon(void *argument)
{
	struct window_queue *queue = argument;

	usleep(20000);
	__atomic_store_n(&queue->is_signaled, 1, __ATOMIC_SEQ_CST);
	if (write(queue->writer, "", 1) != 1)
		queue->mistakes++;
	return NULL;
}

/* A fence that is to be waited for, and closed. */
static int make_fence(struct window_queue *queue)
{
	int ends[2];

	if (!queue->is_fenced || pipe(ends))
		return -1;
	queue->writer = ends[1];
	queue->is_signaled = 0;
	pthread_create(&queue->signaler, NULL, signal_soon, queue);
	return ends[0];
}

static void end_fence(struct window_queue *queue)
{
	struct pollfd writer = { .fd = queue->writer, .events = POLLOUT };

	if (!queue->is_fenced)
		return;
	if (!__atomic_load_n(&queue->is_signaled, __ATOMIC_SEQ_CST))
		queue->mistakes++;
	pthread_join(queue->signaler, NULL);
	/* Nobody has the other end any more. */
	if (poll(&writer, 1, 0) != 1 || !(writer.revents & POLLERR))
		queue->mistakes++;
	close(queue->writer);
}

static int dequeue(struct android_window *window, struct android_buffer **buffer, int *fence)
{
	struct window_queue *queue = queue_of(window);
	int width = queue->asked_width, height = queue->asked_height;
	struct slot *slot;

	if (queue->is_abandoned)
		return -ENODEV;
	do {
		slot = &queue->slots[queue->next];
		queue->next = (queue->next + 1) % queue->count;
	} while (slot == queue->shown);
	if (queue->is_stubborn)
		width += 8;
	if (!slot->bytes || slot->buffer.width != width || slot->buffer.height != height ||
	    slot->buffer.format != queue->format) {
		release(slot);
		if (allocate(slot, width, height, queue->format))
			return -ENOMEM;
	}
	slot->handle.fds = queue->has_no_fds ? 0 : 1;
	slot->is_out++;
	noted(queue, 'd');
	*buffer = &slot->buffer;
	*fence = make_fence(queue);
	return 0;
}

/* A buffer comes back, in whatever way. */
static struct slot *returned(struct window_queue *queue, struct android_buffer *buffer, int fence)
{
	struct slot *slot = (struct slot *)buffer;

	if (slot < queue->slots || slot >= queue->slots + queue->count || --slot->is_out)
		queue->mistakes++;
	if (fence >= 0)
		close(fence);
	end_fence(queue);
	return slot;
}

static int queue_buffer(struct android_window *window, struct android_buffer *buffer, int fence)
{
	struct window_queue *queue = queue_of(window);

	queue->shown = returned(queue, buffer, fence);
	noted(queue, 'q');
	return 0;
}

static int cancel_buffer(struct android_window *window, struct android_buffer *buffer, int fence)
{
	struct window_queue *queue = queue_of(window);

	returned(queue, buffer, fence);
	noted(queue, 'c');
	return 0;
}

/* A window of this size with as many buffers. */
static void make_window(struct window_queue *queue, int width, int height, int count)
{
	memset(queue, 0, sizeof(*queue));
	queue->width = width;
	queue->height = height;
	queue->count = count;
	queue->swap_interval = -1;
	queue->window = (struct android_window){
		.base = { WINDOW_MAGIC, sizeof(struct android_window), { NULL }, inc_ref, dec_ref },
		.max_swap_interval = 1,
		.set_swap_interval = set_swap_interval,
		.query = query,
		.perform = perform,
		.dequeue = dequeue,
		.queue = queue_buffer,
		.cancel = cancel_buffer,
	};
}

static void end_window(struct window_queue *queue)
{
	for (int n = 0; n < queue->count; n++)
		release(&queue->slots[n]);
}

/* A pixel as the CPU finds it, red in the lowest byte; x and y from the upper left. */
static uint32_t pixel(const struct slot *slot, int x, int y)
{
	uint32_t found = 0;
	int bytes;

	if (!slot || !slot->bytes)
		return 0xdeadbeef;
	bytes = pixel_bytes(slot->buffer.format);
	memcpy(&found, slot->bytes + (y * slot->buffer.stride + x) * bytes, bytes);
	return found;
}

#endif
