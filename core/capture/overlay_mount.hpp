// Recognizes files on overlay mounts, such as those of containers, by the files of their layers.
//
// The kernel reads the contents of such a file from a file of a layer, which is on another file
// system. A BPF program finds the layer's file in a mapping. stat(2) and (since Linux 6.8)
// /proc/PID/maps show the overlay's file, with another device.
//
// In a user namespace, unprivileged users can mount an overlay, or a file system below it, whose
// files have arbitrary inode numbers and times. So an overlay file counts only if a process in the
// user namespace of ctprof has mapped it, and if its mount belongs to that process: there, only a
// privileged user mounts an overlay.
//
// See also: target_opener.hpp, which opens files.
//
// Threads: any.

#pragma once

#include <cstdint>
#include <string_view>

#include "core/stacks/address_space.hpp"

namespace ctprof {

// Returns whether an open file is on an overlay mount of a process in our user namespace. `file`
// may be an O_PATH descriptor. `process`: the open directory /proc/PID.
bool is_on_overlay_of(int process, int file);

// Returns whether an overlay file with this inode number can have its contents in that file of a
// layer. The overlay shows the inode number of the layer's file; if the layers are on several file
// systems, the highest bits hold the number of the layer. A file that was copied up keeps its
// number: the caller compares size and ctime, too, which the overlay shows as those of the file
// that has the contents.
bool can_be_layer_file(std::uint64_t overlay_inode, const FileId& layer);

// Returns whether the mount with this id is an overlay. `mountinfo`: text of /proc/PID/mountinfo.
bool is_overlay(std::string_view mountinfo, std::uint64_t mount);

}  // namespace ctprof
