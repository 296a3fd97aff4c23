// ctprof export: converts a file to another form.

#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/text.hpp"
#include "core/file/file.hpp"
#include "core/render/terminal_text.hpp"
#include "core/window/make_window.hpp"
#include "tools/ctprof/commands/commands.hpp"
#include "tools/ctprof/commands/denet.hpp"
#include "tools/ctprof/commands/export_prometheus.hpp"
#include "tools/ctprof/commands/export_tables.hpp"
#include "tools/ctprof/commands/stack_files.hpp"
#include "tools/ctprof/inputs/loaded.hpp"
#include "tools/ctprof/runtime/activity_error.hpp"
#include "tools/ctprof/runtime/load_plugins.hpp"
#include "tools/ctprof/runtime/output.hpp"
#include "tools/ctprof/runtime/output_file.hpp"
#include "tools/ctprof/runtime/privileges.hpp"
#include "tools/ctprof/runtime/progress.hpp"
#include "tools/ctprof/runtime/redaction.hpp"
#include "tools/ctprof/runtime/text.hpp"

namespace ctprof::cli {
namespace {

// A file layout. To add a form, add a line.
struct FileForm {
  std::string_view name;
  FileLayout layout;
};
constexpr std::string_view kAsColumns = "columns";
constexpr std::array kForms{
    FileForm{"ktstr", FileLayout::Rows},  // for the reference tools
    FileForm{kAsColumns, FileLayout::Columns},
};

// A form that contains only waits.
constexpr std::string_view kDenet = "denet";

const FileForm* find_form(std::string_view name) {
  for (const FileForm& form : kForms)
    if (form.name == name) return &form;
  return nullptr;
}

Error unknown_form(const std::string& given) {
  std::vector<std::string> names;
  for (const FileForm& form : kForms) names.emplace_back(form.name);
  for (const StackForm& form : stack_forms()) names.emplace_back(form.name);
  for (std::string& name : table_export_names()) names.push_back(std::move(name));
  names.emplace_back(kDenet);
  if (given.empty()) return {"missing --to FORM (choose " + joined(names) + ")"};
  return no_choice("to", given, names);
}

// Reduces a window to the state at its end, because the rows layout cannot store a window.
Snapshot end_alone(Snapshot window, const Options& options) {
  const std::size_t ended = window.threads().rows - window.window->living;
  std::string sentence = "rows hold no window: writing the host as it was at the window's end";
  if (ended > 0)
    sentence += ", without the " + count(ended, "thread", "threads") + " that had exited";
  note(options, sentence);
  for (const Column& column : window.threads().columns)
    if (column.def().storage == Storage::Stacks)
      note(options, "rows hold no call stacks: leaving out " + column.def().name);
  return end_of(std::move(window));
}

// Prints notes about lines of unknown kinds, which the rows layout cannot store.
void note_unknown_lines(const Snapshot& snapshot, const Options& options) {
  for (const UnknownRows& table : snapshot.unknown_tables)
    note(options,
         "rows hold no table of the unknown entity '" + table.entity + "': leaving it out");
  if (!snapshot.unknown_lines.empty())
    note(options, "rows hold no lines of unknown kinds: leaving out " +
                      count(snapshot.unknown_lines.size(), "line", "lines"));
}

// Reads the capture to export, with pseudonyms if the user requested them.
Result<Snapshot> read(const std::string& file, const Vocabulary& vocabulary,
                      const Options& options) {
  auto snapshot = load_one(file, vocabulary, options);
  if (!snapshot) return snapshot;
  note_read(options, file, {&*snapshot, 1});
  for (const std::string& sentence : snapshot->told) note(options, sentence);
  if (auto done = redact_as_asked(*snapshot, vocabulary, options); !done) return done.error();
  return snapshot;
}

// Returns the size of the written file in bytes.
Result<std::uint64_t> convert(const std::string& file, const FileForm& form, const Target& target,
                              const Options& options) {
  const auto layouts = load_registry(options, Load::Layouts);
  if (!layouts) return layouts.error();
  auto snapshot = read(file, layouts->vocabulary(), options);
  if (!snapshot) return snapshot.error();
  if (snapshot->window && form.layout == FileLayout::Rows)
    *snapshot = end_alone(std::move(*snapshot), options);
  if (form.layout == FileLayout::Rows) note_unknown_lines(*snapshot, options);
  const auto written = write_file(*snapshot, layouts->vocabulary(), target.destination,
                                  {.layout = form.layout,
                                   .workers = options.jobs,
                                   .sync = options.sync,
                                   .standard_output = output_fd()});
  if (!written) return written.error();
  return written->file_bytes;
}

Result<std::uint64_t> export_denet(const std::string& file, const Target& target,
                                   const Options& options) {
  const auto layouts = load_registry(options, Load::Layouts);
  if (!layouts) return layouts.error();
  auto snapshot = read(file, layouts->vocabulary(), options);
  if (!snapshot) return snapshot.error();
  return write_to(target, options, [&](Sink& sink) { return write_denet(*snapshot, sink); });
}

// Returns the kind of file that an earlier export into that form wrote.
FileKind kind_of(const FileForm* form, const StackForm* stack_form, const TableExport* table) {
  if (form) return kSnapshotFile;
  if (table) return {table->name, {table->mark}};
  if (stack_form) return {stack_form->name, {stack_form->mark}};
  return {kDenet, {"{\"ts_ms\":"}};
}

// Rejects options that apply only to other forms.
Result<void> check_fit(const Options& options, bool is_table) {
  if (options.tables.is_said && (!is_table || options.to == kPrometheus))
    return Error{"--rows is for tables: ndjson, csv, parquet"};
  if (options.csv_safe && options.to != "csv") return Error{"--csv-safe requires --to csv"};
  if (options.metrics && !is_table)
    return Error{"--metrics is for figures: " + joined(table_export_names())};
  return {};
}

}  // namespace

int run_export(const Options& given) {
  Options options = given;
  if (!options.tables.listen.empty())
    return options.to == kPrometheus ? listen_prometheus(options)
                                     : fail("--listen requires --to prometheus");
  if (options.arguments.empty()) return fail("missing FILE; see `ctprof export --help`");
  if (!options.redact && !options.redact_key.empty()) return fail("--redact-key requires --redact");
  if (options.redact && options.to.empty()) options.to = kAsColumns;
  const FileForm* form = find_form(options.to);
  const StackForm* stack_form = find_stack_form(options.to);
  const TableExport* table = find_table_export(options.to);
  if (!form && !stack_form && !table && options.to != kDenet) return fail(unknown_form(options.to));
  if (auto fit = check_fit(options, table != nullptr); !fit) return fail(fit.error());
  const auto target = target_of(options, kind_of(form, stack_form, table));
  if (!target) return fail(target.error());
  const std::string& file = options.arguments.front();
  return naming(options.arguments, "exporting", [&] {
    const Busy busy(options, "writing " + target->name);
    if (table) return table->run(options, *target);
    const auto written = form         ? convert(file, *form, *target, options)
                         : stack_form ? export_stacks(file, *stack_form, *target, options)
                                      : export_denet(file, *target, options);
    return written ? tell_written(options, *target, *written) : fail(written.error());
  });
}

}  // namespace ctprof::cli
