// One capture of a plugin on a tree: probe, plan, collect and summarise, in the order of ctprof,
// but with one worker, without ctprof and without other plugins.
//
// A test uses testing::capture.
//
// Contents:   HostOfTree, Session.
// See also:   ctprof/testing/capture.hpp for the request and the result.

#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "ctprof/abi.h"
#include "ctprof/files.hpp"
#include "ctprof/testing/capture.hpp"
#include "ctprof/testing/detail/source_run.hpp"
#include "ctprof/testing/detail/tree_rows.hpp"
#include "ctprof/testing/tree.hpp"

namespace ctprof::sdk::testing::detail {

// `struct ctprof_plugin` is the type: in a test that includes the plugin, `ctprof_plugin` without
// `struct` is the constant.

// A tree as the host of a plugin. Directories stay open as long as the object.
class HostOfTree {
 public:
  HostOfTree(const struct ctprof_plugin& plugin, const Tree& tree, const TreeRows& rows,
             const Request& request)
      : paths_{tree.path() / "proc", tree.path() / "sys", tree.path() / "sys/fs/cgroup"} {
    for (std::size_t i = 0; i < paths_.size(); ++i)
      directories_[i] = Fd(::open(paths_[i].c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!std::filesystem::exists(tree.path() / "sys/fs/cgroup/cgroup.controllers"))
      directories_[2].reset(), paths_[2].clear();
    add_settings(plugin, request);
    abi_ = {.size = sizeof(ctprof_host),
            .flags = request.flags,
            .proc_fd = directories_[0].get(),
            .sys_fd = directories_[1].get(),
            .cgroup_fd = directories_[2].get(),
            .user_hz = 100,
            .proc = paths_[0].c_str(),
            .sys = paths_[1].c_str(),
            .cgroup = paths_[2].c_str(),
            .sample_tgid = rows.sample_tgid(),
            .sample_tid = rows.sample_tid(),
            .context = nullptr,
            .options = {settings_.data(), static_cast<std::uint32_t>(settings_.size()),
                        sizeof(ctprof_setting)}};
  }
  HostOfTree(const HostOfTree&) = delete;
  HostOfTree& operator=(const HostOfTree&) = delete;

  ctprof_host& abi() { return abi_; }

 private:
  // Each option of the plugin with its value or default. Throws std::logic_error for other keys.
  void add_settings(const struct ctprof_plugin& plugin, const Request& request) {
    const auto* option = static_cast<const char*>(plugin.options.items);
    std::set<std::string> known;
    for (std::uint32_t i = 0; i < plugin.options.count; ++i, option += plugin.options.item_size) {
      const auto& declared = *reinterpret_cast<const ctprof_option*>(option);
      const auto set = request.settings.find(declared.key);
      const char* fallback = declared.fallback ? declared.fallback : "";
      settings_.push_back(
          {declared.key, set == request.settings.end() ? fallback : set->second.c_str()});
      known.insert(declared.key);
    }
    for (const auto& [key, value] : request.settings)
      if (!known.contains(key)) throw std::logic_error("the plugin has no option '" + key + "'");
  }

  std::array<std::filesystem::path, 3> paths_;
  std::array<Fd, 3> directories_;
  std::vector<ctprof_setting> settings_;
  ctprof_host abi_{};
};

// One capture in progress.
class Session {
 public:
  Session(const struct ctprof_plugin& plugin, const Tree& tree, const Request& request)
      : plugin_(plugin),
        request_(request),
        rows_(tree.path()),
        host_(plugin, tree, rows_, request) {}

  Capture run(const Clock& clock) {
    result_.at_ns_ = clock.now_ns();
    if (open_plugin()) {
      probe_sources();
      select_offers();
      collect_in_order();
      summarise_all();
      if (plugin_.close_plugin) plugin_.close_plugin(host_.abi().context);
    }
    for (const auto& source : sources_) {
      const auto append = [](const auto& from, auto& to) {
        to.insert(to.end(), from.begin(), from.end());
      };
      append(source->failures(), result_.failures_);
      append(source->remarks(), result_.notes_);
    }
    return std::move(result_);
  }

