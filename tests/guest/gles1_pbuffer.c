/* Draws into a pbuffer with OpenGL ES 1.1: matrices, lights, fog, textures of several
 * units, fixed-point calls, arrays in memory and in buffers, framebuffer objects and other
 * extensions, queries, errors, and a context of OpenGL ES 2.0 beside it; prints what it got
 * and a sum of each picture. It prints the same wherever the same driver draws. */
#define GL_GLEXT_PROTOTYPES
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GLES/gl.h>
#include <GLES/glext.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 64, ONE = 1 << 16 };

static EGLDisplay display;
static EGLSurface surface;

static void check(const char *what)
{
	GLenum error = glGetError();

	if (error != GL_NO_ERROR)
		printf("%s: GL error %#x\n", what, error);
}

/* What a call does wrong. */
static void wrong(const char *what)
{
	printf("%s: %#x\n", what, glGetError());
	check(what);
}

static void picture(const char *what)
{
	static unsigned char pixels[SIZE * SIZE * 4];
	const unsigned char *middle = pixels + (SIZE / 2 * SIZE + SIZE / 2) * 4;
	uint64_t sum = 14695981039346656037u;
	unsigned filled = 0;

	memset(pixels, 0, sizeof(pixels));
	glReadPixels(0, 0, SIZE, SIZE, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
	for (size_t i = 0; i < sizeof(pixels); i++)
		sum = (sum ^ pixels[i]) * 1099511628211u;
	for (size_t i = 0; i < sizeof(pixels); i += 4)
		filled += pixels[i] || pixels[i + 1] || pixels[i + 2];
	printf("%s: %016llx, %u of %u pixels drawn, the middle %u %u %u %u\n", what,
	       (unsigned long long)sum, filled, SIZE * SIZE, middle[0], middle[1], middle[2],
	       middle[3]);
	check(what);
}

/* The function of an extension, which the library need not export. */
#define OF_EXTENSION(type, name) type name##_ = (type)eglGetProcAddress(#name)

static EGLConfig begin(void)
{
	static const EGLint wanted[] = { EGL_SURFACE_TYPE, EGL_PBUFFER_BIT, EGL_RENDERABLE_TYPE,
		EGL_OPENGL_ES_BIT | EGL_OPENGL_ES2_BIT, EGL_RED_SIZE, 8, EGL_GREEN_SIZE, 8,
		EGL_BLUE_SIZE, 8, EGL_ALPHA_SIZE, 8, EGL_DEPTH_SIZE, 24, EGL_STENCIL_SIZE, 8,
		EGL_NONE };
	static const EGLint size[] = { EGL_WIDTH, SIZE, EGL_HEIGHT, SIZE, EGL_NONE };
	static const EGLint versions[][5] = { { EGL_CONTEXT_MAJOR_VERSION, 1,
		EGL_CONTEXT_MINOR_VERSION, 2, EGL_NONE }, { EGL_CONTEXT_MAJOR_VERSION, 1,
		EGL_CONTEXT_MINOR_VERSION, 1, EGL_NONE } };
	EGLConfig config;
	EGLint count = 0, value = 0;
	EGLContext context;

	display = eglGetPlatformDisplay(EGL_PLATFORM_SURFACELESS_MESA, NULL, NULL);
	if (!eglInitialize(display, NULL, NULL)) {
		printf("no EGL: %#x\n", eglGetError());
		exit(1);
	}
	if (!eglChooseConfig(display, wanted, &config, 1, &count) || count < 1) {
		printf("no configuration: %#x\n", eglGetError());
		exit(1);
	}
	eglGetConfigAttrib(display, config, EGL_RENDERABLE_TYPE, &value);
	printf("of OpenGL ES 1 and 2: %d\n", value & (EGL_OPENGL_ES_BIT | EGL_OPENGL_ES2_BIT));
	surface = eglCreatePbufferSurface(display, config, size);
	context = eglCreateContext(display, config, EGL_NO_CONTEXT, versions[0]);
	printf("a context of 1.2: %d, %#x\n", context != EGL_NO_CONTEXT, eglGetError());
	context = eglCreateContext(display, config, EGL_NO_CONTEXT, versions[1]);
	printf("a context of 1.1: %d, %#x\n", context != EGL_NO_CONTEXT, eglGetError());
	eglDestroyContext(display, context);
	context = eglCreateContext(display, config, EGL_NO_CONTEXT, NULL);
	printf("current: %d\n", eglMakeCurrent(display, surface, surface, context));
	eglQueryContext(display, context, EGL_CONTEXT_CLIENT_VERSION, &value);
	printf("version %d: %.16s\n", value, (const char *)glGetString(GL_VERSION));
	printf("a language: %d\n", glGetString(0x8B8C) != NULL);
	wrong("asked for it");
	return config;
}

static void numbers(const char *what, const GLfloat *values, int count)
{
	printf("%s:", what);
	for (int i = 0; i < count; i++)
		printf(" %g", (double)values[i]);
	printf("\n");
	check(what);
}

static void integers(const char *what, const GLint *values, int count)
{
	printf("%s:", what);
	for (int i = 0; i < count; i++)
		printf(" %d", values[i]);
	printf("\n");
	check(what);
}

static void state(GLenum name, const char *what, int count)
{
	GLfloat values[17] = { 0 };
	GLint whole[17] = { 0 };
	GLfixed fixed[17] = { 0 };
	GLboolean flags[17] = { 0 };

	glGetFloatv(name, values);
	numbers(what, values, count + 1);
	glGetIntegerv(name, whole);
	integers(what, whole, count + 1);
	glGetFixedv(name, fixed);
	integers(what, fixed, count + 1);
	glGetBooleanv(name, flags);
	printf("%s: %d %d\n", what, flags[0], flags[count]);
	check(what);
}

static void clear(float red, float green, float blue)
{
	glClearColor(red, green, blue, 1);
	glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT | GL_STENCIL_BUFFER_BIT);
}

static const GLfloat square[] = { -0.75f, -0.75f, 0.75f, -0.75f, -0.75f, 0.75f, 0.75f, 0.75f };

static void draw_square(void)
{
	glEnableClientState(GL_VERTEX_ARRAY);
	glVertexPointer(2, GL_FLOAT, 0, square);
	glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
	glDisableClientState(GL_VERTEX_ARRAY);
}

/* ---- what draws ---- */

