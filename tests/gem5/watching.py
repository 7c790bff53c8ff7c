# SPDX-License-Identifier: MIT OR Apache-2.0
"""
The points of tests/gem5/run about detection by symbol: functions of the kernel,
of a module, of a static program, of a shared library.
"""

import os
import re

# What begins every line about a call.
CALL = r"gil: watch: (\d+)\.(\d{9}) s, pid (\d+): "
CALLED = "watched:watched_function"
# Of tests/gem5/arguments.c, in its debug information's words.
ARGUMENTS = (
    r'text=0x\w+ "te\\"xt", wide=0x1122334455667788, a=-3, b=0xc8, c=-400, '
    r"d=-5, e=0x\w+, f=9"
)
# On these, arguments on the stack may be shown as they were before.
UNCERTAIN = r'text=0x\w+ "te\\"xt", wide=0x1122334455667788, .*'
BUFFERING = ("minor", "o3")
LIBRARY = "libOpenCL.so.1:clGetPlatformIDs"


class Watching:
    """The points, of one `run`."""

    def __init__(self, tools, board, expect):
        self.tools = tools
        self.board = board
        self.expect = expect

    def calls(self, run, function):
        """The arguments of each call, by rising time."""
        found = re.findall(
            rf"^{CALL}{re.escape(function)}\((.*)\)\r?$",
            run.errors + run.output,
            re.MULTILINE,
        )
        times = [int(seconds) * 10**9 + int(ns) for seconds, ns, *_ in found]
        self.expect(times == sorted(times), f"times do not rise: {times}")
        return [call[-1] for call in found]

    def program(self, cpu, program, letter):
        """Each call once, with the arguments that the program prints."""
        run = self.tools.se(
            "--cpu",
            cpu,
            "--watch",
            CALLED,
            "--watch",
            f"{program}:main",
            "--watch-limit",
            "2",
            self.tools.program(program),
        )
        run.ended_with(0)
        expected = []
        for i, words in enumerate(re.findall(r"called (.*)", run.output)):
            _, text, more, last = words.split()
            # x0, or r0, as a register has it.
            first = (i - 1) & 0xFFFFFFFF
            values = [f"{first:#x}", text, f"0x{more}", hex(int(last))]
            pairs = [f"{letter}{n}={value}" for n, value in enumerate(values)]
            expected.append(", ".join(pairs))
        self.expect(len(expected) == 3, f"the program printed {run.output!r}")
        calls = self.calls(run, CALLED)
        self.expect(calls == expected[:2], f"{calls}, not {expected[:2]}")
        run.says(f"{CALLED} was called 3 times, the last 1 are not shown")
        count = run.stat(f"calls::{CALLED}")
        self.expect(count == 3, f"stats.txt says {count} calls")
        return "3 calls, arguments as printed"

    def arguments(self, cpu):
        """By the conventions of both widths, and the programs' own types."""
        for width in ("64", "32"):
            name = f"arguments{width}"
            options = ("--watch", f"{name}:many_arguments", self.tools.program(name))
            run = self.tools.se("--cpu", cpu, *options)
            run.ended_with(0)
            shown = UNCERTAIN if cpu in BUFFERING else ARGUMENTS
            calls = self.calls(run, f"{name}:many_arguments")
            held = [
                re.fullmatch(f"count={i - 1}, {shown}", call)
                for i, call in enumerate(calls)
            ]
            self.expect(len(calls) == 3 and all(held), f"{width} bits: {calls}")
        return "of 64 and 32 bits, by type"

    def library(self, cpu):
        with self.board(self.tools) as board:
            run = self.tools.se(
                "--cpu",
                cpu,
                "--board",
                board.address,
                "--watch",
                LIBRARY,
                "clinfo",
                "--list",
            )
        run.ended_with(0)
        return self.library_calls(run)

    def library_calls(self, run):
        calls = self.calls(run, LIBRARY)
        # First for their number: no entries, no array.
        is_first = calls and calls[0].startswith("x0=0x0, x1=0x0, x2=0x")
        self.expect(is_first, f"{calls}: {run.last_words()}")
        return f"{len(calls)} calls"

    def unknown(self):
        for symbol, sentence in (
            ("watched:watched_funktion", "did you mean watched_function?"),
            ("nothing:main", "has no program, library or kernel module"),
            ("do_exit", "system-call emulation has no kernel"),
        ):
            run = self.tools.se("--watch", symbol, self.tools.program("watched"))
            self.expect(run.code not in (0, None), f"{symbol} was accepted")
            run.says("fatal: ")
            run.says(sentence)
        return "each a sentence"

    def full_system(self):
        """All forms in one boot."""
        with self.board(self.tools) as board:
            run = self.tools.fs(
                "watched",
                "--cpus",
                "1",
                "--board",
                board.address,
                "--watch",
                "do_sys_openat2",
                "--watch",
                "gil:gil_doorbell",
                "--watch",
                CALLED,
            )
        run.ended_with(0)
        opened = self.calls(run, "do_sys_openat2")
        is_open = [call.startswith("dfd=-100, filename=0x") for call in opened]
        self.expect(opened and all(is_open), f"kernel: {opened[:3]}")
        named = any('"/root/watched-by-gil"' in call for call in opened)
        self.expect(named, "no call opens what the program opens")
        # With a device nobody calls it, which proves that it was looked for.
        run.says("gil:gil_doorbell was not called")
        calls = self.calls(run, CALLED)
        self.expect(len(calls) == 3, f"program: {calls}")
        firsts = [call.split(",")[0] for call in calls]
        self.expect(
            firsts == ["x0=0xffffffff", "x0=0x0", "x0=0x1"], f"program: {calls}"
        )
        return f"kernel {len(opened)} calls, program 3"

    def doorbell(self):
        """No device: the driver's own function, and a library on the way."""
        with self.board(self.tools) as board:
            run = self.tools.fs(
                "clinfo",
                "--cpus",
                "1",
                "--board",
                board.address,
                "--detect",
                "symbol",
                "--watch",
                "gil:gil_doorbell",
                "--watch",
                LIBRARY,
            )
        run.ended_with(0)
        run.says("Number of platforms")
        rings = self.calls(run, "gil:gil_doorbell")
        count = run.stat("doorbells")
        self.expect(
            rings and count >= len(rings), f"{len(rings)} calls, {count} doorbells"
        )
        return f"{count:.0f} doorbells; {self.library_calls(run)} of the library"

    def restored(self):
        """The module is loaded already when the watch begins."""
        loaded = os.path.join(self.tools.folder, "loaded")
        options = ("--cpus", "1", "--detect", "symbol")
        with self.board(self.tools) as board:
            options = (*options, "--board", board.address)
            self.tools.fs("watched", "--checkpoint", loaded, *options).ended_with(0)
            run = self.tools.fs(
                "watched",
                "--restore",
                loaded,
                "--watch",
                "gil:gil_doorbell",
                "--watch",
                CALLED,
                *options,
            )
        run.ended_with(0)
        rings = self.calls(run, "gil:gil_doorbell")
        self.expect(rings, "no doorbell was seen")
        calls = self.calls(run, CALLED)
        self.expect(len(calls) == 3, f"program: {calls}")
        return f"{len(rings)} doorbells, program 3"

    def points(self):
        """Each point: its name and what does it."""
        for cpu in self.tools.args.cpus:
            yield f"SE {cpu}: watch a program", lambda c=cpu: self.program(
                c, "watched", "x"
            )
            yield f"SE {cpu}: watched arguments", lambda c=cpu: self.arguments(c)
            yield f"SE {cpu}: watch a library", lambda c=cpu: self.library(c)
        yield "SE: symbols that are not there", self.unknown
        if self.tools.args.bootloader:
            yield "FS: watch kernel and program", self.full_system
            yield "FS: doorbell by symbol, library", self.doorbell
            yield "FS: watch from a checkpoint", self.restored
