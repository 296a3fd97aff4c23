#include "core/render/window_text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "core/render/host_text.hpp"
#include "core/render/report_sentences.hpp"

namespace ctprof {
namespace {

constexpr std::size_t kMostSettings = 8;
constexpr std::size_t kFewSettings = 4;
constexpr std::size_t kFewNames = 3;

// Returns the line unchanged if it fits, otherwise wrapped.
std::string line(const std::string& text, std::size_t width) {
  return width == 0 || display_width(text) <= width ? text + "\n" : wrapped(text, width);
}

std::string seconds(std::uint64_t ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", static_cast<double>(ns) / 1e9);
  return text;
}

// Includes threads whose exit was not observed; they are in no row.
std::uint64_t threads_before(const WindowFacts& window) {
  return window.rows.before + (window.sees_ends ? 0 : window.unseen);
}

std::string threads(const WindowFacts& window) {
  const WindowRows& rows = window.rows;
  std::string text = "threads " + std::to_string(threads_before(window)) + " → " +
                     std::to_string(rows.after) + ", +" + std::to_string(rows.born) + " ";
  text += window.sees_ends ? "-" + std::to_string(rows.ended) : "exits not seen";
  if (window.lost) text += ", " + std::to_string(window.lost) + " lost";
  if (window.unseen) text += ", " + std::to_string(window.unseen) + " unseen";
  if (window.merged) text += ", " + std::to_string(window.merged) + " merged";
  return text;
}

// Formats a time in percent of one CPU.
std::string share(double ns, const Accounting& of) {
  char text[32];
  std::snprintf(text, sizeof text, "%.0f %%", std::round(100 * ns / of.wall) + 0.0);
  return text;
}

// Returns the time of interrupts or the hypervisor; empty if it is below half a percent.
std::string taken(double ns, bool apart, const char* by, const Accounting& of) {
  if (100 * ns / of.wall < 0.5) return "";
  return (apart ? "; additionally " : "; including ") + share(ns, of) + " " + by;
}

std::string cpu_line(const WindowFacts& window) {
  const Accounting& cpu = *window.accounting;
  std::string text = "CPU " + share(cpu.busy, cpu) + " of " +
                     share(static_cast<double>(cpu.cpus) * cpu.wall, cpu) + ": " +
                     share(cpu.living, cpu) + " by living threads, ";
  if (window.sees_ends) text += share(cpu.ended, cpu) + " by exited threads, ";
  text += share(cpu.unexplained, cpu) +
          (window.partial ? " by others or unaccounted (±" : " unaccounted (±") +
          share(cpu.error, cpu) + ")";
  if (!window.sees_ends && cpu.unexplained > cpu.error) text += ", exited threads included";
  return text + taken(cpu.steal, cpu.steal_apart, "taken by the hypervisor", cpu) +
         taken(cpu.interrupts, cpu.interrupts_apart, "in interrupts", cpu);
}

std::string few(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kFewNames); ++i)
    text += (i > 0 ? ", " : "") + told_name(names[i]);
  if (names.size() > kFewNames) text += " and " + counted(names.size() - kFewNames, "other");
  return text;
}

// Returns the threads without any difference, with the reason; empty if there are none.
std::string not_met(const WindowRows& rows) {
  if (rows.unmet == 0) return {};
  return "no differences of " + counted(rows.unmet, "thread") + ": not read when the window opened";
}

// Returns the threads without differences of their times, with the reason; empty if there are none.
std::string in_progress(const WindowRows& rows) {
  if (rows.in_progress == 0) return {};
  return "no run, wait and blocked time of " + counted(rows.in_progress, "thread") +
         " that ran or waited for a CPU when the window opened or closed; BPF programs can read "
         "these";
}

// Summarizes what the recorder was denied in one sentence instead of one per cause; empty if
// nothing was. It names no remedy: a recorder with user id 0 may lack capabilities, too.
std::string without_rights(const WindowFacts& window) {
  if (window.sees_ends || window.denied_metrics == 0) return {};
  std::string text =
      "not read for lack of rights: exited threads, " + counted(window.denied_metrics, "metric");
  if (window.rows.in_progress)
    text += ", times of " + counted(window.rows.in_progress, "thread") +
            " that ran when the window opened or closed";
  return text + "; see `ctprof doctor` on that host";
}