static void matrices(void)
{
	static const GLfloat shear[16] = { 1, 0.25f, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0.125f, 0, 0, 1 };
	GLfixed fixed[16], mantissa[16] = { 0 };
	GLint exponent[16] = { 0 };
	GLbitfield lost;

	glMatrixMode(GL_PROJECTION);
	glLoadIdentity();
	glOrthof(-1, 1, -1, 1, -4, 4);
	glMatrixMode(GL_MODELVIEW);
	glLoadIdentity();
	glPushMatrix();
	glTranslatef(0.25f, 0, 0);
	glRotatef(30, 0, 0, 1);
	glScalef(0.5f, 0.5f, 1);
	glMultMatrixf(shear);
	state(GL_MODELVIEW_MATRIX, "modelview", 16);
	state(GL_PROJECTION_MATRIX, "projection", 16);
	state(GL_MODELVIEW_STACK_DEPTH, "depth", 1);
	clear(0, 0, 0);
	glColor4f(1, 0.5f, 0.25f, 1);
	draw_square();
	picture("turned");
	glPopMatrix();
	glPushMatrix();
	for (int i = 0; i < 16; i++)
		fixed[i] = (GLfixed)(shear[i] * ONE);
	glLoadMatrixx(fixed);
	glTranslatex(0, ONE / 8, 0);
	glRotatex(-15 * ONE, 0, 0, ONE);
	glScalex(ONE / 4, ONE / 2, ONE);
	glMultMatrixx(fixed);
	clear(0, 0, 0);
	glColor4x(ONE / 4, ONE / 2, ONE, ONE);
	draw_square();
	picture("turned by fixed-point numbers");
	OF_EXTENSION(PFNGLQUERYMATRIXXOESPROC, glQueryMatrixxOES);
	lost = glQueryMatrixxOES_(mantissa, exponent);
	printf("lost %#x\n", lost);
	integers("mantissas", mantissa, 16);
	integers("exponents", exponent, 16);
	glPopMatrix();
	glMatrixMode(GL_PROJECTION);
	glPushMatrix();
	glLoadIdentity();
	glFrustumf(-0.5f, 0.5f, -0.5f, 0.5f, 1, 10);
	state(GL_PROJECTION_MATRIX, "frustum", 16);
	glLoadIdentity();
	glFrustumx(-ONE / 2, ONE / 2, -ONE / 2, ONE / 2, ONE, 10 * ONE);
	glOrthox(-ONE, ONE, -ONE, ONE, -ONE, ONE);
	state(GL_PROJECTION_MATRIX, "frustum of fixed-point numbers", 16);
	glPopMatrix();
	glMatrixMode(GL_MODELVIEW);
}

/* A roof of two sides, each lit as it faces. */
static void lights(void)
{
	static const GLfloat places[] = { -0.9f, -0.9f, 0, 0, -0.9f, 0.5f, -0.9f, 0.9f, 0, 0, 0.9f, 0.5f,
		0.9f, -0.9f, 0, 0.9f, 0.9f, 0 };
	static const GLfloat outwards[] = { -0.5f, 0, 0.75f, 0, 0, 1, -0.5f, 0, 0.75f, 0, 0, 1,
		0.5f, 0, 0.75f, 0.5f, 0, 0.75f };
	static const GLubyte order[] = { 0, 1, 2, 2, 1, 3, 1, 4, 3, 3, 4, 5 };
	static const GLfloat from[4] = { 0.5f, 1, 2, 1 }, red[4] = { 1, 0.25f, 0.25f, 1 };
	static const GLfloat dim[4] = { 0.125f, 0.125f, 0.25f, 1 }, white[4] = { 1, 1, 1, 1 };
	static const GLfloat down[3] = { -0.25f, -0.5f, -1 };
	static const GLfixed beside[4] = { -2 * ONE, 0, ONE, 0 }, green[4] = { 0, ONE, ONE / 4, ONE };
	GLfloat got[5] = { 0 };
	GLfixed fixed[5] = { 0 };

	glEnable(GL_LIGHTING);
	glEnable(GL_NORMALIZE);
	glEnable(GL_LIGHT0);
	glLightfv(GL_LIGHT0, GL_POSITION, from);
	glLightfv(GL_LIGHT0, GL_DIFFUSE, red);
	glLightfv(GL_LIGHT0, GL_SPECULAR, white);
	glLightModelfv(GL_LIGHT_MODEL_AMBIENT, dim);
	glMaterialfv(GL_FRONT_AND_BACK, GL_AMBIENT_AND_DIFFUSE, white);
	glMaterialfv(GL_FRONT_AND_BACK, GL_SPECULAR, white);
	glMaterialf(GL_FRONT_AND_BACK, GL_SHININESS, 16);
	glEnableClientState(GL_VERTEX_ARRAY);
	glEnableClientState(GL_NORMAL_ARRAY);
	glVertexPointer(3, GL_FLOAT, 0, places);
	glNormalPointer(GL_FLOAT, 0, outwards);
	clear(0, 0, 0);
	glDrawElements(GL_TRIANGLES, 12, GL_UNSIGNED_BYTE, order);
	picture("one light");
	glEnable(GL_LIGHT1);
	glLightxv(GL_LIGHT1, GL_POSITION, beside);
	glLightxv(GL_LIGHT1, GL_DIFFUSE, green);
	glLightf(GL_LIGHT0, GL_SPOT_CUTOFF, 40);
	glLightx(GL_LIGHT0, GL_SPOT_EXPONENT, 4 * ONE);
	glLightfv(GL_LIGHT0, GL_SPOT_DIRECTION, down);
	glLightf(GL_LIGHT0, GL_LINEAR_ATTENUATION, 0.25f);
	glLightModelf(GL_LIGHT_MODEL_TWO_SIDE, 1);
	glLightModelx(GL_LIGHT_MODEL_TWO_SIDE, 0);
	glLightModelxv(GL_LIGHT_MODEL_AMBIENT, green);
	glMaterialx(GL_FRONT_AND_BACK, GL_SHININESS, 8 * ONE);
	glMaterialxv(GL_FRONT_AND_BACK, GL_EMISSION, (const GLfixed[]){ ONE / 16, 0, ONE / 8, ONE });
	glShadeModel(GL_FLAT);
	clear(0, 0, 0);
	glDrawElements(GL_TRIANGLES, 12, GL_UNSIGNED_BYTE, order);
	picture("two lights, flat");
	glShadeModel(GL_SMOOTH);
	glEnable(GL_COLOR_MATERIAL);
	glDisableClientState(GL_NORMAL_ARRAY);
	glNormal3f(0, 0, 1);
	glNormal3x(ONE / 2, 0, ONE);
	glColor4ub(255, 128, 0, 255);
	clear(0, 0, 0);
	glDrawElements(GL_TRIANGLES, 12, GL_UNSIGNED_BYTE, order);
	picture("one normal, its colour the material's");
	state(GL_CURRENT_NORMAL, "normal", 3);
	state(GL_CURRENT_COLOR, "colour", 4);
	state(GL_LIGHT_MODEL_AMBIENT, "ambient light", 4);
	glGetLightfv(GL_LIGHT0, GL_POSITION, got);
	numbers("position", got, 5);
	glGetLightfv(GL_LIGHT0, GL_SPOT_DIRECTION, got);
	numbers("direction", got, 5);
	glGetLightxv(GL_LIGHT1, GL_DIFFUSE, fixed);
	integers("diffuse", fixed, 5);
	glGetMaterialfv(GL_FRONT, GL_SHININESS, got);
	numbers("shininess", got, 5);
	glGetMaterialxv(GL_BACK, GL_EMISSION, fixed);
	integers("emission", fixed, 5);
	glDisableClientState(GL_VERTEX_ARRAY);
	glDisable(GL_COLOR_MATERIAL);
	glDisable(GL_LIGHT1);
	glDisable(GL_LIGHTING);
	glDisable(GL_NORMALIZE);
}

