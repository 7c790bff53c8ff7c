# SPDX-License-Identifier: MIT OR Apache-2.0
"""
Boots Linux with gil's driver in full system, and runs a program whose GPU work
is done by a real GPU.

    gem5.opt gem5-patches/configs/gil_fs.py --board unix:/tmp/board.sock \\
        --kernel kernel.elf --initrd initrd.cpio --bootloader boot.arm64

kernel.elf is what `gil kernel` makes of a stock arm64 kernel; initrd.cpio is
the guest's image of `gil run --keep`; boot.arm64 is gem5's own boot loader
(make -C system/arm/bootloader/arm64). No disk is needed.

Boot once, study often:

    gem5.opt … gil_fs.py --cpu atomic --checkpoint booted …
    gem5.opt … gil_fs.py --cpu timing --restore booted …
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

# The kernel's parameters besides those that the user adds. Addresses are the same in
# every run, and nothing waits for devices that are not there. The last two leave
# out what takes much of a stock kernel's boot and serves no program: the cipher
# self-tests, and the certificates that modules could be signed with.
COMMAND_LINE = (
    "console=ttyAMA0",
    "earlycon=pl011,0x1c090000",
    "keep_bootcon",
    "nokaslr",
    "norandmaps",
    "fw_devlink=off",
    "oops=panic",
    "random.trust_bootloader=on",
    "cryptomgr.notests=1",
    "kvm-arm.mode=none",
    "initcall_blacklist=load_system_certificate_list,init_blk_tracer",
)


# What the CPUs implement, by gem5's own names. Each extension costs simulation
# speed; most by far pointer authentication, which gem5's default has: Linux uses
# it in every function of its own.
RELEASES = {
    release.__name__: release
    for release in (
        Armv8,
        Armv81,
        Armv82,
        Armv83,
        Armv84,
        Armv85,
        Armv86,
        Armv87,
        Armv89,
        Armv92,
        ArmDefaultRelease,
    )
}


class QuietTimerMem(GenericTimerMem):
    """
    Not in the device tree: the stock kernel finds no frame in it that it can
    use, and starts no architected timer at all then.
    """

    def generateDeviceTree(self, state):
        return iter(())


class StockPlatform(VExpress_GEM5_V1):
    """gem5's own platform, as Debian's kernel boots on it."""

    generic_timer_mem = QuietTimerMem(
        cnt_control_base=0x2A430000,
        cnt_read_base=0x2A800000,
        cnt_ctl_base=0x2A810000,
        frames=[],
    )


class GilPlatform(StockPlatform):
    """With gil's device at the address that gem5 reserves for a GPU."""

    gil_device = GilDevice()

    def _on_chip_devices(self):
        return super()._on_chip_devices() + [self.gil_device]


class GilGpuPlatform(GilPlatform):
    """And with a GPU that the guest's kernel drives, and sets the clock of."""

    def add_gpu(self, gpu):
        lowest, highest = (f"{gpu._rates_mhz[n]}MHz" for n in (0, -1))
        self.dcc.osc_gpu = CoreTile2A15DCC.Osc(
            device=9, min_freq=lowest, max_freq=highest, freq=highest
        )
        self.gil_gpu = gpu
        self.gil_gpu.clk_domain = self.dcc.osc_gpu

    def _on_chip_devices(self):
        return super()._on_chip_devices() + [self.gil_gpu]


GPUS = {"mali-t628": GilMaliT628, "mali-400": GilMali400}


class MemoryBus(SystemXBar):
    badaddr_responder = BadAddr(warn_access="warn")
    default = Self.badaddr_responder.pio


def parse() -> argparse.Namespace:
    parser = gil_common.parser_for(__doc__)
    guest = parser.add_argument_group("the guest")
    guest.add_argument("--kernel", required=True, metavar="ELF")
    guest.add_argument("--initrd", required=True, metavar="FILE")
    guest.add_argument("--bootloader", required=True, metavar="ELF")
    guest.add_argument(
        "--append", default="", help="add this to the kernel's command line"
    )
    guest.add_argument(
        "--release",
        choices=RELEASES,
        default="Armv8",
        help="the extensions that the CPUs implement, by gem5's name; from "
        "Armv83 on they authenticate pointers, and Linux takes far longer",
    )
    guest.add_argument(
        "--sleep",
        choices=("interrupt", "timer"),
        default="interrupt",
        help="what ends a wait for the GPU: the device's interrupt, at the "
        "exact tick, or the driver's own timer",
    )
    guest.add_argument(
        "--detect",
        choices=("device", "symbol"),
        default="device",
        help="what the driver rings: the device's register, or its own "
        "function gil_doorbell, which is found as the kernel loads it; there "
        "is no device then, and waits end by the driver's timer",
    )
    guest.add_argument(
        "--gpu",
        choices=(*GPUS, "none"),
        default="none",
        help="a GPU that the guest's own kernel drives, whose jobs the board "
        "executes; the guest's image must have its driver: `gil image --gpu`",
    )
    guest.add_argument(
        "--at",
        choices=("driver", "program"),
        default="driver",
        help="when --checkpoint saves the guest: as its driver starts, before "
        "any program used the GPU, or where the program executes m5_checkpoint",
    )
    points = parser.add_mutually_exclusive_group()
    points.add_argument(
        "--checkpoint",
        metavar="FOLDER",
        help="save the guest there, and end; --at says when",
    )
    points.add_argument(
        "--restore", metavar="FOLDER", help="go on from such a checkpoint"
    )
    return parser.parse_args()


