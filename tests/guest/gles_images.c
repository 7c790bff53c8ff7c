/* Images of the guest's buffers, drawn to and read in every way that OpenGL ES has: what
 * the GPU drew is in the buffer after a flush, what the CPU drew is in the picture after
 * a bind. Prints "ok NAME" or "FAILED NAME" for each point. Uses OpenGL ES 3.2. */
#include "gbm_test.h"
#include <GLES3/gl32.h>
#include <pthread.h>

static EGLDisplay display;
static EGLConfig config;
static struct gbm_device *device;
static PFNGLEGLIMAGETARGETTEXTURE2DOESPROC target;

/* A buffer, its image, a texture of it, and a framebuffer. */
struct picture {
	struct gbm_bo *bo;
	EGLImageKHR image;
	GLuint texture, framebuffer;
};

static EGLContext context(EGLContext shared)
{
	const EGLint version[] = { EGL_CONTEXT_MAJOR_VERSION, 3, EGL_CONTEXT_MINOR_VERSION, 2,
				   EGL_NONE };
	EGLContext made = eglCreateContext(display, config, shared, version);

	says(made != NULL, "a context");
	return made;
}

static void use(EGLContext context)
{
	if (!eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, context))
		says(0, "a context is current");
}

/* All of a buffer by the CPU. */
static void paint(struct gbm_bo *bo, uint32_t colour)
{
	for (unsigned y = 0; y < HEIGHT; y++)
		row(bo, y, colour);
}

/* The texture is bound, and the image's. */
static void make_texture(struct picture *it)
{
	if (!it->texture)
		glGenTextures(1, &it->texture);
	glBindTexture(GL_TEXTURE_2D, it->texture);
	glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
	target(GL_TEXTURE_2D, it->image);
}

static struct picture buffer(uint32_t colour)
{
	struct picture it = { .bo = gbm.bo_create(device, WIDTH, HEIGHT, XRGB8888,
						  USE_SCANOUT | USE_RENDERING) };
	int fd = gbm.bo_get_fd(it.bo);

	paint(it.bo, colour);
	it.image = image_of(display, it.bo, (EGLint)gbm.bo_get_stride(it.bo), fd);
	close(fd);
	return it;
}

static struct picture textured(uint32_t colour)
{
	struct picture it = buffer(colour);

	make_texture(&it);
	return it;
}

/* A framebuffer is bound, with the texture. */
static void make_framebuffer(struct picture *it)
{
	if (!it->framebuffer)
		glGenFramebuffers(1, &it->framebuffer);
	glBindFramebuffer(GL_FRAMEBUFFER, it->framebuffer);
	glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D,
			       it->texture, 0);
}

static struct picture drawn_to(uint32_t colour)
{
	struct picture it = textured(colour);

	make_framebuffer(&it);
	return it;
}

static void end(struct picture *it)
{
	PFNEGLDESTROYIMAGEKHRPROC destroy = (void *)eglGetProcAddress("eglDestroyImageKHR");

	glBindFramebuffer(GL_FRAMEBUFFER, 0);
	glDeleteFramebuffers(1, &it->framebuffer);
	glDeleteTextures(1, &it->texture);
	destroy(display, it->image);
	gbm.bo_destroy(it->bo);
	says(glGetError() == GL_NO_ERROR, "no error is left");
}

/* A texture of the board's own, of a colour, in a framebuffer that is bound. */
static struct picture plain(uint32_t colour)
{
	struct picture it = { 0 };

	glGenTextures(1, &it.texture);
	glBindTexture(GL_TEXTURE_2D, it.texture);
	glTexStorage2D(GL_TEXTURE_2D, 1, GL_RGBA8, WIDTH, HEIGHT);
	make_framebuffer(&it);
	fill(0, 0, WIDTH, HEIGHT, colour);
	return it;
}

static void forget(struct picture *it)
{
	glDeleteFramebuffers(1, &it->framebuffer);
	glDeleteTextures(1, &it->texture);
}