static void fog(void)
{
	static const GLfloat floor_[] = { -1, -1, -1, 1, -1, -1, -1, 1, -9, 1, 1, -9 };
	static const GLfloat grey[4] = { 0.5f, 0.5f, 0.625f, 1 };
	static const GLfixed blue[4] = { 0, ONE / 8, ONE / 2, ONE };

	glMatrixMode(GL_PROJECTION);
	glPushMatrix();
	glLoadIdentity();
	glFrustumf(-1, 1, -1, 1, 1, 10);
	glMatrixMode(GL_MODELVIEW);
	glEnable(GL_FOG);
	glFogf(GL_FOG_MODE, GL_LINEAR);
	glFogf(GL_FOG_START, 1);
	glFogf(GL_FOG_END, 8);
	glFogfv(GL_FOG_COLOR, grey);
	glHint(GL_FOG_HINT, GL_NICEST);
	glColor4f(1, 1, 0, 1);
	glEnableClientState(GL_VERTEX_ARRAY);
	glVertexPointer(3, GL_FLOAT, 0, floor_);
	clear(0, 0, 0);
	glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
	picture("linear fog");
	glFogx(GL_FOG_MODE, GL_EXP2);
	glFogx(GL_FOG_DENSITY, ONE / 4);
	glFogxv(GL_FOG_COLOR, blue);
	clear(0, 0, 0);
	glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
	picture("fog of squares");
	state(GL_FOG_COLOR, "fog's colour", 4);
	state(GL_FOG_MODE, "fog's mode", 1);
	glDisable(GL_FOG);
	glDisableClientState(GL_VERTEX_ARRAY);
	glMatrixMode(GL_PROJECTION);
	glPopMatrix();
	glMatrixMode(GL_MODELVIEW);
}

static GLuint texture(int step)
{
	static unsigned char texels[16 * 16 * 3];
	GLuint made;

	for (int i = 0; i < 16 * 16; i++) {
		texels[i * 3] = (unsigned char)(i * step);
		texels[i * 3 + 1] = (unsigned char)(i / 16 * 16);
		texels[i * 3 + 2] = (unsigned char)(255 - i % 16 * 16);
	}
	glGenTextures(1, &made);
	glBindTexture(GL_TEXTURE_2D, made);
	glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_LINEAR_MIPMAP_NEAREST);
	glTexParameterx(GL_TEXTURE_2D, GL_TEXTURE_WRAP_S, GL_CLAMP_TO_EDGE);
	glTexParameterf(GL_TEXTURE_2D, GL_GENERATE_MIPMAP, GL_TRUE);
	glPixelStorei(GL_UNPACK_ALIGNMENT, 1);
	glTexImage2D(GL_TEXTURE_2D, 0, GL_RGB, 16, 16, 0, GL_RGB, GL_UNSIGNED_BYTE, texels);
	glPixelStorei(GL_UNPACK_ALIGNMENT, 4);
	glTexSubImage2D(GL_TEXTURE_2D, 0, 3, 5, 2, 2, GL_RGB, GL_UNSIGNED_BYTE, texels);
	return made;
}