// Returns rows and metrics without differences, with reasons.
std::vector<std::string> no_base(const WindowRows& rows) {
  std::vector<std::string> lines;
  for (const std::string& text : {not_met(rows), in_progress(rows)})
    if (!text.empty()) lines.push_back(text);
  if (!rows.unread.empty())
    lines.push_back("no differences of " + few(rows.unread) + ": not read when the window opened");
  return lines;
}

std::string in_one_line(const SettingChange& change) {
  const std::string name = change.entity == Entity::Host ? "" : told_name(change.name) + " ";
  return name + told_name(change.metric) + " " + told_name(change.before.text) + " → " +
         told_name(change.after.text) +
         (change.rows > 1 ? " (" + std::to_string(change.rows) + ")" : "");
}

std::string name_of(const SettingChange& change) {
  return change.entity == Entity::Host ? "the host" : told_name(change.name);
}

std::string settings_text(const WindowFacts& window, const TextLayout& layout) {
  if (window.settings.empty()) return {};
  TextTable table({{"setting", Align::Left, 0, false},
                   {"changed", Align::Left, 16, false},
                   {"of", Align::Left, 12, false},
                   {"rows", Align::Right, 0, true}});
  const std::size_t told = std::min(window.settings.size(), kMostSettings);
  for (std::size_t i = 0; i < told; ++i) {
    const SettingChange& change = window.settings[i];
    table.add({{told_name(change.metric)},
               {told_name(change.before.text) + " → " + told_name(change.after.text)},
               {name_of(change)},
               {std::to_string(change.rows)}});
  }
  std::string out = "\n" + tinted("## settings that changed", Tint::Heading, layout.color) + "\n";
  table.append_to(out, layout);
  std::uint64_t more = window.settings_cut;
  for (std::size_t i = told; i < window.settings.size(); ++i) more += window.settings[i].rows;
  if (more) out += counted(more, "more row") + " with changed settings; see --format json\n";
  return out;
}

}  // namespace

std::string window_line(const RunFacts& run, std::string_view file) {
  const WindowFacts& window = *run.window;
  std::string text = printable(file) + "   " + seconds(window.length_ns);
  if (window.accounting) text += "   " + counted(window.accounting->cpus, "CPU");
  return text + "   " + threads(window);
}

std::vector<std::string> window_remarks(const RunFacts& run) {
  const WindowRows& rows = run.window->rows;
  const std::string denied = without_rights(*run.window);
  std::vector<std::string> remarks;
  for (const std::string& text : {denied, not_met(rows), denied.empty() ? in_progress(rows) : ""})
    if (!text.empty()) remarks.push_back(text);
  for (const std::string& note : run.window->notes) remarks.push_back(told_name(note, kMostNote));
  return remarks;
}

std::string window_heading(const RunFacts& run, std::string_view file, const TextLayout& layout) {
  const WindowFacts& window = *run.window;
  std::string out = line(window_line(run, file), layout.width);
  if (window.accounting) out += line(cpu_line(window), layout.width);
  out += host_line({&run, 1}, layout.width);
  out += line("recorded on " + (run.meta.hostname ? told_name(*run.meta.hostname) : "a host") +
                  " until " + utc(run.meta.start.wall_unix_ns),
              layout.width);
  for (const std::string& text : no_base(window.rows)) out += line(text, layout.width);
  for (const std::string& note : window.notes)
    out += line(told_name(note, kMostNote), layout.width);
  return out + settings_text(window, layout);
}

std::string window_opening(const RunFacts& run, std::string_view who, std::string_view file,
                           const TextLayout& layout) {
  const WindowFacts& window = *run.window;
  const std::string before = who.empty() ? "" : std::string(who) + ": ";
  std::string out = line(before + window_line(run, file), layout.width);
  if (window.accounting) out += line(cpu_line(window), layout.width);
  for (const std::string& remark : window_remarks(run)) out += line(remark, layout.width);
  return out;
}

