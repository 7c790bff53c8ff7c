# SPDX-License-Identifier: MIT OR Apache-2.0
"""
The points of tests/gem5/run about GPUs that the guest's own kernel drives by their
registers (docs/DRIVERS.md): Debian's panfrost and lima probe them, Debian's Mesa submits
its frames to the end, interrupts come when the script says, and a checkpoint keeps a job
that is under way. The board stands in for a Mali: nothing is drawn.
"""

import os
import subprocess

from standing_in import TIMES, StandIn, as_scripted

# Of each GPU: the driver of its kernel, and how Mesa names it.
GPUS = {
    "mali-t628": ("panfrost", "Mali-T620 (Panfrost)"),
    "mali-400": ("lima", "Mali400"),
}
JOB_US = 3000
JOB_TIMES = f"slot0={JOB_US}000;slot1={JOB_US}000"


class Registers:
    """The points, of one `run`."""

    def __init__(self, tools, expect):
        self.tools = tools
        self.expect = expect

    def image(self, name, gpu, *program):
        """A guest with the GPU's driver, for `Tools.fs`; one that is there already stays."""
        folder = os.path.join(self.tools.folder, f"guest-{name}")
        if os.path.exists(folder):
            return
        command = [self.tools.gil, "image", "--quiet", "--gpu", gpu]
        subprocess.run([*command, folder, *program], check=True)

    def static(self, name, source):
        if not self.tools.args.prepared:
            include = ("-Isynthetic-driver/uapi", "-Wall", "-Wextra", "-Werror")
            self.tools.compile_static(name, source, "-O2", *include)
        return self.tools.program(name)

    def run(self, name, gpu, times, *options):
        with StandIn(self.tools, times) as board:
            with_gpu = ("--gpu", gpu, "--cpus", "1", "--board", board.address)
            return self.tools.fs(name, *with_gpu, *options)

    def drawn(self, gpu):
        """Frames by Debian's Mesa and driver; every job lasts as the script says."""
        driver, renderer = GPUS[gpu]
        program, source = "gles-quads", "examples/gles-quads/gles-quads.c"
        path = self.tools.program(program)
        if not self.tools.args.prepared:
            self.tools.compile(program, source, "-lEGL", "-lGLESv2")
        name = f"registers-{gpu}"
        self.image(name, gpu, path, str(self.tools.args.frames))
        run = self.run(name, gpu, TIMES[driver])
        run.ended_with(0)
        run.says(f"on {renderer}")
        run.says("gles-quads: PASS")
        return as_scripted(run, self.expect)

    def called(self, name, *words):
        """A program of panfrost's own ioctls, which checks what it gets, and when."""
        program = self.static(f"panfrost_{name}", f"tests/guest/panfrost_{name}.c")
        self.image(f"registers-{name}", "mali-t628", program, *words)
        run = self.run(f"registers-{name}", "mali-t628", JOB_TIMES)
        run.ended_with(0)
        self.expect("not ok" not in run.output, run.last_words())
        return f"{run.output.count('ok ')} checks"

    def kept(self):
        """A checkpoint with a job under way, which ends on another CPU and board."""
        program = self.static("panfrost_point", "tests/gem5/panfrost_point.c")
        self.image("registers-point", "mali-t628", program)
        saved = os.path.join(self.tools.folder, "with-a-job")
        run = self.run(
            "registers-point",
            "mali-t628",
            JOB_TIMES,
            *("--at", "program", "--checkpoint", saved),
        )
        run.ended_with(0)
        timing = ("--cpu", "timing", "--restore", saved)
        run = self.run("registers-point", "mali-t628", JOB_TIMES, *timing)
        run.ended_with(0)
        run.says("panfrost_point: went on")
        without = self.run("registers-point", "none", JOB_TIMES, "--restore", saved)
        without.says("this run has none")
        return "with a job under way, from Atomic to Timing; refused without the GPU"

    def points(self):
        if not self.tools.args.bootloader:
            return
        for gpu in GPUS:
            yield f"FS atomic: registers of {gpu}", lambda gpu=gpu: self.drawn(gpu)
        yield (
            "FS atomic: registers, jobs' times",
            lambda: self.called("jobs", str(JOB_US)),
        )
        yield "FS atomic: registers, jobs' values", lambda: self.called("data")
        yield "FS: registers in a checkpoint", self.kept
