# SPDX-License-Identifier: MIT OR Apache-2.0
"""
The run scripts' --watch: which file on this machine a watched function is in.
"""

import argparse
import os
import stat
from typing import Dict, List, Optional

import m5
from m5.objects import GilWatch
from m5.util import fatal

# Links followed before a path is taken for a loop.
LINKS_MAX = 40
# Of an entry in a cpio archive ("newc"): magic, 13 numbers, then its name.
HEADER = 110


def add_options(parser: argparse.ArgumentParser) -> None:
    watch = parser.add_argument_group("watching functions")
    watch.add_argument(
        "--watch",
        action="append",
        default=[],
        metavar="SYMBOL",
        help="a line for every call of FUNCTION of the kernel, MODULE:FUNCTION, "
        "PROGRAM:FUNCTION or LIBRARY:FUNCTION; @FILE behind it names the ELF "
        "file",
    )
    watch.add_argument("--watch-limit", type=int, default=1000, metavar="LINES")
    watch.add_argument(
        "--watch-output",
        default="",
        metavar="FILE",
        help="in the output folder; else standard error",
    )


class Folder:
    """The programs and libraries of a sysroot, and one of this machine."""

    def __init__(self, root: str, program: str):
        self.root = root
        self.program = program

    def files(self, name: str) -> List[str]:
        """ELF files that `name` may mean: a path, or a file's own name."""
        if os.path.basename(self.program) == os.path.basename(name):
            return [self.program]
        if "/" in name:
            found = [os.path.join(self.root, name.lstrip("/"))]
        else:
            found = [
                os.path.join(folder, name)
                for folder, _, names in os.walk(self.root)
                if name in names
            ]
        found = {self.resolved(path) for path in found}
        return sorted(path for path in found if is_elf(path))

    def resolved(self, path: str) -> str:
        """Absolute links are the guest's, and so below the root."""
        for _ in range(LINKS_MAX):
            if not os.path.islink(path):
                break
            target = os.readlink(path)
            base = self.root if target[0] == "/" else os.path.dirname(path)
            path = os.path.join(base, target.lstrip("/"))
        return os.path.realpath(path)

    def has_module(self, name: str) -> bool:
        return False


class Archive:
    """The files of a guest's initrd: archives behind each other."""

    def __init__(self, path: str):
        self.path = path
        self.entries: Dict[str, tuple] = {}
        with open(path, "rb") as file:
            self.bytes = file.read()
        at = 0
        while at < len(self.bytes):
            at = self.add(at) if self.bytes[at] else at + 4

    def add(self, at: int) -> int:
        if self.bytes[at : at + 5] != b"07070":
            fatal(
                f"--watch: {self.path} is no plain cpio archive: name the "
                "file of the program or library behind a @"
            )
        numbers = [
            int(self.bytes[at + 6 + 8 * i : at + 14 + 8 * i], 16)
            for i in range(13)
        ]
        mode, size, name_size = numbers[1], numbers[6], numbers[11]
        name = self.bytes[at + HEADER : at + HEADER + name_size - 1]
        data = (at + HEADER + name_size + 3) & ~3
        self.entries[plain(name.decode())] = (mode, data, size)
        return (data + size + 3) & ~3

    def contents(self, path: str) -> Optional[bytes]:
        """Of the file behind links at the end of a path."""
        for _ in range(LINKS_MAX):
            mode, data, size = self.entries.get(path, (0, 0, 0))
            found = self.bytes[data : data + size]
            if not stat.S_ISLNK(mode):
                return found if stat.S_ISREG(mode) else None
            path = plain(os.path.join(os.path.dirname(path), found.decode()))
        return None

    def files(self, name: str) -> List[str]:
        """ELF files that `name` may mean, unpacked in the output folder."""
        paths = [
            path
            for path in self.entries
            if not path.endswith(".ko")
            and (path == plain(name) if "/" in name else is_named(path, name))
        ]
        found = {self.contents(path) for path in sorted(paths)} - {None}
        elf = [data for data in found if data.startswith(b"\x7fELF")]
        return [self.unpack(name, i, data) for i, data in enumerate(sorted(elf))]

    def unpack(self, name: str, number: int, data: bytes) -> str:
        file = f"watched-{number}-{os.path.basename(name)}"
        place = os.path.join(os.path.abspath(m5.options.outdir), file)
        with open(place, "wb") as out:
            out.write(data)
        return place

    def has_module(self, name: str) -> bool:
        wanted = os.path.basename(name).replace("-", "_")
        wanted = wanted if wanted.endswith(".ko") else wanted + ".ko"
        return any(
            os.path.basename(path).replace("-", "_") == wanted
            for path in self.entries
        )


def plain(path: str) -> str:
    """Without what does not tell paths in the guest apart."""
    return os.path.normpath("/" + path).lstrip("/")


def is_named(path: str, name: str) -> bool:
    return os.path.basename(path) == name


def is_elf(path: str) -> bool:
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def functions(asked: str, guest) -> List[str]:
    """GilWatch's functions; a name may exist for both architectures."""
    name, _, function = asked.partition("@")[0].rpartition(":")
    if "@" in asked or not name:
        return [asked]
    files = guest.files(name)
    if not files and not guest.has_module(name):
        fatal(
            f"--watch {asked}: the guest has no program, library or kernel "
            "module of that name"
        )
    return [f"{name}:{function}@{file}" for file in files] or [asked]


def watch_for(args, guest) -> GilWatch:
    """The watch that the options ask for, of a guest with these files."""
    return GilWatch(
        functions=[one for asked in args.watch for one in functions(asked, guest)],
        limit=args.watch_limit,
        output=args.watch_output,
    )
