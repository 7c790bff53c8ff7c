/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A ring of 24 by 12 sides with a depth buffer and a light, turned in every frame. Its
 * vertices and indices are in buffers.
 *
 *     gles-shape [--out FILE] [FRAMES]
 */
#include "../common/scene.h"

enum { AROUND = 24, THICK = 12 };

int main(int argc, char **argv)
{
	static const char *const names[] = { "place", "outwards", NULL };
	static float vertices[AROUND * THICK][6];
	static GLushort indices[AROUND * THICK * 6];
	struct scene s;
	GLuint program, buffers[2];
	GLint view, model;
	float projection[16];

	scene_open(&s, "gles-shape", argc, argv);
	program = scene_program("attribute vec3 place; attribute vec3 outwards; uniform mat4 view, model;"
				"varying vec3 facing;"
				"void main() { facing = (model * vec4(outwards, 0.0)).xyz;"
				"gl_Position = view * model * vec4(place, 1.0); }",
				"precision mediump float; varying vec3 facing;"
				"void main() { float light = max(dot(normalize(facing), vec3(0.48, 0.6, 0.64)), 0.0);"
				"gl_FragColor = vec4(vec3(0.2, 0.3, 0.1) + light * vec3(0.7, 0.5, 0.3), 1.0); }",
				names);
	for (int i = 0; i < AROUND; i++) {
		for (int j = 0; j < THICK; j++) {
			float *v = vertices[i * THICK + j], c, n, d, e;
			GLushort *square = &indices[(i * THICK + j) * 6];
			int next = (i + 1) % AROUND, above = (j + 1) % THICK;

			turn(4096 * i / AROUND, &c, &n);
			turn(4096 * j / THICK, &d, &e);
			v[0] = c * (1.1f + 0.45f * d);
			v[1] = n * (1.1f + 0.45f * d);
			v[2] = 0.45f * e;
			v[3] = c * d;
			v[4] = n * d;
			v[5] = e;
			square[0] = (GLushort)(i * THICK + j);
			square[1] = square[4] = (GLushort)(next * THICK + j);
			square[2] = square[3] = (GLushort)(i * THICK + above);
			square[5] = (GLushort)(next * THICK + above);
		}
	}
	glGenBuffers(2, buffers);
	glBindBuffer(GL_ARRAY_BUFFER, buffers[0]);
	glBufferData(GL_ARRAY_BUFFER, sizeof(vertices), vertices, GL_STATIC_DRAW);
	glBindBuffer(GL_ELEMENT_ARRAY_BUFFER, buffers[1]);
	glBufferData(GL_ELEMENT_ARRAY_BUFFER, sizeof(indices), indices, GL_STATIC_DRAW);
	for (GLuint i = 0; i < 2; i++) {
		glEnableVertexAttribArray(i);
		glVertexAttribPointer(i, 3, GL_FLOAT, GL_FALSE, sizeof(vertices[0]), (void *)(uintptr_t)(i * 12));
	}
	view = glGetUniformLocation(program, "view");
	model = glGetUniformLocation(program, "model");
	perspective(projection, 1, 10);
	glUniformMatrix4fv(view, 1, GL_FALSE, projection);
	glEnable(GL_DEPTH_TEST);
	glClearColor(0.1f, 0.1f, 0.1f, 1);
	for (int frame = 0; frame < s.frames; frame++) {
		float m[16];

		identity(m);
		translate(m, 0, 0, -3.5f);
		rotate(m, 0, frame * 41);
		rotate(m, 1, frame * 67);
		glUniformMatrix4fv(model, 1, GL_FALSE, m);
		glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT);
		glDrawElements(GL_TRIANGLES, AROUND * THICK * 6, GL_UNSIGNED_SHORT, NULL);
		scene_frame(&s, frame);
	}
	return scene_close(&s);
}
