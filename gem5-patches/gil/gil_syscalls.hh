// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef __GIL_SYSCALLS_HH__
#define __GIL_SYSCALLS_HH__

#include "sim/syscall_desc.hh"

namespace gem5
{

namespace gil
{

/**
 * What GilEmuLinux does itself for a system call of a 64-bit program: by
 * Linux's number for AArch64; NULL if gem5's own is used.
 */
SyscallDesc *ownSyscall(int number);

/** Makes the pages that a 64-bit program's system call names. */
void bringInArguments(ThreadContext *tc, int number);

/** Whether gem5 would end the simulation: it knows the call by name at most. */
bool isAbsent(int number);

} // namespace gil
} // namespace gem5

#endif // __GIL_SYSCALLS_HH__
