#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# Debian's weston on the guest's display, with the clients that are its arguments; without any,
# one that draws by EGL and one that draws by itself. They are there still when this ends.
[ $# -gt 0 ] || set -- weston-simple-egl weston-simple-shm
export XDG_RUNTIME_DIR=/tmp/weston WAYLAND_DISPLAY=wayland-gil
mkdir -m 700 "$XDG_RUNTIME_DIR"
# Before weston 11, it takes a terminal by itself.
if weston --help | grep -q -e --tty; then
	tty=--tty=1
fi
weston --backend=drm-backend.so --socket="$WAYLAND_DISPLAY" --idle-time=0 \
	--continue-without-input ${tty:+"$tty"} >"$XDG_RUNTIME_DIR"/log 2>&1 &
for _ in 1 2 3 4 5 6 7 8 9 10; do
	[ -S "$XDG_RUNTIME_DIR/$WAYLAND_DISPLAY" ] && break
	sleep 0.2
done
if ! [ -S "$XDG_RUNTIME_DIR/$WAYLAND_DISPLAY" ]; then
	cat "$XDG_RUNTIME_DIR"/log >&2
	exit 1
fi
grep -m 1 'GL renderer' "$XDG_RUNTIME_DIR"/log
for client; do
	$client &
done
sleep 3