std::string settings_sentence(const WindowFacts& window, std::size_t width) {
  if (window.settings.empty()) return {};
  const std::size_t told = std::min(window.settings.size(), kFewSettings);
  std::string text = "settings that changed: ";
  for (std::size_t i = 0; i < told; ++i)
    text += (i > 0 ? "; " : "") + in_one_line(window.settings[i]);
  const std::size_t more = window.settings.size() - told + window.settings_cut;
  if (more) text += "; and " + std::to_string(more) + " more";
  return line(text, width);
}

bool is_explained(const RunFacts& run) {
  const auto& cpu = run.window->accounting;
  return cpu && std::abs(cpu->unexplained) <= cpu->error;
}

std::string explained_in_short(std::span<const RunFacts> runs, const std::string& who,
                               std::size_t width) {
  const auto busy = [](const RunFacts* run) {
    return run->window->accounting->busy / run->window->accounting->wall;
  };
  std::vector<const RunFacts*> explained;
  for (const RunFacts& run : runs)
    if (is_explained(run)) explained.push_back(&run);
  if (explained.empty()) return {};
  const auto [least, most] = std::ranges::minmax_element(explained, {}, busy);
  const auto percent = [&](const RunFacts* run) {
    return std::to_string(std::llround(100 * busy(run)));
  };
  const Accounting& cpu = *(*most)->window->accounting;
  const std::string low = percent(*least), high = percent(*most);
  return line(
      who + ": CPU " + (low == high ? low : low + " to " + high) + " % of " +
          std::to_string(100 * cpu.cpus) + " %, explained by threads in " +
          (explained.size() == runs.size() ? "all " : "") + std::to_string(explained.size()) +
          (explained.size() == runs.size() ? "" : " of " + std::to_string(runs.size())) + " runs",
      width);
}

std::string window_in_short(const RunFacts& run, const std::string& who, std::size_t width,
                            bool with_cpu) {
  const WindowFacts& window = *run.window;
  std::string out;
  if (window.accounting && with_cpu) out += line(who + ": " + cpu_line(window), width);
  for (const std::string& remark : window_remarks(run)) out += line(who + ": " + remark, width);
  return out;
}

std::string window_length(const RunFacts& run) { return seconds(run.window->length_ns); }

// --- JSON
// -----------------------------------------------------------------------------------------------

namespace {

void write_accounting(JsonPieces& json, const std::optional<Accounting>& accounting) {
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
  time("ended_ns", accounting->ended);
  time("unexplained_ns", accounting->unexplained);
  time("error_ns", accounting->error);
  time("steal_ns", accounting->steal);
  time("interrupts_ns", accounting->interrupts);
  json.flag_member("steal_apart", accounting->steal_apart);
  json.flag_member("interrupts_apart", accounting->interrupts_apart);
  json.close('}');
}

void write_setting_value(JsonPieces& json, std::string_view name, const SettingValue& value) {
  json.key(name);
  has_value(value.number) ? json.number(value.number) : json.text(value.text);
}

void write_settings(JsonPieces& json, const WindowFacts& window) {
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
  json.number_member("settings_cut", window.settings_cut);
}

void write_rows(JsonPieces& json, const WindowFacts& window) {
  const WindowRows& rows = window.rows;
  json.number_member("threads_before", threads_before(window));
  json.number_member("threads_after", rows.after);
  json.number_member("born", rows.born);
  json.number_member("ended", rows.ended);
  json.number_member("lost", window.lost);
  json.number_member("unseen", window.unseen);
  json.number_member("merged", window.merged);
  json.flag_member("sees_ends", window.sees_ends);
  json.flag_member("partial", window.partial);
  json.key("no_base");
  json.open('{');
  json.number_member("unmet", rows.unmet);
  json.number_member("in_progress", rows.in_progress);
  json.texts_member("metrics", rows.unread);
  json.close('}');
}

}  // namespace

void write_window(JsonPieces& json, const RunFacts& run) {
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
  std::vector<std::string> notes = window.notes;
  notes.insert(notes.end(), run.meta.notes.begin(), run.meta.notes.end());
  json.texts_member("notes", notes);
  json.close('}');
}

}  // namespace ctprof
