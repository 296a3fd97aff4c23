// Writes windows to files of a directory. At any time each file contains complete windows, followed
// at most by one incomplete window.
//
// A file gets its name when its first window is complete and, if requested, synced to disk. Later
// windows are appended and synced; a window that cannot be written completely is cut off again.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ctprof {

// All functions return 0 or an errno. The names are those of files in the open directory.

// Creates a file. Returns EEXIST if it exists.
int write_new_file(int directory, const std::string& name, std::string_view bytes, bool sync);

// Appends after the first `complete_bytes` bytes, and cuts off everything after them. Returns
// ESTALE if the file is shorter, and EPERM if it is not a regular file of this user with a single
// link.
int append_to_file(int directory, const std::string& name, std::uint64_t complete_bytes,
                   std::string_view bytes, bool sync);

// Replaces the contents of a file, or creates it.
int replace_file(int directory, const std::string& name, std::string_view text);

}  // namespace ctprof
