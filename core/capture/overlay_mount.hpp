// Recognizes files on overlay mounts, as those of containers, by the files of their layers.
//
// The kernel reads the content of such a file from a file of a layer, which is on another file
// system. A BPF program finds the layer's file in a mapping; stat(2) and (since Linux 6.8)
// /proc/PID/maps show the overlay's, with another device.
//
// An overlay mount, or a file system below it, can be a user's own in a user namespace, and its
// files can have any inode number and time. So an overlay file counts only where a process of our
// own user namespace has mapped it, and its mount is one of the process: there, only a
// privileged user mounts an overlay.
//
// See also: target_opener.hpp, which opens files.
//
// Threads: any.

#pragma once

#include <sys/stat.h>

#include <string_view>

#include "core/stacks/address_space.hpp"

namespace ctprof {

// Whether an open file is on an overlay mount of a process in our user namespace. `file` may be
// open by name only (O_PATH). `process`: the open directory /proc/PID.
bool is_on_overlay_of(int process, int file);

// Whether a file of an overlay, by its status, can have its content in that file of a layer: the
// overlay shows the inode number of the layer's file, with the number of the layer in its highest
// bits where the layers are on several file systems. It does not for a file that was copied up.
bool can_be_of_layer(const struct stat& overlay, const FileId& layer);

// Whether the mount of that number is an overlay, by the text of /proc/PID/mountinfo.
bool is_overlay(std::string_view mountinfo, std::uint64_t mount);

}  // namespace ctprof
