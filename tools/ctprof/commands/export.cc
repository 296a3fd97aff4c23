// ctprof export: converts a file to another form.

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/text.hpp"
#include "core/file/file.hpp"
#include "core/render/terminal_text.hpp"
#include "core/snapshot/file_extras.hpp"
#include "core/window/make_window.hpp"
#include "tools/ctprof/commands/denet.hpp"
#include "tools/ctprof/commands/export_options.hpp"
#include "tools/ctprof/commands/export_output.hpp"
#include "tools/ctprof/commands/export_prometheus.hpp"
#include "tools/ctprof/commands/export_tables.hpp"
#include "tools/ctprof/commands/stack_files.hpp"
#include "tools/ctprof/inputs/loaded_arguments.hpp"
#include "tools/ctprof/runtime/activity_error.hpp"
#include "tools/ctprof/runtime/load_plugins.hpp"
#include "tools/ctprof/runtime/output.hpp"
#include "tools/ctprof/runtime/output_file.hpp"
#include "tools/ctprof/runtime/outputs.hpp"
#include "tools/ctprof/runtime/privileges.hpp"
#include "tools/ctprof/runtime/progress.hpp"
#include "tools/ctprof/runtime/redaction.hpp"
#include "tools/ctprof/runtime/text.hpp"

namespace ctprof::cli {

// A file layout. To add a form, add a line to kFileForms.
struct FileForm {
  std::string_view name;
  FileLayout layout;
};

namespace {

constexpr std::string_view kColumnsForm = "columns";
constexpr std::array kFileForms{
    FileForm{"ktstr", FileLayout::Rows},  // for the reference tools
    FileForm{kColumnsForm, FileLayout::Columns},
};

// A form that contains only waits.
constexpr std::string_view kDenet = "denet";
// The name of all forms that output plugins write.
constexpr std::string_view kOutputForm = "output plugin";

const FileForm* find_file_form(std::string_view name) {
  for (const FileForm& form : kFileForms)
    if (form.name == name) return &form;
  return nullptr;
}

std::string format_choice(const std::vector<std::string>& names) {
  return "(choose " + join_texts(names) + ", or an output plugin)";
}

std::vector<std::string> list_forms() {
  std::vector<std::string> names;
  for (const FileForm& form : kFileForms) names.emplace_back(form.name);
  for (const StackFormat& form : get_stack_formats()) names.emplace_back(form.name);
  for (std::string& name : table_export_names()) names.push_back(std::move(name));
  names.emplace_back(kDenet);
  return names;
}

// Reduces a window to the state at its end, because the rows layout cannot store a window.
Snapshot reduce_to_end(Snapshot window, const ExportOptions& options) {
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
void note_unknown_lines(const Snapshot& snapshot, const ExportOptions& options) {
  for (const UnknownRows& table : snapshot.extras->unknown_tables)
    print_note(options, "the rows layout cannot store the table of the unknown entity '" +
                            table.entity + "': leaving it out");
  if (!snapshot.extras->unknown_lines.empty())
    print_note(options, "the rows layout cannot store lines of unknown kinds: leaving out " +
                            format_count(snapshot.extras->unknown_lines.size(), "line", "lines"));
}

// Reads the capture to export, with pseudonyms if the user requested them.
Result<Snapshot> read_capture(const std::string& file, const Vocabulary& vocabulary,
                              const ExportOptions& options) {
  CTPROF_TRY_VALUE(auto snapshot, load_single_capture(file, vocabulary, options));
  note_read(options, file, {&snapshot, 1});
  for (const std::string& sentence : snapshot.load_messages) print_note(options, sentence);
  CTPROF_TRY(redact_if_requested(snapshot, vocabulary, options, options));
  return snapshot;
}

// Returns the size of the written file in bytes.
Result<std::uint64_t> convert_file(const std::string& file, const FileForm& form,
                                   const Target& target, const ExportOptions& options) {
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
                                   const ExportOptions& options) {
  CTPROF_TRY_VALUE(const auto layouts, load_registry(options, LoadScope::Layouts));
  CTPROF_TRY_VALUE(auto snapshot, read_capture(file, layouts.vocabulary(), options));
  return write_to(target, options, [&](Sink& sink) { return write_denet(snapshot, sink); });
}

// Returns the kind of file that an earlier export into that form wrote.
FileKind export_file_kind(const ExportForm& form) {
  if (form.file) return kSnapshotFile;
  if (form.table) return {form.name, {form.table->signature}};
  if (form.stacks) return {form.name, {form.stacks->magic}};
  return {kDenet, {"{\"ts_ms\":"}};
}

// Rejects options that apply only to other forms.
Result<void> check_form_options(const ExportOptions& options) {
  const bool is_table = options.form.table != nullptr;
  if (options.rows.is_specified && (!is_table || options.form.name == kPrometheus))
    return Error{"--rows requires --to ndjson, csv or parquet"};
  if (options.csv_safe && options.form.name != "csv") return Error{"--csv-safe requires --to csv"};
  if (options.metrics && !is_table && options.form.output.empty())
    return Error{"--metrics requires --to with one of " + join_texts(table_export_names()) +
                 ", or an output plugin"};
  return {};
}

}  // namespace

namespace {

// Returns the form of an output plugin. Its name may depend on --plugin-path.
Result<ExportForm> parse_output_form(const OptionUse& use, std::vector<std::string> names) {
  const std::string choice = format_choice(names);
  const auto path = use.line.values.find("plugin-path");
  const auto outputs = list_outputs(output_directories(
      path == use.line.values.end() ? std::vector<std::string>() : path->second));
  ExportForm form{kOutputForm};
  form.output = use.last();
  if (std::ranges::count(outputs, use.last()) > 0) return form;
  names.insert(names.end(), outputs.begin(), outputs.end());
  return Error{"invalid --to '" + use.last() + "' " + choice + suggest_nearest(use.last(), names)};
}

}  // namespace

Result<ExportForm> parse_export_form(const OptionUse& use) {
  auto forms = list_forms();
  const auto name = std::ranges::find(forms, use.last());
  if (name == forms.end()) return parse_output_form(use, std::move(forms));
  const FileForm* const file = find_file_form(*name);
  const StackFormat* const stacks = find_stack_form(*name);
  const TableExport* const table = find_table_export(*name);
  return ExportForm{file     ? file->name
                    : stacks ? stacks->name
                    : table  ? table->name
                             : kDenet,
                    file, stacks, table};
}

int run_export(const ExportOptions& parsed_options) {
  ExportOptions options = parsed_options;
  if (!options.prometheus.listen.empty())
    return options.form.name == kPrometheus ? serve_prometheus(options)
                                            : fail("--listen requires --to prometheus");
  if (options.arguments.empty()) return fail("missing FILE; see `ctprof export --help`");
  if (!options.redact && !options.redact_key.empty()) return fail("--redact-key requires --redact");
  if (options.redact && options.form.name.empty())
    options.form = {kColumnsForm, find_file_form(kColumnsForm)};
  const ExportForm& form = options.form;
  if (form.name.empty()) return fail("missing --to FORM " + format_choice(list_forms()));
  if (auto checked = check_form_options(options); !checked) return fail(checked.error());
  if (!form.output.empty())
    return export_to_output(options, [&](const Vocabulary& vocabulary) {
      return read_capture(options.arguments.front(), vocabulary, options);
    });
  if (options.output.empty()) return fail("missing -o FILE; -o - writes to standard output");
  const auto target = open_checked_target(options, export_file_kind(form));
  if (!target) return fail(target.error());
  const std::string& file = options.arguments.front();
  return with_error_context(options.arguments, "exporting", [&] {
    const ActivityProgress busy(options, "writing " + target->name);
    if (form.table) return form.table->run(options, *target);
    const auto written = form.file     ? convert_file(file, *form.file, *target, options)
                         : form.stacks ? export_stacks(file, *form.stacks, *target, options)
                                       : export_denet(file, *target, options);
    return written ? report_written_file(options, *target, *written) : fail(written.error());
  });
}

}  // namespace ctprof::cli
