/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A Rubik's cube. Between frames the processor chooses the next face to turn: it looks
 * at every sequence of three turns and takes the first of the best one. A face turns by
 * a quarter in ten frames.
 *
 *     gles-rubik [--out FILE] [FRAMES]
 */
#include "../common/scene.h"

enum { STEPS = 10, TURNS = 18, SCRAMBLE = 9 };

/* The colours of 54 stickers, face by face; a face is named by axis and side. */
struct state {
	unsigned char sticker[6][3][3];
};

/* Where a sticker is: a place from -1 to 1 on each axis, and the face's direction. */
struct sticker {
	int at[3], face;
};

static struct sticker places[54];
/* Where each sticker goes with a turn: axis, layer (-1 or 1), quarters (1 to 3). */
static unsigned char goes[TURNS][54];

static void find_places(void)
{
	for (int i = 0; i < 54; i++) {
		int face = i / 9, axis = face / 2;

		places[i].face = face;
		places[i].at[axis] = face % 2 ? -1 : 1;
		places[i].at[(axis + 1) % 3] = i % 3 - 1;
		places[i].at[(axis + 2) % 3] = i / 3 % 3 - 1;
	}
}

/* A quarter about an axis: the next axis becomes the one after it. */
static struct sticker quarter(struct sticker s, int axis)
{
	int a = (axis + 1) % 3, b = (axis + 2) % 3, from = s.face / 2, side = s.face % 2;
	struct sticker turned = s;

	turned.at[b] = s.at[a];
	turned.at[a] = -s.at[b];
	if (from == a)
		turned.face = b * 2 + side;
	else if (from == b)
		turned.face = a * 2 + !side;
	return turned;
}

static int number_of(const struct sticker *s)
{
	for (int i = 0; i < 54; i++)
		if (!memcmp(&places[i], s, sizeof(*s)))
			return i;
	return -1;
}

static void find_turns(void)
{
	for (int t = 0; t < TURNS; t++) {
		int axis = t / 6, layer = t / 3 % 2 ? -1 : 1;

		for (int i = 0; i < 54; i++) {
			struct sticker s = places[i];

			for (int n = 0; n <= t % 3 && places[i].at[axis] == layer; n++)
				s = quarter(s, axis);
			goes[t][i] = (unsigned char)number_of(&s);
		}
	}
}

static void turn_face(struct state *cube, int t)
{
	struct state before = *cube;

	for (int i = 0; i < 54; i++)
		(&cube->sticker[0][0][0])[goes[t][i]] = (&before.sticker[0][0][0])[i];
}

/* Stickers that have the colour of their face's middle. */
static int score(const struct state *cube)
{
	int right = 0;

	for (int i = 0; i < 54; i++)
		right += (&cube->sticker[0][0][0])[i] == cube->sticker[i / 9][1][1];
	return right;
}

/* The first turn of the best sequence, and that sequence's score. */
static int best(const struct state *cube, int depth, int *reached)
{
	int first = 0;

	*reached = -1;
	for (int t = 0; t < TURNS; t++) {
		struct state next = *cube;
		int found;

		turn_face(&next, t);
		found = score(&next) * 4 + depth;
		if (depth > 0 && found < 54 * 4) {
			int later;

			best(&next, depth - 1, &later);
			found = later > found ? later : found;
		}
		if (found > *reached) {
			*reached = found;
			first = t;
		}
	}
	return first;
}

static const float colours[7][3] = { { 0.9f, 0.1f, 0.1f }, { 1, 0.5f, 0 }, { 1, 1, 1 },
	{ 1, 0.9f, 0.1f }, { 0.1f, 0.7f, 0.2f }, { 0.1f, 0.2f, 0.8f }, { 0.08f, 0.08f, 0.08f } };

