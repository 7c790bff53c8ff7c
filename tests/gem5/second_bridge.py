# SPDX-License-Identifier: MIT OR Apache-2.0
"""A system with two bridges, which gem5 must refuse with a sentence."""

import m5
from m5.objects import *

system = System(
    mem_mode="atomic", mem_ranges=[AddrRange("64MiB")], workload=GilEmuLinux()
)
system.clk_domain = SrcClockDomain(
    clock="1GHz", voltage_domain=VoltageDomain()
)
system.membus = SystemXBar()
system.memory = SimpleMemory(range=system.mem_ranges[0])
system.memory.port = system.membus.mem_side_ports
system.system_port = system.membus.cpu_side_ports
system.first = GilBridge()
system.second = GilBridge()
root = Root(full_system=False, system=system)
m5.instantiate()
m5.simulate(1)
