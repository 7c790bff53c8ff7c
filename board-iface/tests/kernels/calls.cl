// Makes system calls from the process that serves the session: with a CPU as
// device a kernel is code there. Each takes eight numbers: the call's, six
// arguments, and a mask of those that are places in `memory`.

long call(long number, long a, long b, long c, long d, long e, long f) {
    long result;
    __asm__ volatile("mov %5, %%r10\n\tmov %6, %%r8\n\tmov %7, %%r9\n\tsyscall"
                     : "=a"(result)
                     : "0"(number), "D"(a), "S"(b), "d"(c), "m"(d), "m"(e), "m"(f)
                     : "rcx", "r8", "r9", "r10", "r11", "memory");
    return result;
}

kernel void calls(global const long *all, int count, global char *memory, global long *results) {
    for (int i = 0; i < count; i++) {
        long a[6];
        for (int j = 0; j < 6; j++) {
            a[j] = all[i * 8 + 1 + j];
            // The result of an earlier call, such as a file or a process.
            if (all[i * 8 + 7] >> (8 + j) & 1)
                a[j] = results[a[j]];
            if (all[i * 8 + 7] >> j & 1)
                a[j] += (long)memory;
        }
        results[i] = call(all[i * 8], a[0], a[1], a[2], a[3], a[4], a[5]);
    }
}

// A process of its own that only waits; its number is the result.
kernel void leave_a_process(global long *memory, global long *results) {
    long child = call(56, 17, 0, 0, 0, 0, 0);
    while (child == 0) {
        memory[0] = 1000;
        memory[1] = 0;
        call(35, (long)memory, 0, 0, 0, 0, 0);
    }
    results[0] = child;
}

// getpid() as a 32-bit program calls it.
kernel void foreign(global long *results) {
    long result;
    __asm__ volatile("int $0x80" : "=a"(result) : "0"(20l) : "memory");
    results[0] = result;
}