/* Two units with arrays of their own, of several types. */
static void textures(void)
{
	static const GLbyte corners[] = { 0, 0, 1, 0, 0, 1, 1, 1 };
	static const GLfixed halves[] = { 0, 0, ONE / 2, 0, 0, ONE / 2, ONE / 2, ONE / 2 };
	static const GLshort places[] = { -1, -1, 1, -1, -1, 1, 1, 1 };
	static const GLfloat tint[4] = { 0.25f, 0.5f, 0.75f, 1 };
	static const GLint crop[4] = { 2, 2, 12, 12 };
	static const GLfixed area[5] = { 8 * ONE, 40 * ONE, 0, 48 * ONE, 16 * ONE };
	GLuint both[2];
	GLint value = 0, rect[5] = { 0 };
	GLfloat got[5] = { 0 };
	GLfixed fixed[5] = { 0 };
	void *pointer = NULL;

	both[0] = texture(3);
	both[1] = texture(11);
	glActiveTexture(GL_TEXTURE0);
	glEnable(GL_TEXTURE_2D);
	glBindTexture(GL_TEXTURE_2D, both[0]);
	glTexEnvi(GL_TEXTURE_ENV, GL_TEXTURE_ENV_MODE, GL_REPLACE);
	glClientActiveTexture(GL_TEXTURE0);
	glEnableClientState(GL_TEXTURE_COORD_ARRAY);
	glTexCoordPointer(2, GL_BYTE, 0, corners);
	glEnableClientState(GL_VERTEX_ARRAY);
	glVertexPointer(2, GL_SHORT, 0, places);
	glColor4f(1, 1, 1, 1);
	clear(0, 0, 0);
	glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
	picture("one texture");

	glActiveTexture(GL_TEXTURE1);
	glEnable(GL_TEXTURE_2D);
	glBindTexture(GL_TEXTURE_2D, both[1]);
	glTexEnvx(GL_TEXTURE_ENV, GL_TEXTURE_ENV_MODE, GL_COMBINE);
	glTexEnvf(GL_TEXTURE_ENV, GL_COMBINE_RGB, GL_INTERPOLATE);
	glTexEnvi(GL_TEXTURE_ENV, GL_SRC2_RGB, GL_CONSTANT);
	glTexEnvfv(GL_TEXTURE_ENV, GL_TEXTURE_ENV_COLOR, tint);
	glClientActiveTexture(GL_TEXTURE1);
	glEnableClientState(GL_TEXTURE_COORD_ARRAY);
	glTexCoordPointer(2, GL_FIXED, 0, halves);
	glMatrixMode(GL_TEXTURE);
	glScalef(2, 1, 1);
	glMatrixMode(GL_MODELVIEW);
	clear(0, 0, 0);
	glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
	picture("two textures");
	glGetPointerv(GL_TEXTURE_COORD_ARRAY_POINTER, &pointer);
	printf("the second unit's array: %d\n", pointer == halves);
	glClientActiveTexture(GL_TEXTURE0);
	glGetPointerv(GL_TEXTURE_COORD_ARRAY_POINTER, &pointer);
	printf("the first unit's array: %d\n", pointer == corners);
	glDisableClientState(GL_TEXTURE_COORD_ARRAY);
	glMultiTexCoord4f(GL_TEXTURE0, 0.25f, 0.5f, 0, 1);
	glMultiTexCoord4x(GL_TEXTURE1, ONE / 2, ONE / 4, 0, ONE);
	clear(0, 0, 0);
	glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
	picture("one place in the first texture");
	glGetTexEnvfv(GL_TEXTURE_ENV, GL_TEXTURE_ENV_COLOR, got);
	numbers("environment's colour", got, 5);
	glGetTexEnviv(GL_TEXTURE_ENV, GL_COMBINE_RGB, &value);
	glGetTexEnvxv(GL_TEXTURE_ENV, GL_TEXTURE_ENV_COLOR, fixed);
	integers("the same", fixed, 5);
	printf("combined by %#x\n", value);
	state(GL_CURRENT_TEXTURE_COORDS, "coordinates", 4);
	state(GL_TEXTURE_MATRIX, "texture's matrix", 16);
	glTexEnviv(GL_TEXTURE_ENV, GL_COMBINE_RGB, (const GLint[]){ GL_MODULATE });
	glTexEnvxv(GL_TEXTURE_ENV, GL_TEXTURE_ENV_COLOR, (const GLfixed[]){ ONE, 0, ONE, ONE });
	clear(0, 0, 0);
	glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
	picture("multiplied");
	glDisable(GL_TEXTURE_2D);
	glClientActiveTexture(GL_TEXTURE1);
	glDisableClientState(GL_TEXTURE_COORD_ARRAY);
	glClientActiveTexture(GL_TEXTURE0 + 31);
	wrong("a unit that is not there");
	glGetIntegerv(GL_CLIENT_ACTIVE_TEXTURE, &value);
	printf("the client's unit: %#x\n", value);
	glClientActiveTexture(GL_TEXTURE0);
	glDisableClientState(GL_VERTEX_ARRAY);
	glActiveTexture(GL_TEXTURE0);

	/* A part of it as it is. */
	OF_EXTENSION(PFNGLDRAWTEXIOESPROC, glDrawTexiOES);
	OF_EXTENSION(PFNGLDRAWTEXFOESPROC, glDrawTexfOES);
	OF_EXTENSION(PFNGLDRAWTEXSVOESPROC, glDrawTexsvOES);
	OF_EXTENSION(PFNGLDRAWTEXXVOESPROC, glDrawTexxvOES);
	glTexParameteriv(GL_TEXTURE_2D, GL_TEXTURE_CROP_RECT_OES, crop);
	clear(0, 0, 0);
	glDrawTexiOES_(4, 4, 0, 24, 24);
	glDrawTexfOES_(32, 4, 0, 20.5f, 30);
	glDrawTexsvOES_((const GLshort[]){ 2, 50, 0, 10, 10 });
	glDrawTexxvOES_(area);
	picture("drawn as it is");
	glGetTexParameteriv(GL_TEXTURE_2D, GL_TEXTURE_CROP_RECT_OES, rect);
	integers("cropped", rect, 5);
	glGetTexParameterfv(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, got);
	glGetTexParameterxv(GL_TEXTURE_2D, GL_TEXTURE_WRAP_S, fixed);
	printf("filter %g, wrap %#x\n", (double)got[0], fixed[0]);
	glTexParameterfv(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, (const GLfloat[]){ GL_NEAREST });
	glTexParameterxv(GL_TEXTURE_2D, GL_TEXTURE_WRAP_T, (const GLfixed[]){ GL_REPEAT });
	check("parameters");
	glDisable(GL_TEXTURE_2D);
	glDeleteTextures(2, both);
	printf("a texture: %d\n", glIsTexture(both[0]));
}

/* 16 colours, and four bits a texel. */
static void palette(void)
{
	unsigned char block[16 * 3 + 4 * 4 / 2];
	GLuint made;

	for (size_t i = 0; i < 48; i++)
		block[i] = (unsigned char)(i * 5);
	for (size_t i = 48; i < sizeof(block); i++)
		block[i] = (unsigned char)(i * 37);
	glGenTextures(1, &made);
	glBindTexture(GL_TEXTURE_2D, made);
	glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
	glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
	glCompressedTexImage2D(GL_TEXTURE_2D, 0, GL_PALETTE4_RGB8_OES, 4, 4, 0, sizeof(block), block);
	check("a palette");
	glEnable(GL_TEXTURE_2D);
	glTexEnvi(GL_TEXTURE_ENV, GL_TEXTURE_ENV_MODE, GL_DECAL);
	glEnableClientState(GL_TEXTURE_COORD_ARRAY);
	glTexCoordPointer(2, GL_FLOAT, 0, (const GLfloat[]){ 0, 0, 1, 0, 0, 1, 1, 1 });
	clear(0, 0, 0);
	draw_square();
	picture("a texture with a palette");
	glDisableClientState(GL_TEXTURE_COORD_ARRAY);
	glDisable(GL_TEXTURE_2D);
	glDeleteTextures(1, &made);
}

