// Opens only regular files, tests whether reading a file can block because its server never
// answers, and copies files in memory.
//
//   const sdk::Fd path_fd(::open(path, O_PATH | O_CLOEXEC));  // no effect on devices and pipes
//   if (is_regular(path_fd.get(), status)) fd = reopen_for_reading(path_fd.get());
//
// Threads: safe.

#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstdint>
#include <string>

#include "ctprof/files.hpp"

namespace ctprof {

// Returns whether a descriptor (O_PATH suffices) refers to a regular file, and stores its status.
// Returns false for -1.
bool is_regular(int descriptor, struct stat& status);

// Opens the file of an O_PATH descriptor for reading, with the rights of the thread. Returns an
// invalid descriptor on failure. REQUIRES: is_regular.
sdk::Fd reopen_for_reading(int descriptor);

// Returns the path of an open file as in /proc/self/maps; empty: unknown.
std::string read_path_of_descriptor(int fd);

// Returns the device of the root directory of ctprof; 0: unknown.
std::uint64_t read_root_device();

// Returns whether reading the file always ends, because it is on a disk, in memory, or on the file
// system of the root directory. `device`: st_dev of the open file. On an overlay mount, files of
// several layers have several devices, so the mount of the root directory is compared as well
// (Linux 5.8 or later).
bool is_local(int fd, dev_t device);

// Copies the first `bytes` of the file in memory; the copy is positioned at its end. Returns an
// invalid descriptor on read errors, or if the file became shorter.
sdk::Fd copy_in_memory(int fd, std::uint64_t bytes);

}  // namespace ctprof
