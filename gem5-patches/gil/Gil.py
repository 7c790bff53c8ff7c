# SPDX-License-Identifier: MIT OR Apache-2.0

from m5.objects.ArmISA import ArmISA
from m5.objects.ArmSeWorkload import ArmEmuLinux
from m5.objects.Device import BasicPioDevice
from m5.objects.Gic import ArmSPI
from m5.objects.Process import EmulatedDriver
from m5.objects.RealView import RealViewOsc
from m5.params import *
from m5.proxy import *
from m5.SimObject import (
    SimObject,
    cxxMethod,
)
from m5.util.fdthelper import *


class GilBridge(SimObject):
    """
    The bridge to a real GPU: hands what the guest's GPU driver submits to
    gil's board agent, puts the results into guest memory, and says how long
    the GPU took. One a System.

    Who rings it is a driver in the guest (GilDevice, full system) or one that
    gem5 plays itself (GilEmulDriver, system-call emulation).
    """

    type = "GilBridge"
    cxx_header = "gil/gil_bridge.hh"
    cxx_class = "gem5::GilBridge"

    system = Param.System(Parent.any, "System whose memory the GPU shares")
    board = Param.String(
        "",
        "Address of the board agent: tcp://HOST:PORT or unix:/PATH. Without "
        "one, programs find a lost device",
    )
    key = Param.String(
        "",
        "File with the key that the board agent was started with; what is "
        "exchanged is encrypted. Empty: none",
    )
    check_board = Param.Bool(
        True,
        "Connect to the board once before the simulation starts, and end it "
        "with a sentence if that fails",
    )
    time_mode = Param.String(
        "async",
        "When durations are learnt: 'async', the board works on while the "
        "simulation goes on, or 'strict', every operation ends on the board "
        "before its enqueue returns (the reference)",
    )
    finish_mode = Param.String(
        "",
        "When the board waits until what was drawn is done: 'program' (or "
        "empty), where the program waits; 'frame', also at the end of each "
        "frame, and the program with it; 'call', after each call",
    )
    contention = Param.String(
        "",
        "How many times as long a job lasts on one processor of a GPU while "
        "another is at work: a number from 1 on, which 'gil calibrate' "
        "measures. Empty: 1",
    )
    costs = Param.String(
        "",
        "What the target adds to the board's times, as 'gil calibrate' measures "
        "it: cpu:RATIO, and for each API by its name opencl.launch:NS, .gap, "
        ".completion, .scale and .offset, with + between. Empty: nothing",
    )
    board_timeout = Param.Float(
        0.0,
        "Longest wall time of one call, in seconds; then the board counts as "
        "lost. 0: no bound",
    )
    trace = Param.String(
        "",
        "File in which every call, answer and time is recorded, for the "
        "replaying board; relative to the output folder. Empty: none",
    )
    trace_compress = Param.Bool(False, "Compress what is recorded")
    calls = Param.String(
        "",
        "File in which every call gets a row, for 'gil report'; relative to "
        "the output folder. Empty: none",
    )
    work_times = Param.String(
        "",
        "File with what builds took in earlier runs, which those of this one "
        "are added to. Empty: none",
    )
    report = Param.String(
        "",
        "File that gets gil's own report as JSON at the end; relative to the "
        "output folder. Empty: none",
    )
    monitor = Param.String(
        "", "Unix socket on which 'gil run' listens. Empty: none"
    )
    channel_files = Param.String(
        "",
        "Unix socket on which 'gil run' serves folders of the host. "
        "Empty: none",
    )
    channel_input = Param.String(
        "",
        "Unix socket on which 'gil run' serves the program's standard input. "
        "Empty: none",
    )
    checkpoint_log = Param.Bool(
        True,
        "Remember what made the board's objects, so that checkpoints can be "
        "taken while programs use the GPU; otherwise only while none does",
    )
    direct_memory = Param.Bool(
        False,
        "Read and write guest memory behind gem5's memory system, which is "
        "faster. Only right without caches: they may hold newer data",
    )

    @cxxMethod
    def programStarts(self):
        """
        In system-call emulation: the program starts now. gil's report counts
        from here.
        """
        pass

    @cxxMethod
    def programExited(self, code):
        """In system-call emulation: the program exited with that code."""
        pass