/* Points of several sizes, colours of bytes, interleaved arrays, several draws in a call. */
static void arrays(void)
{
	static const struct {
		GLfixed at[2];
		GLubyte colour[4];
		GLfloat size;
	} points[] = {
		{ { -ONE / 2, -ONE / 2 }, { 255, 0, 0, 255 }, 3 },
		{ { ONE / 2, -ONE / 2 }, { 0, 255, 0, 255 }, 7 },
		{ { -ONE / 2, ONE / 2 }, { 0, 0, 255, 255 }, 11 },
		{ { ONE / 2, ONE / 2 }, { 255, 255, 0, 255 }, 15 },
		{ { 0, 0 }, { 255, 255, 255, 255 }, 20 },
	};
	static const GLushort order[] = { 4, 2, 0 };
	static const GLint first[] = { 0, 3 };
	static const GLsizei count[] = { 1, 2 };
	static const GLfloat far[3] = { 1, 0, 0.5f };
	const void *indices[] = { order, order + 1 };
	GLint value[4] = { 0 };
	void *pointer = NULL;

	glEnableClientState(GL_VERTEX_ARRAY);
	glEnableClientState(GL_COLOR_ARRAY);
	glEnableClientState(GL_POINT_SIZE_ARRAY_OES);
	glVertexPointer(2, GL_FIXED, sizeof(*points), points->at);
	glColorPointer(4, GL_UNSIGNED_BYTE, sizeof(*points), points->colour);
	glPointSizePointerOES(GL_FLOAT, sizeof(*points), &points->size);
	glPointParameterf(GL_POINT_SIZE_MIN, 2);
	glPointParameterx(GL_POINT_SIZE_MAX, 30 * ONE);
	clear(0, 0, 0);
	glDrawArrays(GL_POINTS, 0, 5);
	picture("points");
	glDrawArrays(GL_LINE_LOOP, 1, 3);
	picture("lines between them");
	clear(0, 0, 0);
	glDrawElements(GL_TRIANGLES, 3, GL_UNSIGNED_SHORT, order);
	picture("a triangle of them");
	OF_EXTENSION(PFNGLMULTIDRAWARRAYSEXTPROC, glMultiDrawArraysEXT);
	OF_EXTENSION(PFNGLMULTIDRAWELEMENTSEXTPROC, glMultiDrawElementsEXT);
	clear(0, 0, 0);
	glMultiDrawArraysEXT_(GL_POINTS, first, count, 2);
	picture("three points in two draws");
	glMultiDrawElementsEXT_(GL_POINTS, count, GL_UNSIGNED_SHORT, indices, 2);
	picture("more by indices");
	glMultiDrawArraysEXT_(GL_POINTS, first, count, -1);
	wrong("draws below none");
	glPointParameterfv(GL_POINT_DISTANCE_ATTENUATION, far);
	glDisableClientState(GL_POINT_SIZE_ARRAY_OES);
	glPointSizex(9 * ONE);
	glPointSize(12);
	clear(0, 0, 0);
	glDrawArrays(GL_POINTS, 0, 5);
	picture("points of one size");
	state(GL_POINT_DISTANCE_ATTENUATION, "attenuation", 3);
	state(GL_POINT_SIZE, "size", 1);
	glPointParameterxv(GL_POINT_DISTANCE_ATTENUATION, (const GLfixed[]){ ONE, 0, 0 });
	glGetIntegerv(GL_VERTEX_ARRAY_STRIDE, value);
	glGetIntegerv(GL_COLOR_ARRAY_TYPE, value + 1);
	glGetIntegerv(GL_COLOR_ARRAY_SIZE, value + 2);
	integers("arrays", value, 3);
	glGetPointerv(GL_COLOR_ARRAY_POINTER, &pointer);
	printf("colours: %d, enabled %d\n", pointer == points->colour, glIsEnabled(GL_COLOR_ARRAY));
	glGetPointerv(GL_POINT_SIZE_ARRAY_POINTER_OES, &pointer);
	printf("sizes: %d, enabled %d\n", pointer == &points->size, glIsEnabled(GL_POINT_SIZE_ARRAY_OES));
	glDisableClientState(GL_COLOR_ARRAY);
	glDisableClientState(GL_VERTEX_ARRAY);
}

static void buffers(void)
{
	static const GLubyte order[] = { 0, 1, 2, 2, 1, 3 };
	static const GLubyte colours[] = { 255, 0, 0, 255, 0, 255, 0, 255, 0, 0, 255, 255, 255, 255, 255, 255 };
	GLfloat *mapped;
	GLuint both[2], vertices = 0;
	GLint size = 0, binding = 0;
	void *pointer = NULL;

	glGenBuffers(2, both);
	glBindBuffer(GL_ARRAY_BUFFER, both[0]);
	glBufferData(GL_ARRAY_BUFFER, sizeof(square), square, GL_DYNAMIC_DRAW);
	glBindBuffer(GL_ELEMENT_ARRAY_BUFFER, both[1]);
	glBufferData(GL_ELEMENT_ARRAY_BUFFER, sizeof(order), NULL, GL_STATIC_DRAW);
	glBufferSubData(GL_ELEMENT_ARRAY_BUFFER, 0, sizeof(order), order);
	glEnableClientState(GL_VERTEX_ARRAY);
	glVertexPointer(2, GL_FLOAT, 0, (void *)0);
	glColor4f(0, 1, 1, 1);
	clear(0, 0, 0);
	glDrawElements(GL_TRIANGLES, 3, GL_UNSIGNED_BYTE, (void *)3);
	picture("of buffers");
	glBindBuffer(GL_ARRAY_BUFFER, 0);
	glEnableClientState(GL_COLOR_ARRAY);
	glColorPointer(4, GL_UNSIGNED_BYTE, 0, colours);
	glDrawElements(GL_TRIANGLES, 6, GL_UNSIGNED_BYTE, (void *)0);
	picture("places in a buffer, colours in memory");
	glGetIntegerv(GL_VERTEX_ARRAY_BUFFER_BINDING, &binding);
	printf("places are in the first buffer: %d\n", binding == (GLint)both[0]);
	glGetIntegerv(GL_COLOR_ARRAY_BUFFER_BINDING, &binding);
	printf("colours are in %d\n", binding);
	glDisableClientState(GL_COLOR_ARRAY);

	OF_EXTENSION(PFNGLMAPBUFFEROESPROC, glMapBufferOES);
	OF_EXTENSION(PFNGLUNMAPBUFFEROESPROC, glUnmapBufferOES);
	OF_EXTENSION(PFNGLGETBUFFERPOINTERVOESPROC, glGetBufferPointervOES);
	glBindBuffer(GL_ARRAY_BUFFER, both[0]);
	mapped = glMapBufferOES_(GL_ARRAY_BUFFER, GL_WRITE_ONLY_OES);
	glGetBufferPointervOES_(GL_ARRAY_BUFFER, GL_BUFFER_MAP_POINTER_OES, &pointer);
	printf("mapped: %d\n", mapped && pointer == mapped);
	mapped[0] = 0;
	printf("unmapped: %d\n", glUnmapBufferOES_(GL_ARRAY_BUFFER));
	glGetBufferParameteriv(GL_ARRAY_BUFFER, GL_BUFFER_SIZE, &size);
	clear(0, 0, 0);
	glDrawElements(GL_TRIANGLES, 6, GL_UNSIGNED_BYTE, (void *)0);
	picture("a corner moved");
	printf("a buffer of %d bytes: %d\n", size, glIsBuffer(both[0]));

	OF_EXTENSION(PFNGLGENVERTEXARRAYSOESPROC, glGenVertexArraysOES);
	OF_EXTENSION(PFNGLBINDVERTEXARRAYOESPROC, glBindVertexArrayOES);
	OF_EXTENSION(PFNGLDELETEVERTEXARRAYSOESPROC, glDeleteVertexArraysOES);
	glGenVertexArraysOES_(1, &vertices);
	glBindVertexArrayOES_(vertices);
	printf("enabled in it: %d\n", glIsEnabled(GL_VERTEX_ARRAY));
	glEnableClientState(GL_VERTEX_ARRAY);
	glVertexPointer(2, GL_FLOAT, 0, (void *)0);
	clear(0, 0, 0);
	glDrawArrays(GL_TRIANGLES, 1, 3);
	picture("of a vertex array");
	glBindVertexArrayOES_(0);
	printf("enabled without: %d\n", glIsEnabled(GL_VERTEX_ARRAY));
	glDeleteVertexArraysOES_(1, &vertices);
	glDeleteBuffers(2, both);
	glDisableClientState(GL_VERTEX_ARRAY);
	check("buffers");
}

