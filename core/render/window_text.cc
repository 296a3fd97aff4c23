#include "core/render/window_text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "core/base/number.hpp"
#include "core/base/text.hpp"
#include "core/compare/figures/run_losses.hpp"
#include "core/render/host_text.hpp"
#include "core/render/loss_text.hpp"
#include "core/render/phrases.hpp"

namespace ctprof {
namespace {

constexpr std::size_t kMaxSettingRows = 8;
constexpr std::size_t kMaxNamedSettings = 4;

// Returns the line unchanged if it fits, otherwise wrapped.
std::string wrap_line(const std::string& text, std::size_t width) {
  return width == 0 || get_display_width(text) <= width ? text + "\n" : wrap_words(text, width);
}

// Includes threads whose exit was not observed; they are in no row.
std::uint64_t count_threads_before(const WindowFacts& window) {
  return window.rows.before + (window.records_exits ? 0 : window.unseen);
}

std::string format_threads(const WindowFacts& window) {
  const WindowRows& rows = window.rows;
  std::string text = "threads " + std::to_string(count_threads_before(window)) + " → " +
                     std::to_string(rows.after) + ", +" + std::to_string(rows.started);
  text +=
      window.records_exits ? " -" + std::to_string(rows.exited) : ", exited threads not recorded";
  if (window.lost) text += ", " + std::to_string(window.lost) + " lost";
  if (window.unseen) text += ", " + std::to_string(window.unseen) + " unseen";
  if (window.merged) text += ", " + std::to_string(window.merged) + " merged";
  return text;
}

// Formats a time in percent of one CPU.
std::string format_share(double ns, const Accounting& accounting) {
  char text[32];
  std::snprintf(text, sizeof text, "%.0f %%", std::round(100 * ns / accounting.wall) + 0.0);
  return text;
}

// Returns the time of interrupts or the hypervisor; empty if it is below half a percent.
std::string format_other_use(double ns, bool is_separate, const char* user,
                             const Accounting& accounting) {
  if (100 * ns / accounting.wall < 0.5) return "";
  return (is_separate ? "; additionally " : "; including ") + format_share(ns, accounting) + " " +
         user;
}

// The line of thread counts contains losses of exited threads. Rows that exited before they could
// be read are usual.
bool concerns_living_threads(LossKind kind) {
  return kind == LossKind::Denied || kind == LossKind::ThreadsNotInOpening ||
         kind == LossKind::TimesInProgress || kind == LossKind::MetricsNotInOpening;
}

std::string format_setting_change(const SettingChange& change) {
  const std::string name =
      change.entity == Entity::Host ? "" : make_printable_short(change.name) + " ";
  return name + make_printable_short(change.metric) + " " +
         make_printable_short(change.before.text) + " → " +
         make_printable_short(change.after.text) +
         (change.rows > 1 ? " (" + std::to_string(change.rows) + ")" : "");
}

std::string format_owner(const SettingChange& change) {
  return change.entity == Entity::Host ? "the host" : make_printable_short(change.name);
}

std::string format_settings_table(const WindowFacts& window, const TextLayout& layout) {
  if (window.settings.empty()) return {};
  TextTable table({{"setting", Align::Left, 0, false},
                   {"changed", Align::Left, 16, false},
                   {"of", Align::Left, 12, false},
                   {"rows", Align::Right, 0, true}});
  const std::size_t shown = std::min(window.settings.size(), kMaxSettingRows);
  for (std::size_t i = 0; i < shown; ++i) {
    const SettingChange& change = window.settings[i];
    table.add_row({{make_printable_short(change.metric)},
                   {make_printable_short(change.before.text) + " → " +
                    make_printable_short(change.after.text)},
                   {format_owner(change)},
                   {std::to_string(change.rows)}});
  }
  std::string out =
      "\n" + apply_tint("## settings that changed", Tint::Heading, layout.use_color) + "\n";
  table.append_to(out, layout);
  std::uint64_t omitted = window.settings_omitted;
  for (std::size_t i = shown; i < window.settings.size(); ++i) omitted += window.settings[i].rows;
  if (omitted)
    out += format_count(omitted, "more row") + " with changed settings; see --format json\n";
  return out;
}

}  // namespace

std::string describe_accounting(const WindowFacts& window) {
  const Accounting& cpu = *window.accounting;
  std::string text = "CPU " + format_share(cpu.busy, cpu) + " of " +
                     format_share(static_cast<double>(cpu.cpus) * cpu.wall, cpu) + ": " +
                     format_share(cpu.living, cpu) + " by living threads, ";
  if (window.records_exits) text += format_share(cpu.exited, cpu) + " by exited threads, ";
  text += format_share(cpu.unaccounted, cpu) +
          (window.is_partial ? " by others or unaccounted (±" : " unaccounted (±") +
          format_share(cpu.max_error, cpu) + ")";
  if (!window.records_exits && cpu.unaccounted > cpu.max_error)
    text += ", including exited threads";
  return text + format_other_use(cpu.steal, cpu.is_steal_separate, "taken by the hypervisor", cpu) +
         format_other_use(cpu.interrupts, cpu.are_interrupts_separate, "in interrupts", cpu);
}

std::string format_window_line(const RunFacts& run, std::string_view file) {
  const WindowFacts& window = *run.window;
  std::string text = make_printable(file) + "   " + format_seconds(window.length_ns);
  if (window.accounting) text += "   " + format_count(window.accounting->cpus, "CPU");
  return text + "   " + format_threads(window);
}

std::vector<std::string> list_window_remarks(const RunFacts& run) {
  std::vector<std::string> remarks;
  for (const Loss& loss : find_losses(run))
    if (concerns_living_threads(loss.kind)) remarks.push_back(describe_loss(loss));
  for (const std::string& note : run.window->notes)
    remarks.push_back(make_printable_short(note, kMaxNoteBytes));
  return remarks;
}

std::string format_window_heading(const RunFacts& run, std::string_view file,
                                  const TextLayout& layout) {
  const WindowFacts& window = *run.window;
  std::string out = wrap_line(format_window_line(run, file), layout.width);
  if (window.accounting) out += wrap_line(describe_accounting(window), layout.width);
  out += format_host_load({&run, 1}, layout.width);
  out += wrap_line("recorded on " +
                       (run.meta.hostname ? make_printable_short(*run.meta.hostname) : "a host") +
                       " until " + format_utc(run.meta.start.wall_unix_ns),
                   layout.width);
  for (const std::string& remark : list_window_remarks(run)) out += wrap_line(remark, layout.width);
  return out + format_settings_table(window, layout);
}

std::string format_window_opening(const RunFacts& run, std::string_view side_label,
                                  std::string_view file, const TextLayout& layout) {
  const WindowFacts& window = *run.window;
  const std::string prefix = side_label.empty() ? "" : std::string(side_label) + ": ";
  std::string out = wrap_line(prefix + format_window_line(run, file), layout.width);
  if (window.accounting) out += wrap_line(describe_accounting(window), layout.width);
  for (const std::string& remark : list_window_remarks(run)) out += wrap_line(remark, layout.width);
  return out;
}

std::string format_setting_changes(const WindowFacts& window, std::size_t width) {
  if (window.settings.empty()) return {};
  const std::size_t shown = std::min(window.settings.size(), kMaxNamedSettings);
  std::string text = "settings that changed: ";
  for (std::size_t i = 0; i < shown; ++i)
    text += (i > 0 ? "; " : "") + format_setting_change(window.settings[i]);
  const std::size_t omitted = window.settings.size() - shown + window.settings_omitted;
  if (omitted) text += "; and " + std::to_string(omitted) + " more";
  return wrap_line(text, width);
}

bool is_accounted(const RunFacts& run) {
  const auto& cpu = run.window->accounting;
  return cpu && std::abs(cpu->unaccounted) <= cpu->max_error;
}

std::string format_accounted_runs(std::span<const RunFacts> runs, const std::string& side_label,
                                  std::size_t width) {
  const auto get_busy_cpus = [](const RunFacts* run) {
    return run->window->accounting->busy / run->window->accounting->wall;
  };
  std::vector<const RunFacts*> accounted;
  for (const RunFacts& run : runs)
    if (is_accounted(run)) accounted.push_back(&run);
  if (accounted.empty()) return {};
  const auto [least, most] = std::ranges::minmax_element(accounted, {}, get_busy_cpus);
  const auto percent = [&](const RunFacts* run) {
    return std::to_string(std::llround(100 * get_busy_cpus(run)));
  };
  const Accounting& cpu = *(*most)->window->accounting;
  const std::string low = percent(*least), high = percent(*most);
  return wrap_line(
      side_label + ": CPU " + (low == high ? low : low + " to " + high) + " % of " +
          std::to_string(100 * cpu.cpus) + " %, accounted for by threads in " +
          (accounted.size() == runs.size() ? "all " : "") + std::to_string(accounted.size()) +
          (accounted.size() == runs.size() ? "" : " of " + std::to_string(runs.size())) + " runs",
      width);
}

std::string format_window_summary(const RunFacts& run, const std::string& side_label,
                                  std::size_t width, bool shows_cpu) {
  const WindowFacts& window = *run.window;
  std::string out;
  if (window.accounting && shows_cpu)
    out += wrap_line(side_label + ": " + describe_accounting(window), width);
  for (const std::string& remark : list_window_remarks(run))
    out += wrap_line(side_label + ": " + remark, width);
  return out;
}

std::string format_window_length(const RunFacts& run) {
  return format_seconds(run.window->length_ns);
}

// --- JSON
// -----------------------------------------------------------------------------------------------

namespace {

void write_accounting(JsonBuilder& json, const std::optional<Accounting>& accounting) {
  json.key("accounting");
  if (!accounting) return json.raw("null");
  json.open('{');
  json.number_member("cpus", accounting->cpus);
  const auto time = [&](std::string_view name, double ns) {
    json.key(name);
    json.number(std::round(ns));
  };
  time("wall_ns", accounting->wall);
  time("busy_ns", accounting->busy);
  time("living_ns", accounting->living);
  time("ended_ns", accounting->exited);
  time("unexplained_ns", accounting->unaccounted);
  time("error_ns", accounting->max_error);
  time("steal_ns", accounting->steal);
  time("interrupts_ns", accounting->interrupts);
  json.flag_member("steal_apart", accounting->is_steal_separate);
  json.flag_member("interrupts_apart", accounting->are_interrupts_separate);
  json.close('}');
}

void write_setting_value(JsonBuilder& json, std::string_view name, const SettingValue& value) {
  json.key(name);
  has_value(value.number) ? json.number(value.number) : json.text(value.text);
}

void write_settings(JsonBuilder& json, const WindowFacts& window) {
  json.key("settings");
  json.open('[');
  for (const SettingChange& change : window.settings) {
    json.open_item();
    json.text_member("metric", change.metric);
    json.text_member("entity", name(change.entity));
    json.text_member("name", change.name);
    write_setting_value(json, "before", change.before);
    write_setting_value(json, "after", change.after);
    json.number_member("rows", change.rows);
    json.close('}');
  }
  json.close(']');
  json.number_member("settings_cut", window.settings_omitted);
}

void write_rows(JsonBuilder& json, const WindowFacts& window) {
  const WindowRows& rows = window.rows;
  json.number_member("threads_before", count_threads_before(window));
  json.number_member("threads_after", rows.after);
  json.number_member("born", rows.started);
  json.number_member("ended", rows.exited);
  json.number_member("lost", window.lost);
  json.number_member("unseen", window.unseen);
  json.number_member("merged", window.merged);
  json.flag_member("sees_ends", window.records_exits);
  json.flag_member("partial", window.is_partial);
  json.key("no_base");
  json.open('{');
  json.number_member("unmet", rows.not_in_opening);
  json.number_member("in_progress", rows.in_progress);
  json.texts_member("metrics", rows.metrics_not_in_opening);
  json.close('}');
}

}  // namespace

void write_window(JsonBuilder& json, const RunFacts& run) {
  const WindowFacts& window = *run.window;
  json.key("window");
  json.open('{');
  json.number_member("length_ns", window.length_ns);
  json.key("rates_over_ns");
  json.number(std::round(window.rates_over_ns));
  write_rows(json, window);
  write_accounting(json, window.accounting);
  write_host_load(json, run);
  write_settings(json, window);
  write_losses(json, find_losses(run));
  std::vector<std::string> notes = window.notes;
  notes.insert(notes.end(), run.meta.notes.begin(), run.meta.notes.end());
  json.texts_member("notes", notes);
  json.close('}');
}

}  // namespace ctprof
