// Opens regular files, and only these: whether reading a file can wait for a server that never
// answers, and copies of files whose server may.
//
//   const sdk::Fd named(::open(path, O_PATH | O_CLOEXEC));  // has no effect on devices and pipes
//   if (is_regular(named.get(), status)) fd = open_named(named.get());
//
// Threads: safe.

#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstdint>
#include <string>

#include "ctprof/files.hpp"

namespace ctprof {

// Whether an open descriptor, which may only name its file (O_PATH), is of a regular file. Fills in
// the status of the file; false for no descriptor (-1).
bool is_regular(int named, struct stat& status);

// Opens the file that a descriptor names, to be read, with the rights of the thread. None: it may
// not be read. REQUIRES: is_regular.
sdk::Fd open_named(int named);

// The path of an open file, as /proc/self/maps lists it; empty: it is unknown.
std::string path_of_open_file(int fd);

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