/* Tests of fragments, and the planes of clips. */
static void fragments(void)
{
	static const GLfloat left[4] = { -1, 0.25f, 0, 0.125f };
	static const GLfixed low[4] = { 0, -ONE, 0, ONE / 4 };
	GLfloat plane[4] = { 0 };
	GLfixed fixed[4] = { 0 };

	clear(0.5f, 0.5f, 0);
	glEnable(GL_CLIP_PLANE0);
	glClipPlanef(GL_CLIP_PLANE0, left);
	glColor4f(1, 1, 1, 0.5f);
	draw_square();
	picture("clipped");
	glClipPlanex(GL_CLIP_PLANE0, low);
	draw_square();
	picture("clipped elsewhere");
	glGetClipPlanef(GL_CLIP_PLANE0, plane);
	numbers("plane", plane, 4);
	glGetClipPlanex(GL_CLIP_PLANE0, fixed);
	integers("plane", fixed, 4);
	glDisable(GL_CLIP_PLANE0);
	glEnable(GL_ALPHA_TEST);
	glAlphaFunc(GL_GREATER, 0.75f);
	clear(0, 0, 0);
	draw_square();
	picture("nothing is opaque enough");
	glAlphaFuncx(GL_LESS, ONE * 3 / 4);
	draw_square();
	picture("all is opaque enough");
	state(GL_ALPHA_TEST_REF, "reference", 1);
	glDisable(GL_ALPHA_TEST);
	glEnable(GL_COLOR_LOGIC_OP);
	glLogicOp(GL_XOR);
	draw_square();
	picture("the other way round");
	glDisable(GL_COLOR_LOGIC_OP);
	glClearStencil(1);
	glClearDepthx(ONE);
	glClearColorx(0, 0, ONE / 2, ONE);
	glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT | GL_STENCIL_BUFFER_BIT);
	glEnable(GL_STENCIL_TEST);
	glEnable(GL_SCISSOR_TEST);
	glScissor(8, 8, 40, 24);
	glStencilFunc(GL_EQUAL, 1, 0xff);
	glStencilOp(GL_KEEP, GL_KEEP, GL_INCR);
	glStencilMask(0xff);
	draw_square();
	glDisable(GL_SCISSOR_TEST);
	glColor4f(0, 1, 0, 1);
	draw_square();
	picture("around it");
	glDisable(GL_STENCIL_TEST);
	glEnable(GL_BLEND);
	glBlendFunc(GL_SRC_ALPHA, GL_ONE);
	OF_EXTENSION(PFNGLBLENDEQUATIONOESPROC, glBlendEquationOES);
	OF_EXTENSION(PFNGLBLENDFUNCSEPARATEOESPROC, glBlendFuncSeparateOES);
	OF_EXTENSION(PFNGLBLENDEQUATIONSEPARATEOESPROC, glBlendEquationSeparateOES);
	glBlendEquationOES_(GL_FUNC_REVERSE_SUBTRACT_OES);
	glColor4f(0.25f, 0.25f, 0.25f, 0.5f);
	draw_square();
	picture("less of it");
	glBlendEquationSeparateOES_(GL_FUNC_ADD_OES, GL_FUNC_SUBTRACT_OES);
	glBlendFuncSeparateOES_(GL_ONE, GL_ONE, GL_ONE, GL_ZERO);
	glColorMask(GL_TRUE, GL_FALSE, GL_TRUE, GL_TRUE);
	draw_square();
	picture("more of it");
	glColorMask(GL_TRUE, GL_TRUE, GL_TRUE, GL_TRUE);
	glBlendEquationOES_(GL_FUNC_ADD_OES);
	glDisable(GL_BLEND);
	glEnable(GL_DEPTH_TEST);
	glDepthFunc(GL_LEQUAL);
	glDepthMask(GL_TRUE);
	glDepthRangef(0.25f, 0.75f);
	glDepthRangex(0, ONE);
	glEnable(GL_POLYGON_OFFSET_FILL);
	glPolygonOffset(1, 2);
	glPolygonOffsetx(ONE, 2 * ONE);
	glSampleCoverage(0.5f, GL_FALSE);
	glSampleCoveragex(ONE, GL_FALSE);
	glLineWidth(3);
	glLineWidthx(2 * ONE);
	glEnable(GL_CULL_FACE);
	glCullFace(GL_BACK);
	glFrontFace(GL_CCW);
	glViewport(8, 8, SIZE - 16, SIZE - 16);
	draw_square();
	picture("smaller");
	glViewport(0, 0, SIZE, SIZE);
	glDisable(GL_CULL_FACE);
	glDisable(GL_POLYGON_OFFSET_FILL);
	glDisable(GL_DEPTH_TEST);
	check("fragments");
}

