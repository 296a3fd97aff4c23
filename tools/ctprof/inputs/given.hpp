// What the arguments of show and compare name: files that are there.
//
// Not here: reading them, and what they mean together (sides.hpp).

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/archive/span.hpp"
#include "core/base/result.hpp"
#include "tools/ctprof/options/options.hpp"

namespace ctprof::cli {

// Between the two files of a pair.
inline constexpr std::string_view kPairMark = "..";

// Span: a directory that `record --every` fills.
enum class Form { File, Pair, Directory, Span };

// An argument, and the files that it stands for: one, the two of A..B, or those of a directory in
// the order of their names. Of a span it is the directory.
struct Given {
  std::string text;
  Form form = Form::File;
  std::vector<std::string> files;
  Span span{};  // that is asked for
};

// The arguments of each side. One that exists is a path; else it is split at a `..` where both
// halves are files. Fails where it can be split at several places, where a directory has no file of
// ours, and where standard input would be read twice. A file that is not there is found out when it
// is read. --since and --until fit directories of `record --every` alone. A directory of `record
// --interleave` is two sides for compare, report and flame, and two directories of one side for
// export.
Result<std::vector<std::vector<Given>>> look_up(const Options& options);

// The same of one argument, for verbs that take one file: a file, or a span.
Result<Given> look_up_one(const std::string& argument, const Options& options);

}  // namespace ctprof::cli