/* Draws the 26 cubes; those of the face that turns are turned by so many steps. */
static void draw(const struct state *cube, const float view[16], GLint model, GLint colour, int turning,
		 int step)
{
	int axis = turning / 6, layer = turning / 3 % 2 ? -1 : 1, quarters = turning % 3 + 1;

	for (int n = 0; n < 27; n++) {
		int at[3] = { n % 3 - 1, n / 3 % 3 - 1, n / 9 - 1 };
		float m[16], tints[6][3];

		if (n == 13)
			continue;
		for (int face = 0; face < 6; face++) {
			struct sticker s = { { at[0], at[1], at[2] }, face };
			int sticker = at[face / 2] == (face % 2 ? -1 : 1) ? number_of(&s) : -1;
			int tint = sticker < 0 ? 6 : (&cube->sticker[0][0][0])[sticker];

			memcpy(tints[face], colours[tint], sizeof(tints[face]));
		}
		memcpy(m, view, sizeof(m));
		if (at[axis] == layer)
			rotate(m, axis, 1024 * quarters * step / STEPS);
		translate(m, (float)at[0], (float)at[1], (float)at[2]);
		scale(m, 0.47f, 0.47f, 0.47f);
		glUniformMatrix4fv(model, 1, GL_FALSE, m);
		glUniform3fv(colour, 6, &tints[0][0]);
		glDrawArrays(GL_TRIANGLES, 0, 36);
	}
}

int main(int argc, char **argv)
{
	static const char *const names[] = { "place", "outwards", "face", NULL };
	static struct corner corners[36];
	static float faces[36];
	struct state cubes;
	struct scene s;
	GLuint program, buffers[2];
	GLint model, colour;
	float projection[16];
	int turning = 0;

	scene_open(&s, "gles-rubik", argc, argv);
	program = scene_program("attribute vec3 place; attribute vec3 outwards; attribute float face;"
				"uniform mat4 view, model; uniform vec3 colours[6]; varying vec3 tint;"
				"void main() { float light = 0.55 + 0.45 * (model * vec4(outwards, 0.0)).z * 2.0;"
				"tint = colours[int(face)] * clamp(light, 0.35, 1.0);"
				"gl_Position = view * model * vec4(place, 1.0); }",
				"precision mediump float; varying vec3 tint;"
				"void main() { gl_FragColor = vec4(tint, 1.0); }", names);
	cube(corners);
	for (int i = 0; i < 36; i++)
		faces[i] = (float)(i / 6);
	glGenBuffers(2, buffers);
	glBindBuffer(GL_ARRAY_BUFFER, buffers[0]);
	glBufferData(GL_ARRAY_BUFFER, sizeof(corners), corners, GL_STATIC_DRAW);
	glVertexAttribPointer(0, 3, GL_FLOAT, GL_FALSE, sizeof(*corners), (void *)0);
	glVertexAttribPointer(1, 3, GL_FLOAT, GL_FALSE, sizeof(*corners), (void *)12);
	glBindBuffer(GL_ARRAY_BUFFER, buffers[1]);
	glBufferData(GL_ARRAY_BUFFER, sizeof(faces), faces, GL_STATIC_DRAW);
	glVertexAttribPointer(2, 1, GL_FLOAT, GL_FALSE, 0, (void *)0);
	for (GLuint i = 0; i < 3; i++)
		glEnableVertexAttribArray(i);
	perspective(projection, 1, 20);
	glUniformMatrix4fv(glGetUniformLocation(program, "view"), 1, GL_FALSE, projection);
	model = glGetUniformLocation(program, "model");
	colour = glGetUniformLocation(program, "colours");
	glEnable(GL_DEPTH_TEST);
	glEnable(GL_CULL_FACE);
	glClearColor(0.2f, 0.25f, 0.3f, 1);
	find_places();
	find_turns();
	for (int i = 0; i < 54; i++)
		(&cubes.sticker[0][0][0])[i] = (unsigned char)(i / 9);
	for (unsigned i = 0, number = 7; i < SCRAMBLE; i++, number = number * 1103515245 + 12345)
		turn_face(&cubes, (int)(number >> 16) % TURNS);
	for (int frame = 0; frame < s.frames; frame++) {
		int step = frame % STEPS, reached;
		float view[16];

		if (step == 0)
			turning = best(&cubes, 2, &reached);
		identity(view);
		translate(view, 0, 0, -5.5f);
		rotate(view, 0, 360);
		rotate(view, 1, frame * 13);
		glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT);
		draw(&cubes, view, model, colour, turning, step);
		scene_frame(&s, frame);
		if (step == STEPS - 1)
			turn_face(&cubes, turning);
	}
	return scene_close(&s);
}
