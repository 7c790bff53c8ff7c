/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Ends as it is told: `exits code N`, `exits signal N`, or `exits echo ARG...`
 * (arguments on standard output, a line on standard error). */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "code"))
		return atoi(argv[2]);
	if (argc == 3 && !strcmp(argv[1], "signal")) {
		raise(atoi(argv[2]));
		return 99;
	}
	for (int i = 2; i < argc; i++)
		printf("%s%c", argv[i], i + 1 < argc ? ' ' : '\n');
	fprintf(stderr, "done\n");
	return 0;
}
