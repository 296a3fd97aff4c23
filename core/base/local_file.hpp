// Whether reading a file can wait for a server that never answers, and copies of files whose
// server may.
//
// Threads: safe.

#pragma once

#include <sys/types.h>

#include <cstdint>

#include "ctprof/files.hpp"

namespace ctprof {

// The device of the root directory, which ctprof itself runs on; 0: unknown.
std::uint64_t root_device();

// Whether a disk or the memory of this host has the file, or the file system of the root directory:
// then reading it ends. `device` is the open file's st_dev. On an overlay mount, files of several
// layers have several devices: that of the root directory is found by its mount, too (from Linux
// 5.8 on).
bool is_local(int fd, dev_t device);

// A copy of the file's first `bytes` in memory, positioned at their end. None if they cannot be
// read: errors, or a file that became shorter.
sdk::Fd copy_in_memory(int fd, std::uint64_t bytes);

}  // namespace ctprof