 private:
  static ctprof_entity entity_of(ctprof_stage stage) { return stage - CTPROF_STAGE_THREAD; }

  // Creates the plugin's context and its sources. A failure refuses all metrics.
  bool open_plugin() {
    if (plugin_.abi != CTPROF_ABI) throw std::logic_error("the plugin has another ABI number");
    std::array<char, 512> message{};
    const bool is_open =
        !plugin_.open_plugin || plugin_.open_plugin(&host_.abi(), &host_.abi().context,
                                                    message.data(), message.size()) == 0;
    if (!is_open) result_.failures_.push_back(std::string("open_plugin: ") + message.data());
    const auto* item = static_cast<const char*>(plugin_.sources.items);
    for (std::uint32_t i = 0; i < plugin_.sources.count; ++i, item += plugin_.sources.item_size) {
      const auto& source = *reinterpret_cast<const ctprof_source*>(item);
      if (source.stage < CTPROF_STAGE_THREAD || source.stage > CTPROF_STAGE_HOST) continue;
      sources_.push_back(std::make_unique<SourceRun>(source, host_.abi()));
      for (const OfferRun& offer : sources_.back()->offers())
        if (!is_open) refuse(*sources_.back(), offer, {Gap::SourceFailed, message.data(), ""});
    }
    return is_open;
  }

  void probe_sources() {
    for (const auto& source : sources_) {
      source->probe();
      for (const OfferRun& offer : source->offers())
        if (!offer.lacks.empty()) result_.lacks_[offer.offer->metric->name] = offer.lacks;
    }
  }

  // For each metric, selects the offer with the highest rank that is not refused.
  void select_offers() {
    std::map<std::string, OfferRun*> best;
    for (const auto& source : sources_)
      for (OfferRun& offer : source->offers()) {
        if (offer.refusal.gap != Gap::None) {
          refuse(*source, offer, offer.refusal);
          continue;
        }
        OfferRun*& known = best[offer.offer->metric->name];
        if (!known || known->offer->rank < offer.offer->rank) known = &offer;
      }
    for (const auto& [metric, offer] : best) {
      result_.refusals_.erase(metric);
      offer->is_selected = is_requested(metric) || is_read(metric);
    }
  }

  bool is_requested(const std::string& metric) const {
    const auto& metrics = request_.metrics;
    return metrics.empty() || std::find(metrics.begin(), metrics.end(), metric) != metrics.end();
  }
  bool is_read(const std::string& metric) const {
    for (const auto& source : sources_)
      for (const std::string& read : source->reads())
        if (read == metric || read == metric + "?") return true;
    return false;
  }

  void refuse(const SourceRun& source, const OfferRun& offer, const Refusal& refusal) {
    const std::string metric = offer.offer->metric->name;
    result_.refusals_[metric] = refusal;
    for (const std::string& row : rows_.names(entity_of(source.source().stage)))
      result_.rows_[metric][row] = refusal.gap;
  }

  // Runs each source after the sources whose columns it reads.
  void collect_in_order() {
    std::set<const SourceRun*> finished;
    for (bool is_progress = true; is_progress;) {
      is_progress = false;
      for (const auto& source : sources_)
        if (!finished.contains(source.get()) && !waits_for(*source, finished)) {
          collect(*source);
          finished.insert(source.get());
          is_progress = true;
        }
    }
    if (finished.size() < sources_.size())
      result_.failures_.emplace_back("sources read each other's columns in a cycle");
  }

  bool waits_for(const SourceRun& source, const std::set<const SourceRun*>& finished) const {
    for (const std::string& read : source.reads())
      for (const auto& other : sources_)
        for (const OfferRun& offer : other->offers())
          if (offer.is_selected && base_name(read) == offer.offer->metric->name &&
              !finished.contains(other.get()))
            return true;
    return false;
  }

