# SPDX-License-Identifier: MIT OR Apache-2.0
"""
The points of tests/gem5/run about drivers of GPUs in the guest (docs/DRIVERS.md), on a
board whose nodes stand in for those of a Mali-400 and a Mali-T628: Debian's Mesa
submits its jobs to the end, and jobs end when the script says.
"""

import os
import subprocess

from standing_in import TIMES, StandIn, as_scripted

FRAMES = 3
JOB_US = 3000
JOB_TIMES = f"slot0={JOB_US}000;slot1={JOB_US}000"
REFUSED = "kernel driver, whose memory and jobs cannot be kept"


class Mirroring:
    """The points, of one `run`."""

    def __init__(self, tools, expect):
        self.tools = tools
        self.expect = expect

    def image(self, name, driver, *program):
        """A guest with the driver, for `Tools.fs`."""
        folder = os.path.join(self.tools.folder, f"guest-{name}")
        command = [self.tools.gil, "image", "--quiet", "--driver", driver]
        subprocess.run([*command, folder, *program], check=True)

    def static(self, name, source):
        self.tools.compile_static(name, source, "-O2", "-Isynthetic-driver/uapi")
        return self.tools.program(name)

    def run(self, name, times, *options):
        with StandIn(self.tools, times) as board:
            return self.tools.fs(name, "--cpus", "1", "--board", board.address, *options)

    def drawn(self, driver):
        """Frames by Debian's Mesa; every job lasts as the script says."""
        program, source = "gles-quads", "examples/gles-quads/gles-quads.c"
        self.tools.compile(program, source, "-lEGL", "-lGLESv2")
        path = self.tools.program(program)
        self.image(f"draws-{driver}", driver, path, str(FRAMES))
        run = self.run(f"draws-{driver}", TIMES[driver])
        run.ended_with(0)
        run.says("gles-quads: PASS")
        return as_scripted(run, self.expect)

    def slowed(self):
        """By the contention factor, a job ends later beside another, and only there."""
        program = self.static("panfrost_jobs", "tests/guest/panfrost_jobs.c")
        for factor in (1, 2):
            name = f"slowed-{factor}"
            words = ("beside", str(JOB_US), str(factor * JOB_US))
            self.image(name, "panfrost", program, *words)
            run = self.run(name, JOB_TIMES, "--contention", str(factor))
            run.ended_with(0)
            run.says("ok a job beside another is slowed")
        return "with factors 1 and 2"

    def checkpoints(self):
        """Before the node is used, a checkpoint is as any other; then it is refused."""
        program = self.static("driver_point", "tests/gem5/driver_point.c")
        self.image("point-before", "lima", program, "before")
        self.image("point-after", "lima", program)
        saved = os.path.join(self.tools.folder, "before-driver")
        at = ("--at", "program", "--checkpoint")
        self.run("point-before", "", *at, saved).ended_with(0)
        run = self.run("point-before", "", "--restore", saved)
        run.ended_with(0)
        run.says("driver_point: went on")
        refused = self.run("point-after", "", *at, os.path.join(self.tools.folder, "no"))
        self.expect(REFUSED in refused.errors, f"not refused: {refused.last_words()}")
        return "taken before, refused after"

    def points(self):
        if not self.tools.args.bootloader:
            return
        for driver in TIMES:
            yield f"FS atomic: {driver}", lambda driver=driver: self.drawn(driver)
        yield "FS atomic: contention", self.slowed
        yield "FS atomic: checkpoints and a driver", self.checkpoints
