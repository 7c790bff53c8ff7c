/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A program that draws, rests until the kernel has suspended the GPU, and draws on. */
#include "gles_scene.h"
#include "gpu_power.h"

enum { ROUNDS = 4 };

int main(void)
{
	struct scene scene = scene_begin(NULL);
	int suspended = 0;

	for (int i = 0; i < ROUNDS; i++) {
		scene_draw(&scene, i);
		suspended += gpu_is("active") && gpu_becomes("suspended");
	}
	scene_draw(&scene, ROUNDS);
	printf("%d frames, %d times suspended, error %#x\n", ROUNDS + 1, suspended, glGetError());
	return suspended != ROUNDS || glGetError();
}
