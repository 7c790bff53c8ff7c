#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Boots a guest under scripted_host.c and runs the driver's own tests, and those
# of tests/guest that need no board, in it.
#
#   KDIR=linux-headers KERNEL=vmlinuz INIT=gil-init synthetic-driver/tests/run.sh
#
# KDIR: build folder of the kernel KERNEL; INIT: gil-init, linked statically.
# SMP: number of processors; with more than one, time is the wall's, and the
# tests of when waits end are left out.
set -euo pipefail
: "${KDIR:?the kernel build folder}" "${KERNEL:?the kernel}" "${INIT:?gil-init}"
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
smp=${SMP:-1}
clock=(-icount shift=0,sleep=off)
[ "$smp" = 1 ] || clock=(-accel tcg,thread=multi)

compile() {
	aarch64-linux-gnu-gcc -O2 -Wall -Wextra -Werror -pthread -static \
		-I "$here/../uapi" -idirafter /usr/include -o "$2" "$1"
}

zeros() {
	head -c "$1" /dev/zero
}

# One entry of a cpio archive (newc): name, mode, file or nothing.
entry() {
	local size=0
	[ -z "${3-}" ] || size=$(stat -c %s "$3")
	printf '070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x' \
		$((++inode)) "$2" 0 0 1 0 "$size" 0 0 0 0 $((${#1} + 1)) 0
	printf '%s\0' "$1"
	zeros $((-(111 + ${#1}) & 3))
	[ -z "${3-}" ] || cat "$3"
	zeros $((-size & 3))
}

# The image: init, the module, one program.
image() {
	local folder inode=0
	compile "$1" "$work/program"
	echo '{"argv": ["/bin/program"]}' >"$work/run.json"
	for folder in bin etc etc/gil usr usr/lib usr/lib/gil; do
		entry "$folder" $((8#040755))
	done
	entry init $((8#100755)) "$INIT"
	entry bin/program $((8#100755)) "$work/program"
	entry usr/lib/gil/gil.ko $((8#100644)) "$work/driver/gil.ko"
	entry etc/gil/run.json $((8#100644)) "$work/run.json"
	entry TRAILER!!! 0
}

boot() {
	timeout 120 qemu-system-aarch64 -M virt,memory-backend=ram,dtb-randomness=off \
		-object memory-backend-memfd,id=ram,size=512M,share=on -m 512M \
		-cpu cortex-a57 -smp "$smp" "${clock[@]}" -rtc clock=vm -display none \
		-monitor none -nodefaults -no-reboot -serial file:"$work/console" \
		-kernel "$KERNEL" -initrd "$work/initrd" \
		-append "console=ttyAMA0 quiet nokaslr panic=-1 mem=480M" \
		-plugin "$work/host.so" 2>&1 || true
}

make -s -C "$here/.." KDIR="$KDIR" BUILD="$work/driver" W=1
cc -O2 -Wall -Wextra -fPIC -shared -o "$work/host.so" "$here/scripted_host.c"
failed=0
for source in "$here"/scripted.c "$here"/../../tests/guest/driver_*.c; do
	case "$smp:$source" in
	1:*) ;;
	*driver_signals.c | *driver_waits.c) continue ;;
	esac
	echo "== $(basename "$source")"
	image "$source" >"$work/initrd"
	boot | tee "$work/output"
	grep -qx 'exited: code 0' "$work/output" || { failed=1; cat "$work/console"; }
done
exit $failed