class GilEmulDriver(EmulatedDriver):
    """
    Plays the kernel module gil.ko in system-call emulation: /dev/gil. Threads
    that wait for the GPU are suspended until the tick at which it is done.
    """

    type = "GilEmulDriver"
    cxx_header = "gil/gil_driver.hh"
    cxx_class = "gem5::GilEmulDriver"

    filename = "gil"
    bridge = Param.GilBridge(Parent.any, "The bridge that doorbells go to")
    max_region_bytes = Param.MemorySize(
        "1GiB", "Most bytes of a program's memory that one call may name"
    )


class GilEmuLinux(ArmEmuLinux):
    """
    Linux in system-call emulation with what programs linked against a present
    glibc need beyond gem5's own: sleeping in simulated time, futexes with
    timeouts, clocks without an epoch, poll, pread, and "not implemented"
    where gem5 would end the simulation.
    """

    type = "GilEmuLinux"
    cxx_header = "gil/gil_se.hh"
    cxx_class = "gem5::GilEmuLinux"

    @classmethod
    def _is_compatible_with(cls, obj):
        # Or scripts that take "the" workload for a program found two.
        return False


class GilISA(ArmISA):
    """
    An Arm ISA that has the generic timer's virtual counter in system-call
    emulation, where gem5 has none: programs read it at EL0.
    """

    type = "GilISA"
    cxx_header = "gil/gil_isa.hh"
    cxx_class = "gem5::GilISA"

    counter_frequency = Param.Frequency(
        "1GHz", "Frequency of the virtual counter (CNTFRQ_EL0)"
    )


class GilDevice(BasicPioDevice):
    """
    The device that the kernel module gil.ko rings in full system, with a node
    in the device tree. Goes into the platform: see GilPlatform in
    configs/gil_fs.py, or make it a child of a platform of your own and one of
    its _on_chip_devices().
    """

    type = "GilDevice"
    cxx_header = "gil/gil_device.hh"
    cxx_class = "gem5::GilDevice"

    # Where gem5's platforms leave a place for a GPU.
    pio_addr = 0x2D000000
    bridge = Param.GilBridge(Parent.any, "The bridge that doorbells go to")
    interrupt = Param.ArmInterruptPin(
        ArmSPI(num=96), "Raised at the tick at which a thread's wait ends"
    )
    wake_by_interrupt = Param.Bool(
        True,
        "Threads that wait for the GPU are woken by the interrupt, at the "
        "exact tick; otherwise the driver sleeps by the guest's own timer",
    )

    exit_at_probe = Param.Bool(
        False,
        "Leave the simulation loop once, as the driver finds the device: the "
        "guest has booted and no program used the GPU yet, which is the place "
        "for a checkpoint",
    )
    exit_with_program = Param.Bool(
        True,
        "Leave the simulation loop with the program's exit code when gil's "
        "init in the guest says that it ended",
    )

    # Of its registers, for the device tree.
    _size = 0x1000

    def generateDeviceTree(self, state):
        node = self.generateBasicPioDeviceNode(
            state, "gil", self.pio_addr, self._size, [self.interrupt]
        )
        node.appendCompatible(["gil,bridge"])
        yield node


class GilGpu(BasicPioDevice):
    """
    A GPU that the guest's own kernel drives by its registers, for Debian's
    unmodified drivers: GilMaliT628 or GilMali400. The board executes its
    jobs. Goes into the platform beside a GilDevice, as in configs/gil_fs.py.

    Its clock domain is the GPU's clock. If that is a RealViewOsc of the
    platform's, the driver may change its frequency.
    """

    type = "GilGpu"
    cxx_header = "gil/gil_gpu.hh"
    cxx_class = "gem5::GilGpu"

    # Where gem5's platforms have nothing.
    pio_addr = 0x2D010000
    bridge = Param.GilBridge(Parent.any, "The bridge that executes its jobs")
    model = Param.String("Which GPU, as `gil run --gpu` names it")
    size = Param.Addr("Bytes of its registers")
    interrupts = VectorParam.ArmInterruptPin("In the order of their names")

    def _clocks(self, state):
        """
        What the driver may set, or else a clock as it is: its handle, and the
        node if there is one to add.
        """
        domain = self.clk_domain.unproxy(self)
        if isinstance(domain, RealViewOsc):
            return state.phandle(domain), None
        node = FdtNode("clock")
        handle = state.phandle(domain)
        node.appendCompatible(["fixed-clock"])
        node.append(FdtPropertyWords("#clock-cells", [0]))
        frequency = round(1.0 / domain.clock[0].value)
        node.append(FdtPropertyWords("clock-frequency", [frequency]))
        node.append(FdtPropertyWords("phandle", [int(handle)]))
        return handle, node

    def generateDeviceTree(self, state):
        node = self.generateBasicPioDeviceNode(
            state, "gpu", self.pio_addr, int(self.size), list(self.interrupts)
        )
        node.appendCompatible([self._compatible])
        node.append(FdtPropertyStrings("interrupt-names", self._lines))
        clock, own = self._clocks(state)
        names = self._clock_names
        node.append(FdtPropertyWords("clocks", [clock] * len(names)))
        node.append(FdtPropertyStrings("clock-names", names))
        if own:
            node.append(own)
        else:
            node.append(FdtPropertyWords("operating-points-v2", [state.phandle(self)]))
            node.append(self._rate_table(state))
        yield node

    def _rate_table(self, state):
        """What the driver may set."""
        table = FdtNode("opp-table")
        table.appendCompatible(["operating-points-v2"])
        table.append(FdtPropertyWords("phandle", [state.phandle(self)]))
        for mhz in self._rates_mhz:
            rate = FdtNode(f"opp-{mhz}000000")
            cells = [mhz * 1000000 >> 32, mhz * 1000000 & 0xFFFFFFFF]
            rate.append(FdtPropertyWords("opp-hz", cells))
            table.append(rate)
        return table


