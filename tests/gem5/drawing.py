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
        command += ["--json", report, *options]
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
        [drawn] = report["frames"]
        host, ticks, bridge = (
            float(re.findall(rf"^\S*\b{name}\s+(\S+)", statistics, re.MULTILINE)[-1])
            for name in ("hostSeconds", "simTicks", "hostBridgeTime")
        )
        # gem5's ticks are picoseconds, the processor's clock is 1 GHz by default.
        cycles = ticks / 1000 / host / 1e6
        mean, calls = drawn["time"]["mean_ns"] / 1e6, drawn["calls"] / drawn["count"]
        return (
            f"{drawn['count']} frames, {mean:.3f} ms and {calls:.1f} calls each, "
            f"bridge {bridge / host:.1%} of {host:.1f} s, {cycles:.1f} M cycles/s"
        )

    def drawn(self, mode, name):
        """A program's output is what it is natively."""
        program, natively = self.programs(name)
        frames = str(self.tools.args.frames)
        output, report, statistics = self.gil(mode, program, frames)
        self.expect(output == natively, "its frames are others than natively")
        return self.figures(report, statistics)

    def points(self):
        modes = ("se", "fs") if self.tools.args.bootloader else ("se",)
        for mode in modes:
            for name in EXAMPLES:
                text = f"{mode.upper()} atomic: {name}"
                yield text, lambda mode=mode, name=name: self.drawn(mode, name)
