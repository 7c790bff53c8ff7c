/* Calls a function of its own, and some of the kernel's, as told by its lines.
 *
 * For --watch: what the simulator sees must be what is printed here. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

__attribute__((noinline)) int watched_function(int count, const char *text, unsigned long more,
					       int last)
{
	printf("called %d %p %lx %d\n", count, (const void *)text, more, last);
	return count;
}

int main(void)
{
	int i;

	for (i = 0; i < 3; i++)
		watched_function(i - 1, "text", 0xabcdul + i, 4);
	close(open("/root/watched-by-gil", O_RDONLY));
	return 0;
}
