/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Boxes with a wall's texture that come out of the fog, in OpenGL ES 1.1: its fog, a
 * light, and arrays in memory and in a buffer in turn.
 *
 *     gles1-fog [--out FILE] [FRAMES]
 */
#define SCENE_GLES1
#include "../common/scene.h"

enum { BOXES = 9 };

/* The arrays of a cube from there on: an address, or an offset into a buffer. */
static void arrays(const char *corners)
{
	glVertexPointer(3, GL_FLOAT, sizeof(struct corner), corners);
	glNormalPointer(GL_FLOAT, sizeof(struct corner), corners + 12);
	glTexCoordPointer(2, GL_FLOAT, sizeof(struct corner), corners + 24);
}

int main(int argc, char **argv)
{
	static const GLfloat fog[4] = { 0.7f, 0.75f, 0.8f, 1 }, light[4] = { 0.25f, 1, 0.5f, 0 };
	static const GLfloat dim[4] = { 0.5f, 0.5f, 0.5f, 1 };
	static struct corner corners[36];
	struct scene s;
	GLuint buffer;
	float projection[16];

	scene_open(&s, "gles1-fog", argc, argv);
	cube(corners);
	glGenBuffers(1, &buffer);
	glBindBuffer(GL_ARRAY_BUFFER, buffer);
	glBufferData(GL_ARRAY_BUFFER, sizeof(corners), corners, GL_STATIC_DRAW);
	glEnableClientState(GL_VERTEX_ARRAY);
	glEnableClientState(GL_NORMAL_ARRAY);
	glEnableClientState(GL_TEXTURE_COORD_ARRAY);
	scene_texture(0);
	glEnable(GL_TEXTURE_2D);
	glTexEnvi(GL_TEXTURE_ENV, GL_TEXTURE_ENV_MODE, GL_MODULATE);
	glMatrixMode(GL_PROJECTION);
	perspective(projection, 1, 30);
	glLoadMatrixf(projection);
	glMatrixMode(GL_MODELVIEW);
	glLightfv(GL_LIGHT0, GL_POSITION, light);
	glLightModelfv(GL_LIGHT_MODEL_AMBIENT, dim);
	glEnable(GL_LIGHTING);
	glEnable(GL_LIGHT0);
	glEnable(GL_NORMALIZE);
	glEnable(GL_FOG);
	glFogx(GL_FOG_MODE, GL_EXP2);
	glFogf(GL_FOG_DENSITY, 0.12f);
	glFogfv(GL_FOG_COLOR, fog);
	glEnable(GL_DEPTH_TEST);
	glEnable(GL_CULL_FACE);
	glClearColor(fog[0], fog[1], fog[2], 1);
	for (int frame = 0; frame < s.frames; frame++) {
		glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT);
		glBindBuffer(GL_ARRAY_BUFFER, buffer);
		arrays(NULL);
		for (int box = 0; box < BOXES; box++) {
			int way = (box * 512 + frame * 23) % 4096;
			float m[16];

			if (box == BOXES - 1) {
				glBindBuffer(GL_ARRAY_BUFFER, 0);
				arrays((const char *)corners);
			}
			identity(m);
			translate(m, (float)(box % 3 - 1) * 2.5f, (float)(box / 3 - 1) * 1.5f,
				  -18 + (float)way / 256);
			rotate(m, box % 3, frame * 31 + box * 300);
			rotate(m, (box + 1) % 3, frame * 17);
			scale(m, 0.6f, 0.6f, 0.6f);
			glLoadMatrixf(m);
			glDrawArrays(GL_TRIANGLES, 0, 36);
		}
		scene_frame(&s, frame);
	}
	return scene_close(&s);
}
