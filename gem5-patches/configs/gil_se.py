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
import gil_watching

# Where the guest's programs are, in the order of its PATH.
PROGRAM_FOLDERS = ("usr/local/bin", "usr/bin", "usr/sbin", "usr/games")
# What programs find in the sysroot; the rest is this machine's.
REDIRECTED = ("/lib", "/usr", "/etc")
# Standard streams, and gem5's names of its own.
STREAMS = (("stdin", "cin"), ("stdout", "cout"), ("stderr", "cerr"))
# What isolated programs find on this machine; the rest is the sysroot's.
SHARED = ("/dev", "/proc", "/sys")


def parse() -> argparse.Namespace:
    parser = gil_common.parser_for(__doc__)
    program = parser.add_argument_group("the program")
    program.add_argument(
        "--sysroot", required=True, help="what `gil sysroot` made"
    )
    program.add_argument(
        "--env", action="append", default=[], metavar="NAME=VALUE"
    )
    program.add_argument("--cwd", default=os.getcwd())
    program.add_argument(
        "--isolated",
        action="store_true",
        help="the sysroot is all that the program sees of this machine, but "
        "for /dev, /proc and /sys",
    )
    for name, own in STREAMS:
        program.add_argument(
            f"--{name}", default=own, metavar="FILE", help="else gem5's own"
        )
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
    is_path = "/" in args.program and not args.isolated
    if is_path and os.path.isfile(args.program):
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


def redirections(args) -> list:
    places = [(path, args.sysroot + path) for path in REDIRECTED]
    if args.isolated:
        # The first that fits counts.
        places = [(path, path) for path in SHARED] + [("/", args.sysroot)]
    return [
        RedirectPath(app_path=path, host_paths=[place])
        for path, place in places
    ]


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
        input=args.stdin,
        output=args.stdout,
        errout=args.stderr,
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
        redirect_paths=redirections(args),
    )
    gil_common.add_clocks(args, system)
    gil_common.add_cpus(args, system)
    gil_common.connect_machine(args, system)
    for cpu in system.cpu:
        cpu.createInterruptController()
    if not args.no_bridge:
        system.gil = gil_common.bridge_for(args)
    add_process(args, system)
    if args.watch:
        files = gil_watching.Folder(args.sysroot, find_program(args))
        system.gil_watch = gil_watching.watch_for(args, files)
    return system


def main() -> None:
    args = parse()
    args.sysroot = os.path.abspath(args.sysroot)
    if not os.path.isdir(args.sysroot):
        fatal(f"there is no folder {args.sysroot}: make it with `gil sysroot`")
    # Before any program is opened: where its dynamic linker is looked for.
    m5.core.setInterpDir(args.sysroot)
    system = make_system(args)
    gil_common.instantiate(system, False)
    gil_common.simulate_to_the_end(None if args.no_bridge else system.gil)


main()
