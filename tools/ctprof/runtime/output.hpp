// Prints all output of ctprof: results on standard output, messages on standard error. Only tools/
// prints.
//
// Exit status: 0 success; 1 --fail-on matched; 2 usage error, or input that cannot be read; 3 some
// requested data is missing, with --strict.
//
// Plugins share the process and can print too. So ctprof moves standard output to another
// descriptor before it loads a plugin, and what plugins write to descriptor 1, or leave in stdio's
// buffers, goes to standard error.

#pragma once

#include <string_view>

#include "core/base/result.hpp"
#include "tools/ctprof/options/common_options.hpp"

namespace ctprof::cli {

// Moves standard output. Opens /dev/null on closed descriptors among 0 to 2, so that no file of
// ctprof gets these numbers. REQUIRES: called once, before anything else.
void move_standard_output();

// The descriptor of standard output, or -1 if it was closed.
int output_fd();

// Whether `path` is a name of standard output, such as "-" or /dev/stdout.
bool is_standard_output(std::string_view path);

// Writes all of `text`. Returns 0 or errno.
int write_all(int fd, std::string_view text);

inline constexpr int kSuccess = 0;
inline constexpr int kFindingsFound = 1;
inline constexpr int kFailed = 2;
inline constexpr int kDataMissing = 3;

// Prints the error as one line on standard error. Returns kFailed.
int fail(const Error& error);
int fail(std::string_view sentence);
// Writes `text` to standard error without changes.
void print_to_stderr(std::string_view text);
// Prints a line on standard error, unless --quiet.
void print_note(const CommonOptions& options, std::string_view sentence);

// Writes to standard output. Returns kSuccess, even if the reader has closed the pipe, or kFailed.
int print(std::string_view text);

// A line of progress on standard error that the next one, or a message, replaces. Printable text.
void show_progress(std::string_view line);
// Removes the line of progress, if there is one.
void clear_progress();
// The same, safe in a handler of a signal that ends the program.
void clear_progress_in_handler();

// Whether text on standard output may be colored.
bool use_color(const CommonOptions& options);
// Returns the width of the terminal in columns; 0 if standard output is not one.
unsigned terminal_width();
// Returns the height of the terminal in lines; 24 if standard output is not one.
unsigned terminal_lines();

}  // namespace ctprof::cli
