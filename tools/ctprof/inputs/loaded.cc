#include "tools/ctprof/inputs/loaded.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/archive/span.hpp"
#include "core/archive/when.hpp"
#include "core/base/workers.hpp"
#include "core/file/file.hpp"
#include "tools/ctprof/runtime/activity_error.hpp"
#include "tools/ctprof/runtime/load_plugins.hpp"
#include "tools/ctprof/runtime/output.hpp"
#include "tools/ctprof/runtime/privileges.hpp"

namespace ctprof::cli {
namespace {

constexpr std::size_t kMostReaders = 8;

// A file of an argument.
struct Source {
  std::string path;
  const Given* given;
};

std::vector<Source> sources_of(std::span<const std::vector<Given>> sides) {
  std::vector<Source> sources;
  for (const auto& side : sides)
    for (const Given& given : side)
      for (const std::string& path : given.files) sources.push_back({path, &given});
  return sources;
}

struct Read {
  Runs runs;
  std::string name;  // of a span; empty otherwise
};

// Notes about missing windows are attached to the first run.
Result<Read> read_span_of(const Given& given, const Vocabulary& vocabulary) {
  auto spanned = read_span(given.text, given.span, vocabulary);
  if (!spanned) return spanned.error();
  Read read{std::move(spanned->runs), given.text + ", " + local_time(spanned->from_ns) + " to " +
                                          local_time(spanned->until_ns)};
  if (read.runs.size() > 1)
    spanned->told.push_back("missing data splits the selection into " +
                            std::to_string(read.runs.size()) + " windows, which are shown as runs");
  std::ranges::move(spanned->told, std::back_inserter(read.runs.front().told));
  return read;
}

Result<Read> read_source(const Source& source, const Vocabulary& vocabulary) {
  if (source.given->form == Form::Span) return read_span_of(*source.given, vocabulary);
  auto runs = load_runs(source.path, vocabulary);
  if (!runs) return runs.error();
  return Read{std::move(*runs), {}};
}

// Reads the files with the user's own privileges, a few concurrently.
Result<std::vector<Read>> read_all(std::span<const Source> sources, const Vocabulary& vocabulary) {
  std::vector<std::optional<Result<Read>>> found(sources.size());
  const auto read = [&]() -> Result<void> {
    share(static_cast<unsigned>(std::min(sources.size(), kMostReaders)), sources.size(),
          [&](unsigned, std::size_t i) {
            found[i] = naming(std::span(&sources[i].path, 1), "reading",
                              [&] { return read_source(sources[i], vocabulary); });
          });
    return {};
  };
  if (auto done = without_privileges(read); !done) return done.error();
  std::vector<Read> files;
  for (auto& file : found) {
    if (!*file) return file->error();
    files.push_back(std::move(**file));
  }
  return files;
}

std::vector<LoadedSide> loaded(std::vector<std::vector<Given>> sides, std::vector<Read> files) {
  std::vector<LoadedSide> loaded;
  auto next = files.begin();
  for (auto& side : sides) {
    loaded.emplace_back();
    for (Given& given : side) {
      Loaded& one = loaded.back().emplace_back(Loaded{std::move(given), {}});
      for (std::size_t i = 0; i < one.given.files.size(); ++i, ++next) {
        if (!next->name.empty()) one.given.text = next->name;
        one.files.push_back(std::move(next->runs));
      }
    }
  }
  return loaded;
}

bool can_be_read_again(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

// Up to this number, runs are read as a whole immediately, whatever their size.
constexpr std::size_t kFewRuns = 2;

bool has_form(std::span<const Source> sources, Form form) {
  return std::ranges::any_of(sources,
                             [&](const Source& source) { return source.given->form == form; });
}

}  // namespace

Result<std::vector<LoadedSide>> load_all(std::vector<std::vector<Given>> sides,
                                         const Vocabulary& vocabulary, const Options& options) {
  const std::vector<Source> sources = sources_of(sides);
  auto read = read_all(sources, vocabulary);
  if (!read) return read.error();
  for (std::size_t i = 0; i < sources.size(); ++i)
    note_read(options, sources[i].path, (*read)[i].runs);
  return loaded(std::move(sides), std::move(*read));
}

std::optional<std::vector<LoadedSide>> load_outlines(std::span<const std::vector<Given>> sides,
                                                     const Options& options) {
  const std::vector<Source> sources = sources_of(sides);
  if (sources.size() <= kFewRuns || has_form(sources, Form::Pair) || has_form(sources, Form::Span))
    return std::nullopt;
  std::vector<Read> files;
  const auto read_outlines = [&]() -> Result<void> {
    for (const Source& source : sources) {
      if (!can_be_read_again(source.path)) return {};
      auto outline = load_outline(source.path);
      if (!outline || !*outline) return {};
      files.emplace_back().runs.push_back(std::move(**outline));
    }
    return {};
  };
  if (!without_privileges(read_outlines) || files.size() < sources.size()) return std::nullopt;
  for (std::size_t i = 0; i < sources.size(); ++i)
    note_read(options, sources[i].path, files[i].runs);
  return loaded({sides.begin(), sides.end()}, std::move(files));
}

Result<Snapshot> load_one(const std::string& argument, const Vocabulary& vocabulary,
                          const Options& options) {
  auto given = look_up_one(argument, options);
  if (!given) return given.error();
  if (given->form != Form::Span) return load_file(argument, vocabulary);
  auto read = read_span_of(*given, vocabulary);
  if (!read) return read.error();
  if (read->runs.size() == 1) return std::move(read->runs.front());
  for (const std::string& sentence : read->runs.front().told) note(options, sentence);
  return error("reading", argument,
               "missing data splits the selection into " + std::to_string(read->runs.size()) +
                   " windows, but one is required: select one by --since and --until");
}

}  // namespace ctprof::cli