/* What a program bound before it had images counts. The first of all. */
static void bound_before(void)
{
	struct picture it = { 0 }, made;

	glActiveTexture(GL_TEXTURE2);
	glGenTextures(1, &it.texture);
	glBindTexture(GL_TEXTURE_2D, it.texture);
	glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, 4, 4, 0, GL_RGBA, GL_UNSIGNED_BYTE, NULL);
	make_framebuffer(&it);
	made = buffer(0x010203);
	target(GL_TEXTURE_2D, made.image);
	fill(0, 0, WIDTH, HEIGHT, 0x123456);
	glFinish();
	says(pixel(made.bo, 5, 5) == 0x123456, "a framebuffer that was bound before draws to it");
	made.texture = it.texture;
	made.framebuffer = it.framebuffer;
	glActiveTexture(GL_TEXTURE0);
	end(&made);
}

/* ---- what writes to a texture, without a framebuffer that has it ---- */

static void parts_of_textures(void)
{
	struct picture it = textured(0x010203), other;
	static unsigned char pixels[4 * 4 * 4];

	memset(pixels, 0xee, sizeof(pixels));
	glTexSubImage2D(GL_TEXTURE_2D, 0, 8, 4, 4, 4, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
	glFinish();
	says(pixel(it.bo, 9, 5) == 0xeeeeee && pixel(it.bo, 7, 5) == 0x010203,
	     "a part of a texture is in the buffer");
	other = plain(0x445566);
	glBindTexture(GL_TEXTURE_2D, it.texture);
	glCopyTexSubImage2D(GL_TEXTURE_2D, 0, 20, 10, 0, 0, 5, 5);
	glFinish();
	says(pixel(it.bo, 22, 12) == 0x445566 && pixel(it.bo, 9, 5) == 0xeeeeee,
	     "a part that is copied from a framebuffer is");
	glActiveTexture(GL_TEXTURE3);
	glBindTexture(GL_TEXTURE_2D, other.texture);
	glActiveTexture(GL_TEXTURE0);
	memset(pixels, 0x77, sizeof(pixels));
	glTexSubImage2D(GL_TEXTURE_2D, 0, 40, 4, 4, 4, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
	glFlush();
	says(pixel(it.bo, 41, 5) == 0x777777, "units have textures of their own");
	fill(0, 0, WIDTH, HEIGHT, 0x778899);
	glCopyImageSubData(other.texture, GL_TEXTURE_2D, 0, 0, 0, 0, it.texture,
			   GL_TEXTURE_2D, 0, 30, 20, 0, 6, 6, 1);
	glFinish();
	says(pixel(it.bo, 31, 21) == 0x778899, "a part that is copied from a texture is");
	forget(&other);
	end(&it);
}

static void shaders_write(void)
{
	static const char *const source =
		"#version 310 es\nlayout(local_size_x = 8, local_size_y = 8) in;\n"
		"layout(rgba8, binding = 1) writeonly uniform highp image2D to;\n"
		"void main() { imageStore(to, ivec2(gl_GlobalInvocationID.xy),"
		" vec4(1, 0, 0, 1)); }\n";
	struct picture it = textured(0x010203);
	GLuint shader = glCreateShader(GL_COMPUTE_SHADER), program = glCreateProgram();

	glShaderSource(shader, 1, &source, NULL);
	glCompileShader(shader);
	glAttachShader(program, shader);
	glLinkProgram(program);
	glUseProgram(program);
	glBindImageTexture(1, it.texture, 0, GL_FALSE, 0, GL_WRITE_ONLY, GL_RGBA8);
	glDispatchCompute(1, 1, 1);
	glMemoryBarrier(GL_ALL_BARRIER_BITS);
	glFinish();
	says(pixel(it.bo, 7, 7) == 0xff0000 && pixel(it.bo, 8, 8) == 0x010203,
	     "what a shader writes to an image unit is in the buffer");
	glBindImageTexture(1, 0, 0, GL_FALSE, 0, GL_READ_ONLY, GL_RGBA8);
	glDeleteProgram(program);
	glDeleteShader(shader);
	end(&it);
}

/* ---- framebuffers ---- */

static void attachments(void)
{
	struct picture it = textured(0x010203);

	glGenFramebuffers(1, &it.framebuffer);
	glBindFramebuffer(GL_FRAMEBUFFER, it.framebuffer);
	glFramebufferTexture(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, it.texture, 0);
	fill(0, 0, WIDTH, HEIGHT, 0x123456);
	glFinish();
	says(pixel(it.bo, 5, 5) == 0x123456, "glFramebufferTexture attaches an image");
	end(&it);

	it = buffer(0x010203);
	glGenTextures(1, &it.texture);
	glBindTexture(GL_TEXTURE_2D, it.texture);
	glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, 4, 4, 0, GL_RGBA, GL_UNSIGNED_BYTE, NULL);
	make_framebuffer(&it);
	target(GL_TEXTURE_2D, it.image);
	fill(0, 0, WIDTH, HEIGHT, 0x123456);
	glFinish();
	says(pixel(it.bo, 5, 5) == 0x123456, "an attached texture becomes an image's");
	glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, 4, 4, 0, GL_RGBA, GL_UNSIGNED_BYTE, NULL);
	fill(0, 0, WIDTH, HEIGHT, 0x654321);
	glFinish();
	says(pixel(it.bo, 2, 46) == 0x123456, "one with memory of its own is none");
	end(&it);

	it = drawn_to(0x010203);
	glBindFramebuffer(GL_FRAMEBUFFER, 0);
	glDeleteTextures(1, &it.texture);
	it.texture = 0;
	glBindFramebuffer(GL_FRAMEBUFFER, it.framebuffer);
	fill(0, 0, WIDTH, HEIGHT, 0x123456);
	glFinish();
	says(pixel(it.bo, 5, 5) == 0x123456, "a deleted texture is attached still");
	end(&it);
}

