#include "tools/ctprof/inputs/loaded_arguments.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/archive/span.hpp"
#include "core/archive/time_text.hpp"
#include "core/base/workers.hpp"
#include "core/file/capture_file.hpp"
#include "tools/ctprof/runtime/activity_error.hpp"
#include "tools/ctprof/runtime/load_plugins.hpp"
#include "tools/ctprof/runtime/output.hpp"
#include "tools/ctprof/runtime/privileges.hpp"

namespace ctprof::cli {
namespace {

constexpr std::size_t kMaxReaders = 8;

// A file of an argument.
struct SourceFile {
  std::string path;
  const CaptureArgument* argument;
};

std::vector<SourceFile> list_sources(std::span<const std::vector<CaptureArgument>> sides) {
  std::vector<SourceFile> sources;
  for (const auto& side : sides)
    for (const CaptureArgument& argument : side)
      for (const std::string& path : argument.files) sources.push_back({path, &argument});
  return sources;
}

struct ReadFile {
  Runs runs;
  std::string name;  // of a span; empty otherwise
};

// Notes about missing windows are attached to the first run.
Result<ReadFile> read_span_argument(const CaptureArgument& argument, const Vocabulary& vocabulary) {
  CTPROF_TRY_VALUE(auto spanned, read_span(argument.text, argument.span, vocabulary));
  ReadFile read{std::move(spanned.runs), argument.text + ", " + format_local_time(spanned.from_ns) +
                                             " to " + format_local_time(spanned.until_ns)};
  if (read.runs.size() > 1)
    spanned.messages.push_back("missing data splits the selection into " +
                               std::to_string(read.runs.size()) +
                               " windows, which are shown as runs");
  std::ranges::move(spanned.messages, std::back_inserter(read.runs.front().load_messages));
  return read;
}

Result<ReadFile> read_source(const SourceFile& source, const Vocabulary& vocabulary) {
  if (source.argument->form == ArgumentForm::Span)
    return read_span_argument(*source.argument, vocabulary);
  CTPROF_TRY_VALUE(const auto file, CaptureFile::open(source.path));
  CTPROF_TRY_VALUE(auto runs, file.load_runs(vocabulary));
  return ReadFile{std::move(runs), {}};
}

// Reads the files with the user's own privileges, a few concurrently.
Result<std::vector<ReadFile>> read_sources(std::span<const SourceFile> sources,
                                           const Vocabulary& vocabulary) {
  std::vector<std::optional<Result<ReadFile>>> results(sources.size());
  const auto read = [&]() -> Result<void> {
    share_work(static_cast<unsigned>(std::min(sources.size(), kMaxReaders)), sources.size(),
               [&](unsigned, std::size_t i) {
                 results[i] = with_error_context(std::span(&sources[i].path, 1), "reading", [&] {
                   return read_source(sources[i], vocabulary);
                 });
               });
    return {};
  };
  CTPROF_TRY(without_privileges(read));
  std::vector<ReadFile> files;
  for (auto& file : results) {
    if (!*file) return file->error();
    files.push_back(std::move(**file));
  }
  return files;
}

std::vector<LoadedSide> combine_arguments(std::vector<std::vector<CaptureArgument>> sides,
                                          std::vector<ReadFile> files) {
  std::vector<LoadedSide> loaded_sides;
  auto next = files.begin();
  for (auto& side : sides) {
    loaded_sides.emplace_back();
    for (CaptureArgument& argument : side) {
      LoadedArgument& loaded_argument =
          loaded_sides.back().emplace_back(LoadedArgument{std::move(argument), {}});
      for (std::size_t i = 0; i < loaded_argument.argument.files.size(); ++i, ++next) {
        if (!next->name.empty()) loaded_argument.argument.text = next->name;
        loaded_argument.files.push_back(std::move(next->runs));
      }
    }
  }
  return loaded_sides;
}

bool is_rereadable(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

// Up to this number of files, all rows are read immediately, without reading outlines first.
constexpr std::size_t kMaxImmediateRuns = 2;

bool has_form(std::span<const SourceFile> sources, ArgumentForm form) {
  return std::ranges::any_of(
      sources, [&](const SourceFile& source) { return source.argument->form == form; });
}

}  // namespace

Result<std::vector<LoadedSide>> load_arguments(std::vector<std::vector<CaptureArgument>> sides,
                                               const Vocabulary& vocabulary,
                                               const CommonOptions& options) {
  const std::vector<SourceFile> sources = list_sources(sides);
  CTPROF_TRY_VALUE(auto read, read_sources(sources, vocabulary));
  for (std::size_t i = 0; i < sources.size(); ++i)
    note_read(options, sources[i].path, read[i].runs);
  return combine_arguments(std::move(sides), std::move(read));
}

std::optional<std::vector<LoadedSide>> load_outlines(
    std::span<const std::vector<CaptureArgument>> sides, const CommonOptions& options) {
  const std::vector<SourceFile> sources = list_sources(sides);
  if (sources.size() <= kMaxImmediateRuns || has_form(sources, ArgumentForm::Pair) ||
      has_form(sources, ArgumentForm::Span))
    return std::nullopt;
  std::vector<ReadFile> files;
  const auto read_outlines = [&]() -> Result<void> {
    for (const SourceFile& source : sources) {
      if (!is_rereadable(source.path)) return {};
      CTPROF_TRY_VALUE(const auto file, CaptureFile::open(source.path));
      CTPROF_TRY_VALUE(auto outline, file.load_outline());
      if (!outline) return {};
      files.emplace_back().runs.push_back(std::move(*outline));
    }
    return {};
  };
  if (!without_privileges(read_outlines) || files.size() < sources.size()) return std::nullopt;
  for (std::size_t i = 0; i < sources.size(); ++i)
    note_read(options, sources[i].path, files[i].runs);
  return combine_arguments({sides.begin(), sides.end()}, std::move(files));
}

Result<Snapshot> load_single_capture(const std::string& argument, const Vocabulary& vocabulary,
                                     const InputOptions& options) {
  CTPROF_TRY_VALUE(auto resolved, resolve_single_argument(argument, options));
  if (resolved.form != ArgumentForm::Span) return load_file(argument, vocabulary);
  CTPROF_TRY_VALUE(auto read, read_span_argument(resolved, vocabulary));
  if (read.runs.size() == 1) return std::move(read.runs.front());
  for (const std::string& sentence : read.runs.front().load_messages) print_note(options, sentence);
  return error("reading", argument,
               "missing data splits the selection into " + std::to_string(read.runs.size()) +
                   " windows, but one is required: select one by --since and --until");
}

}  // namespace ctprof::cli
