#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# Debian's X server on the guest's display, with a client that draws by EGL, in a window that
# grows; it is there still when this ends.
cat >/tmp/xorg.conf <<'END'
Section "ServerFlags"
	Option "AutoAddDevices" "false"
	Option "AutoAddGPU" "false"
EndSection
Section "Device"
	Identifier "display"
	Driver "modesetting"
	Option "kmsdev" "/dev/dri/card0"
EndSection
END
Xorg :1 vt1 -config /tmp/xorg.conf -novtswitch -nolisten tcp -logfile /tmp/xorg.log >/dev/null 2>&1 &
for _ in 1 2 3 4 5 6 7 8 9 10; do
	[ -S /tmp/.X11-unix/X1 ] && break
	sleep 0.2
done
if ! [ -S /tmp/.X11-unix/X1 ]; then
	cat /tmp/xorg.log >&2
	exit 1
fi
export DISPLAY=:1
es2_info
es2gears_x11 &
sleep 1
xdotool search --sync --name es2gears windowsize 600 400
sleep 1