static void framebuffers_that_are_read(void)
{
	struct picture it = drawn_to(0x010203), other = plain(0);
	unsigned char got[4];

	glBindFramebuffer(GL_FRAMEBUFFER, 0);
	row(it.bo, 6, 0xabcdef);
	glBindFramebuffer(GL_READ_FRAMEBUFFER, it.framebuffer);
	glBindFramebuffer(GL_DRAW_FRAMEBUFFER, other.framebuffer);
	glBlitFramebuffer(0, 0, WIDTH, HEIGHT, 0, 0, WIDTH, HEIGHT, GL_COLOR_BUFFER_BIT,
			  GL_NEAREST);
	glBindFramebuffer(GL_READ_FRAMEBUFFER, other.framebuffer);
	glReadPixels(3, 6, 1, 1, GL_RGBA, GL_UNSIGNED_BYTE, got);
	says(got[0] == 0xab && got[1] == 0xcd && got[2] == 0xef,
	     "what the CPU drew is in a framebuffer that is read");
	glBindFramebuffer(GL_READ_FRAMEBUFFER, it.framebuffer);
	glBindFramebuffer(GL_DRAW_FRAMEBUFFER, other.framebuffer);
	fill(0, 0, WIDTH, HEIGHT, 0x112233);
	row(it.bo, 7, 0xfedcba);
	glBindFramebuffer(GL_READ_FRAMEBUFFER, it.framebuffer);
	says(has(7, 0xfedcba), "drawing to another framebuffer leaves it the CPU's");
	forget(&other);
	end(&it);
}

/* ---- contexts ---- */

static void same_names(EGLContext first)
{
	EGLContext second = context(EGL_NO_CONTEXT);
	struct picture one = buffer(0x010101), two = buffer(0x020202);

	/* Contexts that share nothing may have equal names. */
	one.texture = two.texture = one.framebuffer = two.framebuffer = 77;
	make_texture(&one);
	make_framebuffer(&one);
	use(second);
	make_texture(&two);
	make_framebuffer(&two);
	fill(0, 0, WIDTH, HEIGHT, 0x222222);
	use(first);
	row(one.bo, 9, 0x991199);
	glBindTexture(GL_TEXTURE_2D, one.texture);
	glBindFramebuffer(GL_FRAMEBUFFER, one.framebuffer);
	says(has(9, 0x991199) && has(10, 0x010101), "the first one's image is its own");
	says(pixel(two.bo, 5, 5) == 0x222222, "a context that is let go flushes");
	fill(0, 0, WIDTH, HEIGHT, 0x111111);
	glFinish();
	says(pixel(one.bo, 5, 5) == 0x111111 && pixel(two.bo, 5, 5) == 0x222222,
	     "each image has what was drawn to it");
	end(&one);
	use(second);
	fill(0, 0, WIDTH, HEIGHT, 0x232323);
	glFinish();
	says(pixel(two.bo, 5, 5) == 0x232323, "deleting the one's leaves the other's");
	end(&two);
	use(first);
	eglDestroyContext(display, second);
}

