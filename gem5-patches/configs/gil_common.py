# SPDX-License-Identifier: MIT OR Apache-2.0
"""
What gil's run scripts share: CPU models, caches, memory, the bridge, and how a
simulation ends. Scripts of your own can import it too; see docs/GEM5.md.
"""

import argparse
import sys

import m5
from m5.objects import *
from m5.util import fatal

if "GilBridge" not in globals():
    fatal(
        "this gem5 was built without gil: build it again with "
        "scons build/ARM/gem5.opt EXTRAS=.../gem5-patches"
    )

import gil_watching

# Exit code of a run that ended before its program did.
BRIDGE_FAILED = 125


class L1I(Cache):
    size = "32KiB"
    assoc = 2
    tag_latency = 2
    data_latency = 2
    response_latency = 2
    mshrs = 4
    tgts_per_mshr = 20
    is_read_only = True
    writeback_clean = True


class L1D(Cache):
    size = "32KiB"
    assoc = 4
    tag_latency = 2
    data_latency = 2
    response_latency = 2
    mshrs = 16
    tgts_per_mshr = 20


class L2(Cache):
    size = "1MiB"
    assoc = 16
    tag_latency = 12
    data_latency = 12
    response_latency = 12
    mshrs = 32
    tgts_per_mshr = 12


# name: (class, how it accesses memory, its default for caches)
CPUS = {
    "atomic": (ArmAtomicSimpleCPU, "atomic", False),
    "timing": (ArmTimingSimpleCPU, "timing", True),
    "minor": (ArmMinorCPU, "timing", True),
    "o3": (ArmO3CPU, "timing", True),
}


# What gem5 says when the last thread of the last program exited.
PROGRAM_EXITED = "exiting with last active thread context"