  static std::string base_name(const std::string& read) {
    return read.ends_with('?') ? read.substr(0, read.size() - 1) : read;
  }

  void collect(SourceRun& source) {
    const auto& offers = source.offers();
    if (std::none_of(offers.begin(), offers.end(), [](const auto& o) { return o.is_selected; }))
      return;
    const auto& names = rows_.names(entity_of(source.source().stage));
    std::vector<const InputColumn*> inputs;
    for (const std::string& read : source.reads()) {
      inputs.push_back(find_input(base_name(read), names));
      if (!inputs.back() && !read.ends_with('?'))
        return result_.failures_.push_back(std::string(source.source().name) +
                                           ": nothing fills the column '" + read +
                                           "', which it reads; add it to Request::inputs");
    }
    source.collect(names.size(), inputs);
    for (const OfferRun& offer : source.offers())
      if (offer.is_selected)
        for (std::size_t row = 0; row < names.size(); ++row)
          result_.rows_[offer.offer->metric->name][names[row]] = offer.cells[row];
  }

  // Returns a column by name: of the tree, of an earlier source, or of the request.
  const InputColumn* find_input(const std::string& name, const std::vector<std::string>& names) {
    if (const auto* column = rows_.find_column(name)) return &columns_.emplace_back(*column);
    const auto filled = result_.rows_.find(name);
    const auto requested = request_.inputs.find(name);
    const bool is_filled = filled != result_.rows_.end() && !result_.refusals_.contains(name);
    const Rows* rows = is_filled ? &filled->second : nullptr;
    if (!rows && requested != request_.inputs.end()) rows = &requested->second;
    if (!rows) return nullptr;
    std::vector<Cell>& cells = input_cells_.emplace_back();
    for (const std::string& row : names)
      cells.push_back(rows->contains(row) ? rows->at(row) : Cell(Gap::Unsupported));
    return &columns_.emplace_back(cells);
  }

  void summarise_all() {
    for (const auto& source : sources_) {
      const std::size_t listed = rows_.names(CTPROF_THREAD).size();
      const ctprof_summary summary{
          .size = sizeof(ctprof_summary),
          .tallies_count = static_cast<std::uint32_t>(source->tallies().size()),
          .tallies = source->tallies().data(),
          .rows_listed = listed,
          .rows_absent = 0,
          .core = this,
          .put_u64 = &put_u64,
          .put_bool = &put_bool,
          .put_text = &put_text,
          .note = &add_note,
          .context = host_.abi().context};
      const char* key = source->source().summary_key;
      summary_key_ = key ? std::string(key) + "." : "";
      if (source->source().summarise) source->source().summarise(&summary);
    }
  }

  void put(const char* key, std::string value) {
    result_.summary_[summary_key_ + key] = std::move(value);
  }
  static void put_u64(void* core, const char* key, std::uint64_t value) {
    static_cast<Session*>(core)->put(key, std::to_string(value));
  }
  static void put_bool(void* core, const char* key, std::uint32_t value) {
    static_cast<Session*>(core)->put(key, value ? "true" : "false");
  }
  static void put_text(void* core, const char* key, const char* data, std::size_t size) {
    static_cast<Session*>(core)->put(key, data ? std::string(data, size) : "null");
  }
  static void add_note(void* core, const char* data, std::size_t size) {
    static_cast<Session*>(core)->result_.notes_.emplace_back(data, size);
  }

  const struct ctprof_plugin& plugin_;
  const Request& request_;
  const TreeRows rows_;
  HostOfTree host_;
  std::vector<std::unique_ptr<SourceRun>> sources_;
  std::deque<std::vector<Cell>> input_cells_;
  std::deque<InputColumn> columns_;
  std::string summary_key_;
  Capture result_;
};

}  // namespace ctprof::sdk::testing::detail