static pthread_barrier_t turn;

/* Draws, and flushes when the other thread has flushed. */
static void *drawer(void *shared)
{
	EGLContext own = context(shared);
	struct picture it;

	use(own);
	it = drawn_to(0x010203);
	glFinish();
	fill(0, 0, WIDTH, HEIGHT, 0xaa5500);
	glBindFramebuffer(GL_FRAMEBUFFER, 0);
	pthread_barrier_wait(&turn);
	pthread_barrier_wait(&turn);
	glFinish();
	says(pixel(it.bo, 5, 5) == 0xaa5500, "another thread's flush takes no picture");
	end(&it);
	use(EGL_NO_CONTEXT);
	eglDestroyContext(display, own);
	return NULL;
}

static void threads(EGLContext first)
{
	struct picture it = drawn_to(0x030201);
	pthread_t other;

	pthread_barrier_init(&turn, NULL, 2);
	pthread_create(&other, NULL, drawer, first);
	pthread_barrier_wait(&turn);
	fill(0, 0, WIDTH, HEIGHT, 0x0055aa);
	glFinish();
	says(pixel(it.bo, 5, 5) == 0x0055aa, "a thread flushes its own");
	pthread_barrier_wait(&turn);
	pthread_join(other, NULL);
	end(&it);
}

static void *draws_and_ends(void *context)
{
	use(context);
	fill(0, 0, WIDTH, HEIGHT, 0x66aa55);
	return NULL;
}

/* A thread ends with a current context, in which it drew. */
static void ends_of_threads(EGLContext first)
{
	struct picture it = drawn_to(0x030201);
	pthread_t other;

	use(EGL_NO_CONTEXT);
	pthread_create(&other, NULL, draws_and_ends, first);
	pthread_join(other, NULL);
	use(first);
	says(pixel(it.bo, 5, 5) == 0x66aa55, "what a thread drew that ended is in the buffer");
	end(&it);
}

/* A texture of one context is drawn to by another that shares it. */
static void shared(EGLContext first)
{
	struct picture it = textured(0x030201);
	EGLContext second = context(first);

	use(second);
	make_framebuffer(&it);
	fill(0, 0, WIDTH, HEIGHT, 0x0055aa);
	glFinish();
	says(pixel(it.bo, 5, 5) == 0x0055aa, "a context that shares draws to an image");
	fill(0, 0, WIDTH, HEIGHT, 0xaa5500);
	glDeleteFramebuffers(1, &it.framebuffer);
	it.framebuffer = 0;
	use(first);
	says(pixel(it.bo, 5, 5) == 0xaa5500, "also when its framebuffer is gone");
	eglDestroyContext(display, second);
	end(&it);
}

int main(void)
{
	PFNEGLGETPLATFORMDISPLAYEXTPROC get =
		(void *)eglGetProcAddress("eglGetPlatformDisplayEXT");
	int card = open("/dev/dri/card0", O_RDWR | O_CLOEXEC);
	EGLint count = 0;
	EGLContext first;

	if (card < 0 || !open_gbm())
		return 2;
	device = gbm.create_device(card);
	display = get(EGL_PLATFORM_GBM_KHR, device, NULL);
	target = (void *)eglGetProcAddress("glEGLImageTargetTexture2DOES");
	eglInitialize(display, NULL, NULL);
	eglChooseConfig(display, (EGLint[]){ EGL_RENDERABLE_TYPE, EGL_OPENGL_ES3_BIT, EGL_NONE },
			&config, 1, &count);
	first = context(EGL_NO_CONTEXT);
	use(first);
	bound_before();
	parts_of_textures();
	shaders_write();
	attachments();
	framebuffers_that_are_read();
	same_names(first);
	threads(first);
	ends_of_threads(first);
	shared(first);
	use(EGL_NO_CONTEXT);
	eglDestroyContext(display, first);
	says(eglTerminate(display), "the display ends");
	gbm.device_destroy(device);
	close(card);
	return failures != 0;
}
