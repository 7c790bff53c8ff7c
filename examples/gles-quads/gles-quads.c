/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Textured quads that move and blend over each other. Their corners are in the
 * program's memory and change in every frame.
 *
 *     gles-quads [--out FILE] [FRAMES]
 */
#include "../common/scene.h"

enum { QUADS = 48 };

/* Forth and back between 0 and `most`. */
static int swing(int value, int most)
{
	value %= 2 * most;
	return value < most ? value : 2 * most - value;
}

int main(int argc, char **argv)
{
	static const char *const names[] = { "corner", "place", "colour", NULL };
	static float corners[QUADS][6][8];
	struct scene s;

	scene_open(&s, "gles-quads", argc, argv);
	scene_program("attribute vec2 corner; attribute vec2 place; attribute vec4 colour;"
		      "varying vec2 at; varying vec4 tint;"
		      "void main() { at = place; tint = colour; gl_Position = vec4(corner, 0.0, 1.0); }",
		      "precision mediump float; varying vec2 at; varying vec4 tint;"
		      "uniform sampler2D image;"
		      "void main() { gl_FragColor = texture2D(image, at) * tint; }", names);
	scene_texture(1);
	glEnable(GL_BLEND);
	glBlendFunc(GL_SRC_ALPHA, GL_ONE_MINUS_SRC_ALPHA);
	glClearColor(0.05f, 0.05f, 0.15f, 1);
	for (GLuint i = 0; i < 3; i++)
		glEnableVertexAttribArray(i);
	glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, sizeof(corners[0][0]), &corners[0][0][0]);
	glVertexAttribPointer(1, 2, GL_FLOAT, GL_FALSE, sizeof(corners[0][0]), &corners[0][0][2]);
	glVertexAttribPointer(2, 4, GL_FLOAT, GL_FALSE, sizeof(corners[0][0]), &corners[0][0][4]);
	for (int frame = 0; frame < s.frames; frame++) {
		for (int q = 0; q < QUADS; q++) {
			float x = (float)swing(q * 131 + frame * (3 + q % 5), 1024) / 512 - 1;
			float y = (float)swing(q * 277 + frame * (2 + q % 7), 1024) / 512 - 1;
			float half = 0.08f + (float)(q % 6) * 0.03f;

			for (int i = 0; i < 6; i++) {
				static const int order[6] = { 0, 1, 2, 2, 1, 3 };
				int right = order[i] % 2, top = order[i] / 2;
				float corner[8] = { x + (right ? half : -half), y + (top ? half : -half),
						    (float)right, (float)top, (float)(q % 3) / 2,
						    (float)(q % 4) / 3, (float)(q % 5) / 4, 0.75f };

				memcpy(corners[q][i], corner, sizeof(corner));
			}
		}
		glClear(GL_COLOR_BUFFER_BIT);
		glDrawArrays(GL_TRIANGLES, 0, QUADS * 6);
		scene_frame(&s, frame);
	}
	return scene_close(&s);
}