# The interrupts that gem5's platforms have no device on.
def _free_interrupts(count):
    return [ArmSPI(num=107 + line) for line in range(count)]


class GilMaliT628(GilGpu):
    """Mali T628, for panfrost."""

    model = "mali-t628"
    _rates_mhz = [177, 266, 350, 420, 480, 543, 600]
    size = 0x4000
    _compatible = "arm,mali-t628"
    _lines = ["job", "mmu", "gpu"]
    _clock_names = ["core"]
    interrupts = _free_interrupts(3)


class GilMali400(GilGpu):
    """Mali-400 MP4, for lima."""

    model = "mali-400"
    _rates_mhz = [160, 267, 350, 440]
    size = 0x10000
    _compatible = "arm,mali-400"
    _lines = [
        "gp",
        "gpmmu",
        "pp0",
        "ppmmu0",
        "pp1",
        "ppmmu1",
        "pp2",
        "ppmmu2",
        "pp3",
        "ppmmu3",
    ]
    _clock_names = ["bus", "core"]
    interrupts = _free_interrupts(10)


class GilDoorbell(SimObject):
    """
    Rings the bridge when the guest's driver executes its doorbell function,
    which is found as the kernel loads the driver: for guests without
    GilDevice in their device tree. The driver then sleeps by the guest's own
    timer.
    """

    type = "GilDoorbell"
    cxx_header = "gil/gil_doorbell.hh"
    cxx_class = "gem5::GilDoorbell"

    bridge = Param.GilBridge(Parent.any, "The bridge that doorbells go to")
    function = Param.String(
        "gil:gil_doorbell",
        "MODULE:FUNCTION, whose argument is the mailbox's physical address",
    )
    kernel = Param.String(
        "",
        "The guest's kernel: ELF file or Image. Empty: the workload's",
    )
    exit_at_load = Param.Bool(
        False,
        "Leave the simulation loop once, as the kernel loads the driver: a "
        "place for a checkpoint",
    )
    exit_with_program = Param.Bool(
        True,
        "Leave the simulation loop with the program's exit code when gil's "
        "init in the guest says that it ended",
    )


class GilWatch(SimObject):
    """
    Writes a line for every call of a function of the guest: its arguments,
    the process, the simulated time. Needs no GilBridge.

    A function is FUNCTION of the kernel, MODULE:FUNCTION of a kernel module,
    which is found as the kernel loads it, or NAME:FUNCTION@FILE of a program
    or shared library, FILE being its ELF file on this machine.
    """

    type = "GilWatch"
    cxx_header = "gil/gil_watch.hh"
    cxx_class = "gem5::GilWatch"

    system = Param.System(Parent.any, "System whose CPUs are watched")
    functions = VectorParam.String([], "What is watched")
    kernel = Param.String(
        "",
        "The guest's kernel in full system: ELF file or Image. Empty: the "
        "workload's",
    )
    limit = Param.UInt64(
        1000, "Lines of each function at most; calls beyond are counted"
    )
    output = Param.String(
        "", "File in the output folder. Empty: standard error"
    )
