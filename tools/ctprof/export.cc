// ctprof export: a file in another form.

#include <array>
#include <string_view>
#include <utility>

#include "core/file/file.hpp"
#include "core/render/terminal_text.hpp"
#include "core/window/make_window.hpp"
#include "tools/ctprof/privileges.hpp"
#include "tools/ctprof/stack_files.hpp"
#include "tools/ctprof/text.hpp"
#include "tools/ctprof/verbs.hpp"

namespace ctprof::cli {
namespace {

// To add a form, add a line.
struct Form {
  std::string_view name;
  FileLayout layout;
};
constexpr std::array kForms{
    Form{"ktstr", FileLayout::Rows},  // what the reference's tools read
    Form{"columns", FileLayout::Columns},
};

const Form* find_form(std::string_view name) {
  for (const Form& form : kForms)
    if (form.name == name) return &form;
  return nullptr;
}

Error unknown_form(const std::string& given) {
  std::string names;
  for (const Form& form : kForms) names += std::string(form.name) + ", ";
  for (const StackForm& form : stack_forms()) names += std::string(form.name) + ", ";
  names.resize(names.size() - 2);
  if (given.empty()) return {"missing --to FORM (choose " + names + ")"};
  return {"invalid --to '" + given + "' (choose " + names + ")"};
}

// Rows have no place for a window.
Snapshot end_alone(Snapshot window, const Options& options) {
  const std::size_t ended = window.threads().rows - window.window->living;
  std::string sentence = "rows hold no window: writing the host as it was at the window's end";
  if (ended > 0)
    sentence += ", without the " + count(ended, "thread", "threads") + " that had ended";
  note(options, sentence);
  for (const Column& column : window.threads().columns)
    if (column.def().storage == Storage::Stacks)
      note(options, "rows hold no call stacks: leaving out " + column.def().name);
  return end_of(std::move(window));
}

// Returns the size of the file.
Result<std::uint64_t> convert(const std::string& file, const Form& form, const Target& target,
                              const Options& options) {
  const auto layouts = load_registry(options, Load::Layouts);
  if (!layouts) return layouts.error();
  auto snapshot = load_file(file, layouts->vocabulary());
  if (!snapshot) return snapshot.error();
  for (const std::string& sentence : snapshot->told) note(options, sentence);
  if (snapshot->window && form.layout == FileLayout::Rows)
    *snapshot = end_alone(std::move(*snapshot), options);
  const auto written = write_file(*snapshot, layouts->vocabulary(), target.destination,
                                  {.layout = form.layout,
                                   .workers = options.jobs,
                                   .sync = options.sync,
                                   .standard_output = output_fd()});
  if (!written) return written.error();
  return written->file_bytes;
}

}  // namespace

int run_export(const Options& options) {
  if (options.arguments.empty()) return fail("missing FILE; see `ctprof export --help`");
  const Form* form = find_form(options.to);
  const StackForm* stack_form = find_stack_form(options.to);
  if (!form && !stack_form) return fail(unknown_form(options.to));
  const auto target = target_of(options);
  if (!target) return fail(target.error());
  const std::string& file = options.arguments.front();
  return naming(options.arguments, "exporting", [&] {
    const auto written = form ? convert(file, *form, *target, options)
                              : export_stacks(file, *stack_form, *target, options);
    return written ? tell_written(options, *target, *written) : fail(written.error());
  });
}

}  // namespace ctprof::cli
