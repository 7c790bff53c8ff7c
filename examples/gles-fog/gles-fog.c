/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Boxes with a wall's texture that come out of the fog, computed for each fragment.
 *
 *     gles-fog [--out FILE] [FRAMES]
 */
#include "../common/scene.h"

enum { BOXES = 9 };

int main(int argc, char **argv)
{
	static const char *const names[] = { "place", "outwards", "texel", NULL };
	static struct corner corners[36];
	struct scene s;
	GLuint program, buffer;
	GLint model;
	float projection[16];

	scene_open(&s, "gles-fog", argc, argv);
	program = scene_program("attribute vec3 place; attribute vec3 outwards; attribute vec2 texel;"
				"uniform mat4 view, model; varying vec2 at; varying float far, light;"
				"void main() { vec4 seen = model * vec4(place, 1.0); at = texel; far = -seen.z;"
				"light = 0.6 + 0.4 * (model * vec4(outwards, 0.0)).y; gl_Position = view * seen; }",
				"precision mediump float; uniform sampler2D image; uniform vec3 fog;"
				"varying vec2 at; varying float far, light;"
				"void main() { vec3 wall = texture2D(image, at).rgb * light;"
				"float clear = clamp(exp2(-0.02 * far * far), 0.0, 1.0);"
				"gl_FragColor = vec4(mix(fog, wall, clear), 1.0); }", names);
	cube(corners);
	glGenBuffers(1, &buffer);
	glBindBuffer(GL_ARRAY_BUFFER, buffer);
	glBufferData(GL_ARRAY_BUFFER, sizeof(corners), corners, GL_STATIC_DRAW);
	for (GLuint i = 0; i < 3; i++)
		glEnableVertexAttribArray(i);
	glVertexAttribPointer(0, 3, GL_FLOAT, GL_FALSE, sizeof(*corners), (void *)0);
	glVertexAttribPointer(1, 3, GL_FLOAT, GL_FALSE, sizeof(*corners), (void *)12);
	glVertexAttribPointer(2, 2, GL_FLOAT, GL_FALSE, sizeof(*corners), (void *)24);
	scene_texture(0);
	perspective(projection, 1, 30);
	glUniformMatrix4fv(glGetUniformLocation(program, "view"), 1, GL_FALSE, projection);
	glUniform3f(glGetUniformLocation(program, "fog"), 0.7f, 0.75f, 0.8f);
	model = glGetUniformLocation(program, "model");
	glEnable(GL_DEPTH_TEST);
	glEnable(GL_CULL_FACE);
	glClearColor(0.7f, 0.75f, 0.8f, 1);
	for (int frame = 0; frame < s.frames; frame++) {
		glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT);
		for (int box = 0; box < BOXES; box++) {
			int way = (box * 512 + frame * 23) % 4096;
			float m[16];

			identity(m);
			translate(m, (float)(box % 3 - 1) * 2.5f, (float)(box / 3 - 1) * 1.5f,
				  -18 + (float)way / 256);
			rotate(m, box % 3, frame * 31 + box * 300);
			rotate(m, (box + 1) % 3, frame * 17);
			scale(m, 0.6f, 0.6f, 0.6f);
			glUniformMatrix4fv(model, 1, GL_FALSE, m);
			glDrawArrays(GL_TRIANGLES, 0, 36);
		}
		scene_frame(&s, frame);
	}
	return scene_close(&s);
}
