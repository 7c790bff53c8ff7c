# SPDX-License-Identifier: MIT OR Apache-2.0
"""
Runs an Arm Linux program in system-call emulation, with its GPU work on a
real GPU.

    gil sysroot --pkg clinfo sysroot
    gil board --listen unix:/tmp/board.sock &
    gem5.opt gem5-patches/configs/gil_se.py --board unix:/tmp/board.sock \\
        --sysroot sysroot clinfo

The program is a name of the sysroot's packages, or the path of a local
program. A thread needs a CPU of its own: give as many as it starts, and one
for the library's callbacks.
"""

import argparse
import os
import sys

import m5
from m5.objects import *
from m5.util import fatal

sys.path.append(os.path.dirname(os.path.abspath(__file__)))

import gil_common

# Where the guest's programs are, in the order of its PATH.
PROGRAM_FOLDERS = ("usr/local/bin", "usr/bin", "usr/sbin", "usr/games")
# What programs find in the sysroot; the rest is this machine's.
REDIRECTED = ("/lib", "/usr", "/etc")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    gil_common.add_machine_options(parser)
    gil_common.add_bridge_options(parser)
    program = parser.add_argument_group("the program")
    program.add_argument(
        "--sysroot", required=True, help="what `gil sysroot` made"
    )
    program.add_argument(
        "--env", action="append", default=[], metavar="NAME=VALUE"
    )
    program.add_argument("--cwd", default=os.getcwd())
    program.add_argument(
        "--counter",
        default="1GHz",
        metavar="FREQUENCY",
        help="of the counter that programs read (CNTVCT_EL0)",
    )
    program.add_argument("program")
    program.add_argument("arguments", nargs=argparse.REMAINDER)
    return parser.parse_args()


def find_program(args) -> str:
    """Where the program lies on this machine."""
    if os.path.isfile(args.program) and "/" in args.program:
        return os.path.abspath(args.program)
    names = [f"{folder}/{args.program}" for folder in PROGRAM_FOLDERS]
    names.append(args.program.lstrip("/"))
    for name in names:
        path = os.path.join(args.sysroot, name)
        if os.path.isfile(path):
            return os.path.realpath(path)
    fatal(
        f"there is no program {args.program} in {args.sysroot}: add its "
        "Debian package with `gil sysroot --pkg`, or give a local path"
    )


def add_process(args, system) -> None:
    environment = {
        "PATH": ":".join("/" + folder for folder in PROGRAM_FOLDERS),
        "HOME": "/root",
        "LANG": "C.UTF-8",
        "TERM": "dumb",
    }
    environment.update(entry.split("=", 1) for entry in args.env)
    if not args.no_bridge:
        system.gil_driver = GilEmulDriver(bridge=system.gil)
    process = Process(
        pid=100,
        ppid=0,
        cmd=[args.program] + args.arguments,
        executable=find_program(args),
        env=[f"{name}={value}" for name, value in environment.items()],
        cwd=args.cwd,
        drivers=[] if args.no_bridge else [system.gil_driver],
        # Programs of a present glibc refuse an older kernel.
        release="6.1.0",
    )
    for cpu in system.cpu:
        cpu.workload = process
        cpu.isa = [GilISA(counter_frequency=args.counter)]
        cpu.createThreads()


def make_system(args) -> System:
    system = System(
        mem_mode=gil_common.memory_mode(args),
        mem_ranges=[AddrRange(args.mem_size)],
        membus=SystemXBar(),
        workload=GilEmuLinux(),
        redirect_paths=[
            RedirectPath(app_path=path, host_paths=[args.sysroot + path])
            for path in REDIRECTED
        ],
    )
    gil_common.add_clocks(args, system)
    cpu_class = gil_common.CPUS[args.cpu][0]
    system.cpu = [
        cpu_class(cpu_id=i, clk_domain=system.cpu_clk_domain)
        for i in range(args.cpus)
    ]
    gil_common.connect_cpus(args, system)
    gil_common.add_memory(args, system)
    system.system_port = system.membus.cpu_side_ports
    for cpu in system.cpu:
        cpu.createInterruptController()
    if not args.no_bridge:
        system.gil = gil_common.bridge_for(args)
    add_process(args, system)
    return system


def main() -> None:
    args = parse()
    args.sysroot = os.path.abspath(args.sysroot)
    if not os.path.isdir(args.sysroot):
        fatal(f"there is no folder {args.sysroot}: make it with `gil sysroot`")
    # Before any program is opened: where its dynamic linker is looked for.
    m5.core.setInterpDir(args.sysroot)
    root = Root(full_system=False, system=make_system(args))
    m5.instantiate()
    gil_common.simulate_to_the_end()


main()
