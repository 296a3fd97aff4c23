// Resolves the arguments of show and compare to existing files.
//
// See also: loaded_arguments.hpp (reads the files), sides.hpp (combines them).

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/archive/span.hpp"
#include "core/base/result.hpp"
#include "tools/ctprof/options/input_options.hpp"

namespace ctprof::cli {

// Separates the two files of a pair.
inline constexpr std::string_view kPairSeparator = "..";

// Span: windows of a directory that `record --every` fills.
enum class ArgumentForm { File, Pair, Directory, Span };

// An argument and its files: one, the two of A..B, or those of a directory in the order of their
// names. For a span, the only entry is the directory.
struct CaptureArgument {
  std::string text;
  ArgumentForm form = ArgumentForm::File;
  std::vector<std::string> files;
  Span span{};  // the requested time range
};

// Resolves the arguments of each side. An argument that exists is a path; otherwise it is split at
// a `..` between two existing files. Fails if it can be split at several places, if a directory
// contains no ctprof file, or if standard input would be read twice. A missing file is detected
// only when it is read. --since and --until apply only to directories of `record --every`. A
// directory of `record --interleave` becomes two sides for compare, report and flame, and two
// directories of one side for export.
Result<std::vector<std::vector<CaptureArgument>>> resolve_arguments(const InputOptions& options);

// Returns the command line that shows the same windows again, such as "ctprof show log --since
// '2026-11-23 15:00:00'", if an argument is a directory of `record --every`; otherwise an empty
// string. Such a side is named by its directory and times, which are not valid arguments. For
// `report`, it is the command that prints the same as text.
std::string make_span_command(const InputOptions& options);

// Resolves one argument for commands that take one file: a file or a span.
Result<CaptureArgument> resolve_single_argument(const std::string& argument,
                                                const InputOptions& options);

}  // namespace ctprof::cli
