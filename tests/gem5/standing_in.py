# SPDX-License-Identifier: MIT OR Apache-2.0
"""
The board of the points about drivers of GPUs in the guest: its nodes stand in for those
of a Mali-400 and a Mali-T628, and its jobs take the times of a script.
"""

import json
import os
import subprocess
import time

# What the jobs of a driver's two kinds take, in nanoseconds.
SHORT_NS, LONG_NS = 200000, 900000
TIMES = {
    "lima": f"gp={SHORT_NS};pp={LONG_NS}",
    "panfrost": f"slot1={SHORT_NS};slot0={LONG_NS}",
}


class StandIn:
    """An agent whose jobs take these times."""

    def __init__(self, tools, times):
        package = ["cargo", "build", "--release", "-q", "-p", "gil-stand-in-node"]
        if not tools.args.prepared:
            subprocess.run(package, cwd=tools.root, check=True)
        self.socket = f"{tools.new_folder()}.s"
        self.address = f"unix:{self.socket}"
        program = os.path.join(os.path.dirname(tools.gil), "stand-in-board")
        self.process = subprocess.Popen(
            [program, "--listen", self.address],
            env={**os.environ, "GIL_STAND_IN_TIMES": times},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def __enter__(self):
        for _ in range(100):
            if os.path.exists(self.socket):
                break
            time.sleep(0.1)
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def report_of(run):
    with open(os.path.join(run.folder, "gil.json")) as file:
        return json.load(file)


def as_scripted(run, expect):
    """By the report, each job lasted as the script says."""
    report = report_of(run)
    processors = report["jobs"]["processors"]
    counts = []
    for each_ns in (SHORT_NS, LONG_NS):
        of_kind = [it for it in processors if it["execution_ns"] == each_ns * it["jobs"]]
        counts.append(sum(it["jobs"] for it in of_kind))
    expect(all(counts), f"no jobs of {SHORT_NS} or {LONG_NS} ns: {processors}")
    expect(sum(counts) == sum(it["jobs"] for it in processors), f"jobs took {processors}")
    wall = report["wall"]
    share = 1 - wall["simulator_ns"] / wall["total_ns"]
    return f"{counts[0]} and {counts[1]} jobs, {share:.3%} of wall time for the GPU's calls"