/* A picture in a texture, and a cube whose coordinates the driver makes. */
static void targets(void)
{
	OF_EXTENSION(PFNGLGENFRAMEBUFFERSOESPROC, glGenFramebuffersOES);
	OF_EXTENSION(PFNGLBINDFRAMEBUFFEROESPROC, glBindFramebufferOES);
	OF_EXTENSION(PFNGLDELETEFRAMEBUFFERSOESPROC, glDeleteFramebuffersOES);
	OF_EXTENSION(PFNGLFRAMEBUFFERTEXTURE2DOESPROC, glFramebufferTexture2DOES);
	OF_EXTENSION(PFNGLCHECKFRAMEBUFFERSTATUSOESPROC, glCheckFramebufferStatusOES);
	OF_EXTENSION(PFNGLGENRENDERBUFFERSOESPROC, glGenRenderbuffersOES);
	OF_EXTENSION(PFNGLBINDRENDERBUFFEROESPROC, glBindRenderbufferOES);
	OF_EXTENSION(PFNGLDELETERENDERBUFFERSOESPROC, glDeleteRenderbuffersOES);
	OF_EXTENSION(PFNGLRENDERBUFFERSTORAGEOESPROC, glRenderbufferStorageOES);
	OF_EXTENSION(PFNGLFRAMEBUFFERRENDERBUFFEROESPROC, glFramebufferRenderbufferOES);
	OF_EXTENSION(PFNGLGETRENDERBUFFERPARAMETERIVOESPROC, glGetRenderbufferParameterivOES);
	OF_EXTENSION(PFNGLGETFRAMEBUFFERATTACHMENTPARAMETERIVOESPROC,
		     glGetFramebufferAttachmentParameterivOES);
	OF_EXTENSION(PFNGLGENERATEMIPMAPOESPROC, glGenerateMipmapOES);
	OF_EXTENSION(PFNGLISFRAMEBUFFEROESPROC, glIsFramebufferOES);
	OF_EXTENSION(PFNGLISRENDERBUFFEROESPROC, glIsRenderbufferOES);
	OF_EXTENSION(PFNGLTEXGENIOESPROC, glTexGeniOES);
	OF_EXTENSION(PFNGLGETTEXGENIVOESPROC, glGetTexGenivOES);
	static const GLfloat bowl[] = { -0.9f, -0.9f, 0, 0.9f, -0.9f, 0, -0.9f, 0.9f, 0, 0.9f, 0.9f, 0 };
	static const GLfloat outwards[] = { -1, -1, 0.5f, 1, -1, 0.5f, -1, 1, 0.5f, 1, 1, 0.5f };
	GLuint frame, depth, made, side[16 * 16];
	GLint value = 0, mode = 0;

	glGenTextures(1, &made);
	glBindTexture(GL_TEXTURE_2D, made);
	glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, 32, 32, 0, GL_RGBA, GL_UNSIGNED_BYTE, NULL);
	glGenFramebuffersOES_(1, &frame);
	glBindFramebufferOES_(GL_FRAMEBUFFER_OES, frame);
	glFramebufferTexture2DOES_(GL_FRAMEBUFFER_OES, GL_COLOR_ATTACHMENT0_OES, GL_TEXTURE_2D, made, 0);
	glGenRenderbuffersOES_(1, &depth);
	glBindRenderbufferOES_(GL_RENDERBUFFER_OES, depth);
	glRenderbufferStorageOES_(GL_RENDERBUFFER_OES, GL_DEPTH_COMPONENT16_OES, 32, 32);
	glFramebufferRenderbufferOES_(GL_FRAMEBUFFER_OES, GL_DEPTH_ATTACHMENT_OES, GL_RENDERBUFFER_OES, depth);
	printf("complete: %#x\n", glCheckFramebufferStatusOES_(GL_FRAMEBUFFER_OES));
	glGetRenderbufferParameterivOES_(GL_RENDERBUFFER_OES, GL_RENDERBUFFER_WIDTH_OES, &value);
	glGetFramebufferAttachmentParameterivOES_(GL_FRAMEBUFFER_OES, GL_COLOR_ATTACHMENT0_OES,
		GL_FRAMEBUFFER_ATTACHMENT_OBJECT_TYPE_OES, &mode);
	printf("width %d, a texture %d\n", value, mode == GL_TEXTURE);
	glViewport(0, 0, 32, 32);
	clear(0.25f, 0, 0);
	glColor4f(0, 0.75f, 1, 1);
	draw_square();
	printf("objects: %d %d\n", glIsFramebufferOES_(frame), glIsRenderbufferOES_(depth));
	glBindFramebufferOES_(GL_FRAMEBUFFER_OES, 0);
	glDeleteFramebuffersOES_(1, &frame);
	glDeleteRenderbuffersOES_(1, &depth);
	glViewport(0, 0, SIZE, SIZE);
	glGenerateMipmapOES_(GL_TEXTURE_2D);
	glEnable(GL_TEXTURE_2D);
	glTexEnvi(GL_TEXTURE_ENV, GL_TEXTURE_ENV_MODE, GL_REPLACE);
	glEnableClientState(GL_TEXTURE_COORD_ARRAY);
	glTexCoordPointer(2, GL_FLOAT, 0, (const GLfloat[]){ 0, 0, 3, 0, 0, 3, 3, 3 });
	clear(0, 0, 0);
	draw_square();
	picture("drawn into a texture");
	glCopyTexImage2D(GL_TEXTURE_2D, 0, GL_RGB, 8, 8, 16, 16, 0);
	glCopyTexSubImage2D(GL_TEXTURE_2D, 0, 2, 2, 0, 0, 8, 8);
	glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_LINEAR);
	clear(0, 0, 0);
	draw_square();
	picture("a part of that");
	glDisableClientState(GL_TEXTURE_COORD_ARRAY);
	glDisable(GL_TEXTURE_2D);
	glDeleteTextures(1, &made);

	glGenTextures(1, &made);
	glBindTexture(GL_TEXTURE_CUBE_MAP_OES, made);
	for (GLuint i = 0; i < 6; i++) {
		for (GLuint k = 0; k < 256; k++)
			side[k] = 0xff000000u | (i * 40 << 16) | (k << 8) | (255 - i * 30);
		glTexImage2D(GL_TEXTURE_CUBE_MAP_POSITIVE_X_OES + i, 0, GL_RGBA, 16, 16, 0, GL_RGBA,
			     GL_UNSIGNED_BYTE, side);
	}
	glTexParameteri(GL_TEXTURE_CUBE_MAP_OES, GL_TEXTURE_MIN_FILTER, GL_LINEAR);
	glEnable(GL_TEXTURE_CUBE_MAP_OES);
	glTexGeniOES_(GL_TEXTURE_GEN_STR_OES, GL_TEXTURE_GEN_MODE_OES, GL_NORMAL_MAP_OES);
	glGetTexGenivOES_(GL_TEXTURE_GEN_STR_OES, GL_TEXTURE_GEN_MODE_OES, &mode);
	printf("coordinates are made from normals: %d\n", mode == GL_NORMAL_MAP_OES);
	glEnable(GL_TEXTURE_GEN_STR_OES);
	glEnableClientState(GL_VERTEX_ARRAY);
	glEnableClientState(GL_NORMAL_ARRAY);
	glVertexPointer(3, GL_FLOAT, 0, bowl);
	glNormalPointer(GL_FLOAT, 0, outwards);
	clear(0, 0, 0);
	glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
	picture("a cube's sides");
	glDisableClientState(GL_NORMAL_ARRAY);
	glDisableClientState(GL_VERTEX_ARRAY);
	glDisable(GL_TEXTURE_GEN_STR_OES);
	glDisable(GL_TEXTURE_CUBE_MAP_OES);
	glDeleteTextures(1, &made);
}

