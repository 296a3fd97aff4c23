// ctprof export: a file in another form.

#include <array>
#include <string_view>
#include <utility>

#include "core/file/file.hpp"
#include "core/render/terminal_text.hpp"
#include "core/window/make_window.hpp"
#include "tools/ctprof/privileges.hpp"
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
  for (const Form& form : kForms) names += (names.empty() ? "" : ", ") + std::string(form.name);
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

Result<Written> convert(const std::string& file, const Form& form, const Target& target,
                        const Options& options) {
  const auto layouts = load_registry(options, Load::Layouts);
  if (!layouts) return layouts.error();
  auto snapshot = load_file(file, layouts->vocabulary());
  if (!snapshot) return snapshot.error();
  for (const std::string& sentence : snapshot->told) note(options, sentence);
  if (snapshot->window && form.layout == FileLayout::Rows)
    *snapshot = end_alone(std::move(*snapshot), options);
  return write_file(*snapshot, layouts->vocabulary(), target.destination,
                    {.layout = form.layout,
                     .workers = options.jobs,
                     .sync = options.sync,
                     .standard_output = output_fd()});
}

}  // namespace

int run_export(const Options& options) {
  if (options.arguments.empty()) return fail("missing FILE; see `ctprof export --help`");
  const Form* form = find_form(options.to);
  if (!form) return fail(unknown_form(options.to));
  const auto target = target_of(options);
  if (!target) return fail(target.error());
  const std::string& file = options.arguments.front();
  return naming(options.arguments, "exporting", [&] {
    const auto written = convert(file, *form, *target, options);
    if (!written) return fail(written.error());
    if (options.quiet) return kFine;
    const std::string line =
        printable(target->name) + ", " + size_in_words(written->file_bytes) + "\n";
    if (!target->is_stdout) return print(line);
    say(line);
    return kFine;
  });
}

}  // namespace ctprof::cli
