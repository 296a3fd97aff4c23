// ctprof export: converts a file to another form.

#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/text.hpp"
#include "core/file/file.hpp"
#include "core/render/terminal_text.hpp"
#include "core/snapshot/file_extras.hpp"
#include "core/window/make_window.hpp"
#include "tools/ctprof/commands/commands.hpp"
#include "tools/ctprof/commands/denet.hpp"
#include "tools/ctprof/commands/export_prometheus.hpp"
#include "tools/ctprof/commands/export_tables.hpp"
#include "tools/ctprof/commands/stack_files.hpp"
#include "tools/ctprof/inputs/loaded_arguments.hpp"
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
constexpr std::string_view kColumnsForm = "columns";
constexpr std::array kFileForms{
    FileForm{"ktstr", FileLayout::Rows},  // for the reference tools
    FileForm{kColumnsForm, FileLayout::Columns},
};

// A form that contains only waits.
constexpr std::string_view kDenet = "denet";

const FileForm* find_file_form(std::string_view name) {
  for (const FileForm& form : kFileForms)
    if (form.name == name) return &form;
  return nullptr;
}

Error unknown_form_error(const std::string& word) {
  std::vector<std::string> names;
  for (const FileForm& form : kFileForms) names.emplace_back(form.name);
  for (const StackFormat& form : get_stack_formats()) names.emplace_back(form.name);
  for (std::string& name : table_export_names()) names.push_back(std::move(name));
  names.emplace_back(kDenet);
  if (word.empty()) return {"missing --to FORM (choose " + join_texts(names) + ")"};
  return invalid_choice_error("to", word, names);
}

// Reduces a window to the state at its end, because the rows layout cannot store a window.
Snapshot reduce_to_end(Snapshot window, const Options& options) {
  const std::size_t exited = window.threads().rows - window.window->living_threads;
  std::string sentence =
      "the rows layout cannot store a window: writing the host as it was at the window's end";
  if (exited > 0)
    sentence += ", without the " + format_count(exited, "thread", "threads") + " that had exited";
  print_note(options, sentence);
  for (const Column& column : window.threads().columns)
    if (column.def().storage == Storage::Stacks)
      print_note(options,
                 "the rows layout cannot store call stacks: leaving out " + column.def().name);
  return closing_snapshot(std::move(window));
}

// Prints notes about lines of unknown kinds, which the rows layout cannot store.
void note_unknown_lines(const Snapshot& snapshot, const Options& options) {
  for (const UnknownRows& table : snapshot.extras->unknown_tables)
    print_note(options, "the rows layout cannot store the table of the unknown entity '" +
                            table.entity + "': leaving it out");
  if (!snapshot.extras->unknown_lines.empty())
    print_note(options, "the rows layout cannot store lines of unknown kinds: leaving out " +
                            format_count(snapshot.extras->unknown_lines.size(), "line", "lines"));
}

// Reads the capture to export, with pseudonyms if the user requested them.
Result<Snapshot> read_capture(const std::string& file, const Vocabulary& vocabulary,
                              const Options& options) {
  CTPROF_TRY_VALUE(auto snapshot, load_single_capture(file, vocabulary, options));
  note_read(options, file, {&snapshot, 1});
  for (const std::string& sentence : snapshot.load_messages) print_note(options, sentence);
  CTPROF_TRY(redact_if_requested(snapshot, vocabulary, options));
  return snapshot;
}

// Returns the size of the written file in bytes.
Result<std::uint64_t> convert_file(const std::string& file, const FileForm& form,
                                   const Target& target, const Options& options) {
  CTPROF_TRY_VALUE(const auto layouts, load_registry(options, LoadScope::Layouts));
  CTPROF_TRY_VALUE(auto snapshot, read_capture(file, layouts.vocabulary(), options));
  if (snapshot.window && form.layout == FileLayout::Rows)
    snapshot = reduce_to_end(std::move(snapshot), options);
  if (form.layout == FileLayout::Rows) note_unknown_lines(snapshot, options);
  CTPROF_TRY_VALUE(const auto written,
                   write_file(snapshot, layouts.vocabulary(), target.destination,
                              {.layout = form.layout,
                               .workers = options.jobs,
                               .sync = options.sync,
                               .standard_output = output_fd()}));
  return written.file_bytes;
}

Result<std::uint64_t> export_denet(const std::string& file, const Target& target,
                                   const Options& options) {
  CTPROF_TRY_VALUE(const auto layouts, load_registry(options, LoadScope::Layouts));
  CTPROF_TRY_VALUE(auto snapshot, read_capture(file, layouts.vocabulary(), options));
  return write_to(target, options, [&](Sink& sink) { return write_denet(snapshot, sink); });
}

// Returns the kind of file that an earlier export into that form wrote.
FileKind export_file_kind(const FileForm* form, const StackFormat* stack_form,
                          const TableExport* table) {
  if (form) return kSnapshotFile;
  if (table) return {table->name, {table->signature}};
  if (stack_form) return {stack_form->name, {stack_form->magic}};
  return {kDenet, {"{\"ts_ms\":"}};
}

// Rejects options that apply only to other forms.
Result<void> check_form_options(const Options& options, bool is_table) {
  if (options.tables.has_rows_option && (!is_table || options.export_form == kPrometheus))
    return Error{"--rows requires --to ndjson, csv or parquet"};
  if (options.csv_safe && options.export_form != "csv")
    return Error{"--csv-safe requires --to csv"};
  if (options.metrics && !is_table)
    return Error{"--metrics requires --to with one of " + join_texts(table_export_names())};
  return {};
}

}  // namespace

int run_export(const Options& parsed_options) {
  Options options = parsed_options;
  if (!options.tables.listen.empty())
    return options.export_form == kPrometheus ? serve_prometheus(options)
                                              : fail("--listen requires --to prometheus");
  if (options.arguments.empty()) return fail("missing FILE; see `ctprof export --help`");
  if (!options.redact && !options.redact_key.empty()) return fail("--redact-key requires --redact");
  if (options.redact && options.export_form.empty()) options.export_form = kColumnsForm;
  const FileForm* form = find_file_form(options.export_form);
  const StackFormat* stack_form = find_stack_form(options.export_form);
  const TableExport* table = find_table_export(options.export_form);
  if (!form && !stack_form && !table && options.export_form != kDenet)
    return fail(unknown_form_error(options.export_form));
  if (auto checked = check_form_options(options, table != nullptr); !checked)
    return fail(checked.error());
  const auto target = open_checked_target(options, export_file_kind(form, stack_form, table));
  if (!target) return fail(target.error());
  const std::string& file = options.arguments.front();
  return with_error_context(options.arguments, "exporting", [&] {
    const ActivityProgress busy(options, "writing " + target->name);
    if (table) return table->run(options, *target);
    const auto written = form         ? convert_file(file, *form, *target, options)
                         : stack_form ? export_stacks(file, *stack_form, *target, options)
                                      : export_denet(file, *target, options);
    return written ? report_written_file(options, *target, *written) : fail(written.error());
  });
}

}  // namespace ctprof::cli
