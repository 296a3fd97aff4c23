// Windows put into files of a directory, so that at any instant each file is there with whole
// windows, at most with the beginning of one more behind them.
//
// A file gets its name when its first window is whole and, if asked for, on the disk. Later ones
// are appended and synced; what cannot be written to its end is cut off again.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ctprof {

// Returns 0, or the errno. The names are of files in the open directory.

// REQUIRES: there is no such file; EEXIST otherwise.
int write_new_file(int directory, const std::string& name, std::string_view bytes, bool sync);

// `whole` are the bytes that count of the file as it is: what stands behind them is cut off. ESTALE
// where it has fewer, or is no regular file.
int append_to_file(int directory, const std::string& name, std::uint64_t whole,
                   std::string_view bytes, bool sync);

// Puts the text in place of a file that may be there.
int replace_file(int directory, const std::string& name, std::string_view text);

}  // namespace ctprof
