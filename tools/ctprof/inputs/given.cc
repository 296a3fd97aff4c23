#include "tools/ctprof/inputs/given.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/archive/directory.hpp"
#include "core/file/read/load.hpp"

namespace ctprof::cli {
namespace {

namespace fs = std::filesystem;

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

bool is_directory(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

// Whether the argument names an existing file, or one of its captures.
bool names_file(const std::string& argument) {
  const std::string path = name_of_capture(argument).path;
  return argument == "-" || (!path.empty() && exists(path) && !is_directory(path));
}

// Returns the files in the order of their names. Skips everything but regular files: reading a pipe
// that another user created could block ctprof.
Result<std::vector<std::string>> files_in(const std::string& directory) {
  std::error_code failed;
  std::vector<std::string> files;
  for (fs::directory_iterator it(directory, failed), end; !failed && it != end;
       it.increment(failed))
    if (std::error_code gone;
        it->path().filename().string().ends_with(kFileSuffix) && it->is_regular_file(gone))
      files.push_back(it->path().string());
  if (failed) return errno_error("looking into the directory", directory, failed.value());
  if (files.empty())
    return error("looking into the directory", directory,
                 "it has no file named *.ctprof.zst, as `ctprof record --repeat` makes them");
  std::ranges::sort(files);
  return files;
}

// Returns the positions of each `..` between the names of two existing files.
std::vector<std::size_t> places_to_split(const std::string& text) {
  std::vector<std::size_t> places;
  for (auto at = text.find(kPairMark); at != text.npos; at = text.find(kPairMark, at + 1))
    if (names_file(text.substr(0, at)) && names_file(text.substr(at + kPairMark.size())))
      places.push_back(at);
  return places;
}

// Whether the argument is a directory of `record --every`. Such a directory does not define runs,
// so `noise` reads its files one by one.
bool is_span(const std::string& text, const Options& options) {
  return options.verb != "noise" && is_directory(text) && is_archive(text);
}

Result<Given> look_up(const std::string& text, const Options& options, const Span& span) {
  if (is_span(text, options)) return Given{text, Form::Span, {text}, span};
  if (span.since || span.until)
    return error("reading", text,
                 "--since and --until require a directory that `ctprof record --every` writes");
  if (is_directory(text)) {
    auto files = files_in(text);
    if (!files) return files.error();
    return Given{text, Form::Directory, std::move(*files), {}};
  }
  if (names_file(text)) return Given{text, Form::File, {text}, {}};
  const auto places = places_to_split(text);
  if (places.size() > 1)
    return error("reading", text,
                 "it can be split at more than one '..'; rename a file, or give the two snapshots "
                 "as two arguments");
  if (places.empty() && text.find(kPairMark, 1) != text.npos)
    return error("reading", text, "no such file, and not A..B with two existing files");
  if (places.empty()) return Given{text, Form::File, {text}, {}};  // reading it says why not
  return Given{
      text, Form::Pair, {text.substr(0, places[0]), text.substr(places[0] + kPairMark.size())}, {}};
}

using Arguments = std::vector<std::string>;

// Returns the two sides in a directory of `record --interleave`, or none for another directory.
std::optional<std::vector<Arguments>> sides_in(const std::string& directory) {
  const std::string in = directory + (directory.ends_with('/') ? "" : "/");
  const std::string a = in + "a", b = in + "b";
  if (!is_directory(a) || !is_directory(b)) return std::nullopt;
  return std::vector<Arguments>{{a}, {b}};
}

// Replaces a directory of `record --interleave` that is the only argument: by two sides for
// commands that compare, and by two arguments of one side for tables, which have no sides.
void take_sides(std::vector<Arguments>& asked, const Options& options) {
  const bool compares =
      options.verb == "compare" || options.verb == "report" || options.verb == "flame";
  if (asked.size() != 1 || asked.front().size() != 1) return;
  if (!compares && options.verb != "export") return;
  auto both = sides_in(asked.front().front());
  if (!both) return;
  if (compares)
    asked = std::move(*both);
  else
    asked = {{(*both)[0].front(), (*both)[1].front()}};
}

}  // namespace

Result<Given> look_up_one(const std::string& argument, const Options& options) {
  const Span span = options.spans.empty() ? Span{} : options.spans.front();
  if (is_span(argument, options) || span.since || span.until)
    return look_up(argument, options, span);
  return Given{argument, Form::File, {argument}, {}};
}

// Resolves the arguments of each side. Standard input can be read only once.
Result<std::vector<std::vector<Given>>> look_up(const Options& options) {
  std::vector<Arguments> asked = options.vs;
  if (asked.empty())
    for (const std::string& argument : options.arguments) asked.push_back({argument});
  else
    asked.insert(asked.begin(), options.arguments);
  take_sides(asked, options);
  if (options.spans.size() > asked.size())
    return Error{
        "--since or --until is given " + std::to_string(options.spans.size()) +
        " times, once for each side, and there " +
        (asked.size() == 1 ? "is 1 side" : "are " + std::to_string(asked.size()) + " sides")};
  std::vector<std::vector<Given>> sides;
  bool reads_input = false;
  for (const auto& arguments : asked) {
    const std::size_t side = sides.size();
    const Span span =
        options.spans.empty() ? Span{} : options.spans[std::min(side, options.spans.size() - 1)];
    sides.emplace_back();
    for (const std::string& argument : arguments) {
      if (argument == "-" && std::exchange(reads_input, true))
        return Error{"standard input can be read as one file, not as two"};
      auto given = look_up(argument, options, span);
      if (!given) return given.error();
      sides.back().push_back(std::move(*given));
    }
  }
  return sides;
}

}  // namespace ctprof::cli
