# SPDX-License-Identifier: MIT OR Apache-2.0
"""
The points of tests/gem5/run about OpenGL ES: the examples that draw. Each prints a
sum of every frame's bytes, and must print what the same source does on this machine.
"""

import json
import os
import re
import subprocess

EXAMPLES = {
    "gles-quads": ("-lEGL", "-lGLESv2"),
    "gles-shape": ("-lEGL", "-lGLESv2"),
    "gles-fog": ("-lEGL", "-lGLESv2"),
    "gles-rubik": ("-lEGL", "-lGLESv2"),
    "gles1-fog": ("-lEGL", "-lGLESv1_CM"),
}
PACKAGES = ("libegl1", "libgles1", "libgles2")


class Drawing:
    """The points, of one `run`."""

    def __init__(self, tools, board, expect):
        self.tools = tools
        self.board = board
        self.expect = expect

    def programs(self, name):
        """The example for the guest, and what the one for this machine prints."""
        source, libraries = f"examples/{name}/{name}.c", EXAMPLES[name]
        if not os.path.exists(self.tools.program(name)):
            self.tools.compile(name, source, *libraries)
        native = self.tools.program(f"{name}-native")
        command = ["cc", "-O2", "-o", native, source, *libraries]
        subprocess.run(command, cwd=self.tools.root, check=True)
        command = [native, str(self.tools.args.frames)]
        drawn = subprocess.run(command, check=True, capture_output=True, text=True)
        return self.tools.program(name), drawn.stdout

    def gil(self, mode, *options):
        """`gil run` with gem5: what it printed, its report and gem5's statistics."""
        folder = self.tools.new_folder()
        report = f"{folder}.json"
        command = [self.tools.gil, "run", "-q", "--sim", "gem5", "--mode", mode]
        command += ["--gem5", self.tools.args.gem5, "--outdir", folder]
        command += ["--json", report]
        if mode == "fs":
            command += ["--bootloader", self.tools.args.bootloader]
        command += options
        run = subprocess.run(
            command, capture_output=True, text=True, timeout=self.tools.args.timeout
        )
        last = " ".join(run.stderr.splitlines()[-3:])
        self.expect(run.returncode == 0, f"exit code {run.returncode}: {last}")
        with open(report) as file:
            report = json.load(file)
        with open(os.path.join(folder, "stats.txt")) as file:
            return run.stdout, report, file.read()

    def figures(self, report, statistics):
        """A row of docs/GLES.md: frames, and how fast gem5 was."""
        host, bridge = (
            float(re.findall(rf"^\S*\b{name}\s+(\S+)", statistics, re.MULTILINE)[-1])
            for name in ("hostSeconds", "hostBridgeTime")
        )
        # Of the processor that ran longest, idle ones included.
        each = re.findall(r"^\S*\.numCycles\s+(\S+)", statistics, re.MULTILINE)
        cycles = max(float(number) for number in each) / host / 1e6
        frames = (
            f"{drawn['count']} frames, {drawn['time']['mean_ns'] / 1e6:.3f} ms "
            f"and {drawn['calls'] / drawn['count']:.1f} calls each"
            for drawn in report["frames"]
        )
        return (
            f"{'; '.join(frames)}; "
            f"bridge {bridge / host:.2%} of {host:.1f} s, {cycles:.1f} M cycles/s"
        )

    def emulated(self, name):
        """A program's output is what it is natively."""
        program, natively = self.programs(name)
        frames = str(self.tools.args.frames)
        output, report, statistics = self.gil("se", program, frames)
        self.expect(output == natively, "its frames are others than natively")
        return self.figures(report, statistics)

    def booted(self):
        """All of them, one after the other, in one full system."""
        options, natively = [], ""
        for name in EXAMPLES:
            program, drawn = self.programs(name)
            natively += drawn
            options += ["--file", f"{program}:/root/"]
        for package in PACKAGES:
            options += ["--pkg", package]
        each = " && ".join(f"/root/{name} {self.tools.args.frames}" for name in EXAMPLES)
        output, report, statistics = self.gil("fs", *options, "--", "sh", "-c", each)
        self.expect(output == natively, "their frames are others than natively")
        return self.figures(report, statistics)

    def points(self):
        for name in EXAMPLES:
            yield f"SE atomic: {name}", lambda name=name: self.emulated(name)
        if self.tools.args.bootloader:
            yield "FS atomic: all gles examples", self.booted