static void errors(void)
{
	static const GLfloat any[32];
	GLfloat got[4];
	void *pointer = NULL;

	glPopMatrix();
	wrong("no matrix is left");
	glMatrixMode(GL_PROJECTION);
	for (int i = 0; i < 100; i++)
		glPushMatrix();
	wrong("too many matrices");
	for (int i = 0; i < 100; i++)
		glPopMatrix();
	wrong("too few");
	glMatrixMode(GL_MODELVIEW);
	glMatrixMode(0x1234);
	wrong("no such matrix");
	glEnableClientState(0x1234);
	wrong("no such array");
	glEnableClientState(GL_VERTEX_ARRAY);
	glVertexPointer(2, GL_FLOAT, 0, square);
	glVertexPointer(1, GL_FLOAT, 0, any);
	wrong("vertices of one number");
	glVertexPointer(3, GL_UNSIGNED_BYTE, 0, any);
	wrong("vertices of another type");
	glGetPointerv(GL_VERTEX_ARRAY_POINTER, &pointer);
	printf("the array before is still there: %d\n", pointer == square);
	clear(0, 0, 0);
	glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
	picture("and drawn");
	/* Mesa takes the address of this one all the same. */
	glVertexPointer(3, GL_FLOAT, -1, any);
	wrong("vertices that go back");
	glColorPointer(3, GL_FLOAT, 0, any);
	wrong("colours of three numbers");
	glNormalPointer(GL_UNSIGNED_SHORT, 0, any);
	wrong("normals of another type");
	glTexCoordPointer(1, GL_FLOAT, 0, any);
	wrong("coordinates of one number");
	glVertexPointer(2, GL_FLOAT, 0, square);
	glDrawArrays(0x99, 0, 3);
	wrong("no such shape");
	glDrawArrays(GL_POINTS, 0, -1);
	wrong("points below none");
	glDrawElements(GL_POINTS, 1, GL_UNSIGNED_INT + 20, any);
	wrong("no such indices");
	glDisableClientState(GL_VERTEX_ARRAY);
	glLightf(GL_LIGHT0 + 100, GL_SPOT_CUTOFF, 1);
	wrong("no such light");
	glLightf(GL_LIGHT0, GL_SPOT_CUTOFF, 100);
	wrong("too wide a light");
	glMaterialf(GL_FRONT, GL_SHININESS, 1);
	wrong("one face");
	glFogf(GL_FOG_DENSITY, -1);
	wrong("fog below none");
	glGetLightfv(GL_LIGHT0, 0x1234, got);
	wrong("no such value");
	glFrustumf(1, 1, 0, 1, 1, 2);
	wrong("an empty view");
	glPixelStorei(GL_UNPACK_ALIGNMENT, 3);
	wrong("an odd alignment");
	glPixelStorei(0x0CF2, 4);
	wrong("rows of another length");
	glGetPointerv(0x1234, &pointer);
	wrong("no such pointer");
	glTexEnvi(GL_TEXTURE_ENV, GL_TEXTURE_ENV_MODE, 0x1234);
	wrong("no such environment");
	glPointSize(0);
	wrong("no size");
	glHint(0x1234, GL_NICEST);
	wrong("no such hint");
	glBindBuffer(0x88EC, 0);
	wrong("no such buffer");
}

static void queries(void)
{
	GLint alignment = 0;
	GLint formats[64] = { 0 }, count = 0;

	state(GL_SMOOTH_POINT_SIZE_RANGE, "sizes", 2);
	state(GL_ALIASED_LINE_WIDTH_RANGE, "widths", 2);
	state(GL_MAX_TEXTURE_UNITS, "units", 1);
	state(GL_MAX_LIGHTS, "lights", 1);
	state(GL_VIEWPORT, "viewport", 4);
	state(GL_DEPTH_RANGE, "depths", 2);
	state(GL_COLOR_CLEAR_VALUE, "cleared to", 4);
	state(GL_SHADE_MODEL, "shades", 1);
	state(GL_MATRIX_MODE, "mode", 1);
	state(GL_PACK_ALIGNMENT, "alignment", 1);
	glPixelStorei(GL_PACK_ALIGNMENT, 2);
	glGetIntegerv(GL_PACK_ALIGNMENT, &alignment);
	printf("then %d\n", alignment);
	glPixelStorei(GL_PACK_ALIGNMENT, 4);
	glGetIntegerv(GL_NUM_COMPRESSED_TEXTURE_FORMATS, &count);
	glGetIntegerv(GL_COMPRESSED_TEXTURE_FORMATS, formats);
	printf("%d formats, the first %#x, the last %#x\n", count, formats[0],
	       count > 0 && count <= 64 ? formats[count - 1] : 0);
	printf("enabled: %d %d %d\n", glIsEnabled(GL_LIGHTING), glIsEnabled(GL_DITHER),
	       glIsEnabled(GL_MULTISAMPLE));
	check("queries");
}

/* Calls of equal names are those of the context that is current. */
static void beside(EGLConfig config)
{
	typedef GLuint create_shader(GLenum);
	typedef void shader_source(GLuint, GLsizei, const char *const *, const GLint *);
	typedef void with_number(GLuint);
	typedef GLuint create_program(void);
	typedef void attach(GLuint, GLuint);
	typedef void attribute(GLuint, GLint, GLenum, GLboolean, GLsizei, const void *);
	static const EGLint version[] = { EGL_CONTEXT_CLIENT_VERSION, 2, EGL_NONE };
	static const char *const vertex = "attribute vec2 place; void main() { gl_Position = vec4(place * 0.5, 0.0, 1.0); }";
	static const char *const fragment = "precision mediump float; void main() { gl_FragColor = vec4(1.0, 0.5, 0.0, 1.0); }";
	create_shader *shader = (create_shader *)eglGetProcAddress("glCreateShader");
	shader_source *source = (shader_source *)eglGetProcAddress("glShaderSource");
	with_number *compile = (with_number *)eglGetProcAddress("glCompileShader");
	create_program *program = (create_program *)eglGetProcAddress("glCreateProgram");
	attach *add = (attach *)eglGetProcAddress("glAttachShader");
	with_number *link = (with_number *)eglGetProcAddress("glLinkProgram");
	with_number *use = (with_number *)eglGetProcAddress("glUseProgram");
	with_number *enable = (with_number *)eglGetProcAddress("glEnableVertexAttribArray");
	attribute *pointer = (attribute *)eglGetProcAddress("glVertexAttribPointer");
	EGLContext old = eglGetCurrentContext();
	EGLContext other = eglCreateContext(display, config, EGL_NO_CONTEXT, version);
	GLuint made, part;
	GLint value = 0;

	printf("another version: %d\n", eglMakeCurrent(display, surface, surface, other));
	printf("%.12s\n", (const char *)glGetString(GL_VERSION));
	made = program();
	part = shader(0x8B31);
	source(part, 1, &vertex, NULL);
	compile(part);
	add(made, part);
	part = shader(0x8B30);
	source(part, 1, &fragment, NULL);
	compile(part);
	add(made, part);
	link(made);
	use(made);
	enable(0);
	pointer(0, 2, GL_FLOAT, GL_FALSE, 0, square);
	clear(0, 0, 0.5f);
	glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
	picture("by shaders");
	glGetIntegerv(GL_MATRIX_MODE, &value);
	wrong("matrices there");
	eglMakeCurrent(display, surface, surface, old);
	glColor4f(0, 1, 0, 1);
	glPushMatrix();
	glScalef(0.25f, 0.25f, 1);
	draw_square();
	glPopMatrix();
	picture("and without");
	eglDestroyContext(display, other);
}

int main(void)
{
	EGLConfig config = begin();

	matrices();
	lights();
	fog();
	textures();
	palette();
	arrays();
	buffers();
	fragments();
	targets();
	errors();
	queries();
	glFlush();
	glFinish();
	eglSwapBuffers(display, surface);
	beside(config);
	eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
	eglTerminate(display);
	return 0;
}