def check_files(args) -> None:
    for path in (args.kernel, args.initrd, args.bootloader):
        if not os.path.isfile(path):
            fatal(f"there is no file {path}")
    if args.gpu != "none" and args.detect == "symbol":
        fatal("--gpu has a device, and --detect symbol none: leave one out")
    if args.restore and not os.path.isdir(args.restore):
        fatal(f"there is no checkpoint {args.restore}")


def memory_ranges(args, platform) -> list:
    """Memory in the platform's address ranges for it, in their order."""
    ranges, left = [], int(Addr(args.mem_size))
    for region in platform._mem_regions:
        size = min(left, int(region.size()))
        if size:
            ranges.append(AddrRange(start=region.start, size=size))
        left -= size
    if left:
        fatal(f"--mem-size {args.mem_size}: the platform has no room for it")
    return ranges


def waits_for_driver(args) -> bool:
    return args.checkpoint is not None and args.at == "driver"


def platform_for(args):
    if args.gpu != "none":
        platform = GilGpuPlatform()
        platform.add_gpu(GPUS[args.gpu]())
        return platform
    return StockPlatform() if args.detect == "symbol" else GilPlatform()


def add_platform(args, system) -> None:
    by_symbol = args.detect == "symbol"
    system.realview = platform_for(args)
    system.mem_ranges = memory_ranges(args, system.realview)
    system.gic_cpu_addr = system.realview.gic.cpu_addr
    system.terminal = Terminal()
    system.vncserver = VncServer()
    if args.no_bridge:
        fatal("--no-bridge: in full system leave the bridge idle instead")
    system.gil = gil_common.bridge_for(args)
    if by_symbol:
        system.gil_doorbell = GilDoorbell(
            bridge=system.gil, exit_at_load=waits_for_driver(args)
        )
        return
    if args.gpu != "none":
        system.realview.gil_gpu.bridge = system.gil
    device = system.realview.gil_device
    device.bridge = system.gil
    device.wake_by_interrupt = args.sleep == "interrupt"
    device.exit_at_probe = waits_for_driver(args)


def connect_platform(args, system) -> None:
    system.membus = MemoryBus()
    system.iobus = IOXBar()
    system.iobridge = Bridge(delay="50ns")
    system.iobridge.mem_side_port = system.iobus.cpu_side_ports
    system.iobridge.cpu_side_port = system.membus.mem_side_ports
    system.dmabridge = Bridge(delay="50ns", ranges=system.mem_ranges)
    system.dmabridge.mem_side_port = system.membus.cpu_side_ports
    system.dmabridge.cpu_side_port = system.iobus.mem_side_ports
    system.realview.attachOnChipIO(system.membus, system.iobridge)
    system.realview.attachIO(system.iobus)


def add_workload(args, system) -> None:
    system.workload = ArmFsLinux(
        object_file=args.kernel,
        initrd_filename=args.initrd,
        command_line=" ".join((*COMMAND_LINE, args.append)).strip(),
    )
    system.realview.setupBootLoader(
        system, lambda name: name, [args.bootloader]
    )
    system.workload.dtb_filename = os.path.join(
        m5.options.outdir, "system.dtb"
    )


def make_system(args) -> ArmSystem:
    system = ArmSystem(
        mem_mode=gil_common.memory_mode(args),
        cache_line_size=64,
        release=RELEASES[args.release](),
    )
    gil_common.add_clocks(args, system)
    add_platform(args, system)
    connect_platform(args, system)
    gil_common.add_cpus(args, system)
    for cpu in system.cpu:
        cpu.createThreads()
        cpu.createInterruptController()
    gil_common.connect_machine(args, system)
    add_workload(args, system)
    if args.watch:
        files = gil_watching.Archive(args.initrd)
        system.gil_watch = gil_watching.watch_for(args, files)
    return system


def save(args) -> None:
    """Simulates up to the point, and saves the guest there."""
    causes = {
        "driver": "gil: the guest's driver starts",
        "program": "checkpoint",
    }
    event = m5.simulate()
    if event.getCause() != causes[args.at]:
        fatal(f"the guest ended before the checkpoint: {event.getCause()}")
    m5.checkpoint(args.checkpoint)
    print(f"gil: the checkpoint is in {args.checkpoint}", file=sys.stderr)
    sys.exit(0)


def main() -> None:
    args = parse()
    check_files(args)
    system = make_system(args)
    system.generateDtb(system.workload.dtb_filename)
    gil_common.instantiate(system, True, args.restore)
    if args.checkpoint:
        save(args)
    gil_common.simulate_to_the_end()


main()