def parser_for(script: str) -> argparse.ArgumentParser:
    """A parser with what every script takes; `script` is its documentation."""
    parser = argparse.ArgumentParser(
        description=script,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_machine_options(parser)
    add_bridge_options(parser)
    gil_watching.add_options(parser)
    return parser


def add_machine_options(parser: argparse.ArgumentParser) -> None:
    machine = parser.add_argument_group("the simulated machine")
    machine.add_argument("--cpu", choices=CPUS, default="atomic")
    machine.add_argument("--cpus", type=int, default=4, metavar="N")
    machine.add_argument("--cpu-clock", default="2GHz")
    machine.add_argument("--sys-clock", default="1GHz")
    machine.add_argument("--mem-size", default="2GiB")
    machine.add_argument(
        "--caches",
        choices=("yes", "no"),
        help="L1 caches a CPU and one L2; by default all but atomic have them",
    )
    machine.add_argument("--l1i-size", default=L1I.size)
    machine.add_argument("--l1d-size", default=L1D.size)
    machine.add_argument("--l2-size", default=L2.size)


def add_bridge_options(parser: argparse.ArgumentParser) -> None:
    bridge = parser.add_argument_group("the GPU")
    bridge.add_argument(
        "--board", default="", help="tcp://HOST:PORT or unix:/PATH"
    )
    bridge.add_argument(
        "--key", default="", metavar="FILE", help="the board's key"
    )
    bridge.add_argument("--time", choices=("async", "strict"), default="async")
    bridge.add_argument(
        "--finish", choices=("program", "frame", "call"), default="program"
    )
    bridge.add_argument(
        "--contention",
        default="",
        metavar="FACTOR",
        help="of a GPU's processors, as 'gil calibrate' measures it",
    )
    bridge.add_argument(
        "--costs",
        default="",
        metavar="COSTS",
        help="what the target adds to the board's times, as a profile has it: "
        "cpu:RATIO+opencl.launch:NS+opencl.gap:NS+opencl.completion:NS",
    )
    bridge.add_argument("--board-timeout", type=float, default=0.0)
    bridge.add_argument(
        "--record", default="", metavar="FILE", help="record all calls"
    )
    bridge.add_argument(
        "--compress", action="store_true", help="compress what is recorded"
    )
    bridge.add_argument(
        "--calls", default="", metavar="FILE", help="a row for every call"
    )
    bridge.add_argument(
        "--work-times",
        default="",
        metavar="FILE",
        help="what builds took in earlier runs; this one's are added",
    )
    bridge.add_argument(
        "--report",
        default="gil.json",
        metavar="FILE",
        help="gil's own report, in the output folder",
    )
    bridge.add_argument(
        "--no-bridge",
        action="store_true",
        help="leave it out, to compare simulation speeds",
    )
    for name in ("--monitor", "--channel-files", "--channel-input"):
        bridge.add_argument(name, default="", help=argparse.SUPPRESS)


def has_caches(args) -> bool:
    return (
        CPUS[args.cpu][2] if args.caches is None else args.caches == "yes"
    )


def memory_mode(args) -> str:
    return CPUS[args.cpu][1]


def bridge_for(args) -> GilBridge:
    # Only a bridge that gets a key needs to know of keys.
    private = {"key": args.key} if args.key else {}
    # The same of compression.
    packed = {"trace_compress": True} if args.compress else {}
    # And of a log of calls.
    logged = {"calls": args.calls} if args.calls else {}
    # And of builds that take what they took.
    if args.work_times:
        logged["work_times"] = args.work_times
    # And of when the board waits.
    waits = {} if args.finish == "program" else {"finish_mode": args.finish}
    # And of processors that slow each other down, and what the target adds.
    slowed = {"contention": args.contention} if args.contention else {}
    if args.costs:
        slowed["costs"] = args.costs
    # And of channels.
    names = ("channel_files", "channel_input")
    channels = {name: getattr(args, name) for name in names}
    channels = {name: path for name, path in channels.items() if path}
    # Its System is the one it becomes a part of.
    return GilBridge(
        board=args.board,
        **private,
        time_mode=args.time,
        board_timeout=args.board_timeout,
        trace=args.record,
        **packed,
        **logged,
        **waits,
        **slowed,
        report=args.report,
        monitor=args.monitor,
        **channels,
        direct_memory=not has_caches(args),
    )


def add_clocks(args, system) -> None:
    system.voltage_domain = VoltageDomain(voltage="1V")
    system.clk_domain = SrcClockDomain(
        clock=args.sys_clock, voltage_domain=system.voltage_domain
    )
    system.cpu_clk_domain = SrcClockDomain(
        clock=args.cpu_clock, voltage_domain=system.voltage_domain
    )


def add_cpus(args, system) -> None:
    """CPUs with nothing in them, and not connected."""
    cpu_class = CPUS[args.cpu][0]
    system.cpu = [
        cpu_class(cpu_id=i, clk_domain=system.cpu_clk_domain)
        for i in range(args.cpus)
    ]


def connect_machine(args, system) -> None:
    """CPUs, caches and memory at system.membus."""
    connect_cpus(args, system)
    add_memory(args, system)
    system.system_port = system.membus.cpu_side_ports


def connect_cpus(args, system) -> None:
    """Between the CPUs and system.membus: caches, or nothing."""
    if not has_caches(args):
        for cpu in system.cpu:
            cpu.icache_port = system.membus.cpu_side_ports
            cpu.dcache_port = system.membus.cpu_side_ports
            cpu.mmu.connectWalkerPorts(
                system.membus.cpu_side_ports, system.membus.cpu_side_ports
            )
        return
    system.l2bus = L2XBar(clk_domain=system.cpu_clk_domain)
    for cpu in system.cpu:
        cpu.icache = L1I(size=args.l1i_size)
        cpu.dcache = L1D(size=args.l1d_size)
        cpu.icache.cpu_side = cpu.icache_port
        cpu.dcache.cpu_side = cpu.dcache_port
        cpu.icache.mem_side = system.l2bus.cpu_side_ports
        cpu.dcache.mem_side = system.l2bus.cpu_side_ports
        cpu.mmu.connectWalkerPorts(
            system.l2bus.cpu_side_ports, system.l2bus.cpu_side_ports
        )
    system.l2 = L2(size=args.l2_size, clk_domain=system.cpu_clk_domain)
    system.l2.cpu_side = system.l2bus.mem_side_ports
    system.l2.mem_side = system.membus.cpu_side_ports


def add_memory(args, system) -> None:
    if memory_mode(args) == "atomic":
        system.mem_ctrls = [
            SimpleMemory(range=memory) for memory in system.mem_ranges
        ]
    else:
        system.mem_ctrls = [
            MemCtrl(dram=DDR3_1600_8x8(range=memory))
            for memory in system.mem_ranges
        ]
    for controller in system.mem_ctrls:
        controller.port = system.membus.mem_side_ports


def instantiate(system, full_system: bool, restored=None) -> None:
    """Makes the simulated machine, from a checkpoint if there is one."""
    Root(full_system=full_system, system=system)
    m5.instantiate(restored)


def simulate_to_the_end(emulated_for=None) -> None:
    """
    Simulates until somebody ends it, and leaves with the exit code. In
    system-call emulation, the bridge gets what a guest's init would report.
    """
    if emulated_for:
        emulated_for.programStarts()
    event = m5.simulate()
    cause, code = event.getCause(), event.getCode()
    if emulated_for and cause == PROGRAM_EXITED:
        emulated_for.programExited(code)
    print(
        f"gil: {cause.removeprefix('gil: ')} at tick {m5.curTick()}, "
        f"exit code {code}",
        file=sys.stderr,
    )
    if m5.curTick() == 0:
        # gem5 believes that it dumped the statistics of tick 0 already.
        m5.stats.lastDump = -1
    if cause == "user interrupt received":
        sys.exit(130)
    # Nothing is left to happen, and no program ended: all its threads wait.
    if cause == "simulate() limit reached":
        sys.exit(BRIDGE_FAILED)
    sys.exit(code)
