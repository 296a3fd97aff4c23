#!/bin/busybox sh
# shellcheck shell=dash
# The guest's first program: mounts the usual file systems, runs the command, writes its output and exit status to /out, and powers off.
export PATH=/bin:/sbin:/usr/bin:/usr/sbin HOME=/root LC_ALL=C
mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs run /run
mount -t tmpfs shm /dev/shm
mount -t devpts pts /dev/pts
mount -t cgroup2 cgroup /sys/fs/cgroup
mount -t tracefs tracing /sys/kernel/tracing
mount -t debugfs debug /sys/kernel/debug
mount -t bpf bpf /sys/fs/bpf
sh /command >/out/output 2>&1
echo $? >/out/status
kill -9 -1
[ ! -e /disk/swap ] || swapoff /disk/swap
sync
mount -o remount,ro /
poweroff -f
