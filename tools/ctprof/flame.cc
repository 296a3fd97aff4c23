// ctprof flame: the call stacks of a window, or of two, as a picture for browsers.

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/file/file.hpp"
#include "core/file/write/out_file.hpp"
#include "core/flame/flame_page.hpp"
#include "core/flame/window_profile.hpp"
#include "core/render/terminal_text.hpp"
#include "tools/ctprof/stack_files.hpp"
#include "tools/ctprof/text.hpp"
#include "tools/ctprof/verbs.hpp"

namespace ctprof::cli {
namespace {

// A window and its stacks, which point into it.
struct Loaded {
  std::string file;
  Snapshot window;
  StackProfile profile;

  double seconds() const {
    if (!window.window) return 0;
    return static_cast<double>(window.meta.start.boottime_ns - window.window->opened.boottime_ns) /
           1e9;
  }
};

Result<Loaded> load(const std::string& file, const Options& options) {
  const auto by = owners_by(options.group_by);
  if (!by) return by.error();
  const auto layouts = load_registry(options, Load::Layouts);
  if (!layouts) return layouts.error();
  auto window = load_file(file, layouts->vocabulary());
  if (!window) return window.error();
  for (const std::string& sentence : window->told) note(options, sentence);
  std::vector<std::string> metrics;
  if (!options.metric.empty()) metrics.push_back(options.metric);
  auto profile = window_profile(*window, metrics, *by);
  if (!profile) return Error{"reading '" + file + "': " + profile.error().text};
  return Loaded{file, std::move(*window), std::move(*profile)};
}

class FileSink final : public Sink {
 public:
  explicit FileSink(OutFile& file) : file_(&file) {}
  Result<void> write(std::string_view text) override { return file_->write(text); }

 private:
  OutFile* file_;
};

// Calls write(sink), and gives the file its name. Returns its size.
template <class Write>
Result<std::uint64_t> write_to(const Target& target, const Options& options, const Write& write) {
  auto file = OutFile::create(target.destination, output_fd());
  if (!file) return file.error();
  FileSink sink(*file);
  if (auto written = write(sink); !written) return written.error();
  if (auto done = file->commit(options.sync); !done) return done.error();
  return file->bytes();
}

Result<FlameStyle::Form> form_of(std::string_view output) {
  if (names_output(output) || output.ends_with(".svg")) return FlameStyle::Form::Svg;
  if (output.ends_with(".html")) return FlameStyle::Form::Html;
  return Error{"invalid -o '" + std::string(output) + "': a name that ends in .svg or .html"};
}

// Of a metric that both have: the one that was asked for, or the first of the candidate's.
Result<std::size_t> value_in(const Loaded& loaded, const std::string& metric) {
  const auto& values = loaded.profile.values;
  const auto found = std::ranges::find(values, metric, &StackValue::name);
  if (found != values.end()) return static_cast<std::size_t>(found - values.begin());
  return Error{"reading '" + loaded.file + "': it has no stacks called '" + metric + "'"};
}

FlameTree tree_of(const Loaded& candidate, const std::optional<Loaded>& baseline,
                  std::size_t base_value) {
  const FlameSide now{&candidate.profile, 0, candidate.seconds()};
  if (!baseline) return make_flame_tree(now);
  return make_flame_tree(now, {&baseline->profile, base_value, baseline->seconds()});
}

std::string title_of(const Loaded& candidate, const std::optional<Loaded>& baseline) {
  const std::string files = baseline ? baseline->file + " → " + candidate.file : candidate.file;
  return candidate.profile.values.front().name + ": " + files;
}

Result<void> draw(const Options& options, FlameStyle::Form form, Sink& out) {
  const auto candidate = load(options.arguments.back(), options);
  if (!candidate) return candidate.error();
  const StackValue& value = candidate->profile.values.front();
  std::optional<Loaded> baseline;
  std::size_t base_value = 0;
  if (options.arguments.size() == 2) {
    auto loaded = load(options.arguments.front(), options);
    if (!loaded) return loaded.error();
    const auto found = value_in(*loaded, value.name);
    if (!found) return found.error();
    base_value = *found;
    baseline = std::move(*loaded);
  }
  const FlameStyle style{.form = form,
                         .title = title_of(*candidate, baseline),
                         .unit = value.unit,
                         .icicle = options.icicle};
  return out.write(flame_page(tree_of(*candidate, baseline, base_value), style));
}

}  // namespace

Result<std::uint64_t> export_stacks(const std::string& file, const StackForm& form,
                                    const Target& target, const Options& options) {
  const auto loaded = load(file, options);
  if (!loaded) return loaded.error();
  return write_to(target, options, [&](Sink& sink) { return form.write(loaded->profile, sink); });
}

const StackForm* find_stack_form(std::string_view name) {
  for (const StackForm& form : stack_forms())
    if (form.name == name) return &form;
  return nullptr;
}

int tell_written(const Options& options, const Target& target, std::uint64_t bytes) {
  if (options.quiet) return kFine;
  const std::string line = printable(target.name) + ", " + size_in_words(bytes) + "\n";
  if (!target.is_stdout) return print(line);
  say(line);
  return kFine;
}

int run_flame(const Options& options) {
  if (options.arguments.empty()) return fail("missing FILE; see `ctprof flame --help`");
  const auto target = target_of(options);
  if (!target) return fail(target.error());
  const auto form = form_of(options.output);
  if (!form) return fail(form.error());
  return naming(options.arguments, "drawing", [&] {
    const auto written =
        write_to(*target, options, [&](Sink& out) { return draw(options, *form, out); });
    return written ? tell_written(options, *target, *written) : fail(written.error());
  });
}

}  // namespace ctprof::cli
