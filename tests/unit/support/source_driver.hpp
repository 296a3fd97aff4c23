// Drives one source of a plugin only through the ABI: probe, a batch of rows, summary. Returns
// cells as text.
//
// Contents:  the minimal part of the core that a source needs, for tests of its output.
// See also:  tests/unit/capture, for planning, workers and listing, which belong to the core.

#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <deque>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "ctprof/abi.h"
#include "ctprof/gap.hpp"

struct Ids {
  std::uint64_t tgid;
  std::uint64_t tid;
};

// A host whose files are below `root`; "" is the running host.
class TestHost {
 public:
  TestHost(const std::string& root, Ids sample, ctprof_host_flags flags)
      : proc_(root + "/proc"),
        proc_fd_(open(proc_)),
        sys_fd_(open(root + "/sys")),
        cgroup_fd_(open_cgroup(root)) {
    if (proc_fd_ < 0) throw std::runtime_error("no directory '" + proc_ + "'");
    abi = {.size = sizeof(ctprof_host),
           .flags = flags,
           .proc_fd = proc_fd_,
           .sys_fd = sys_fd_,
           .cgroup_fd = cgroup_fd_,
           .user_hz = 100,
           .proc = proc_.c_str(),
           .sys = "",
           .cgroup = "",
           .sample_tgid = sample.tgid,
           .sample_tid = sample.tid};
  }
  TestHost(const TestHost&) = delete;
  TestHost& operator=(const TestHost&) = delete;
  ~TestHost() {
    for (const int fd : {proc_fd_, sys_fd_, cgroup_fd_})
      if (fd >= 0) ::close(fd);
  }

  ctprof_host abi{};

 private:
  static int open(const std::string& path) {
    return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  }

  static int open_cgroup(const std::string& root) {
    for (const char* place : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"})
      if (::access((root + place + "/cgroup.controllers").c_str(), F_OK) == 0)
        return open(root + place);
    return -1;
  }

  std::string proc_;
  int proc_fd_;
  int sys_fd_;
  int cgroup_fd_;
};

class SourceDriver {
 public:
  SourceDriver(const ctprof_plugin& plugin, std::uint32_t source, const TestHost& host)
      : source_(static_cast<const ctprof_source*>(plugin.sources.items)[source]),
        offers_(static_cast<const ctprof_offer*>(source_.offers.items)),
        close_(plugin.close_plugin),
        tallies_(source_.tallies_count) {
    std::array<char, 256> message{};
    abi_ = host.abi;
    if (plugin.open_plugin &&
        plugin.open_plugin(&host.abi, &abi_.context, message.data(), message.size()) != 0)
      throw std::runtime_error(message.data());
  }
  SourceDriver(const SourceDriver&) = delete;
  SourceDriver& operator=(const SourceDriver&) = delete;
  ~SourceDriver() {
    if (close_) close_(abi_.context);
  }

  // Returns a map from each refused offer to "Gap: reason".
  std::map<std::string, std::string> probe() {
    const ctprof_probe probe{.size = sizeof(ctprof_probe),
                             .reserved = 0,
                             .core = this,
                             .refuse = &refuse,
                             .remedy = &remedy};
    source_.probe(&abi_, &probe);
    return refused_;
  }

  // Returns a map from each offer to its remedy, such as "command: sysctl ...". If the offer works
  // but lacks something, the remedy follows the sentence about what is missing.
  const std::map<std::string, std::string>& remedies() const { return remedies_; }

  // Fills rows for these threads or processes. Requests only the metrics in `wanted`, or all if it
  // is empty.
  void collect(const std::vector<Ids>& ids, const std::vector<std::string>& wanted = {}) {
    std::vector<std::uint64_t> tgids, tids;
    for (const Ids& id : ids) tgids.push_back(id.tgid), tids.push_back(id.tid);
    const std::vector<ctprof_gap> no_gaps(ids.size(), CTPROF_VALUE);
    // tgid, tid, task_dir, stat; a process source reads only the first.
    const std::array<ctprof_input, 4> inputs{
        {{tgids.data(), no_gaps.data()}, {tids.data(), no_gaps.data()}, {}, {}}};
    collect(ids.size(), inputs.data(), wanted);
  }

  // Fills one row for each cgroup.
  void collect_cgroups(const std::vector<std::string>& paths,
                       const std::vector<std::string>& wanted = {}) {
    std::vector<ctprof_text> texts;
    for (const std::string& path : paths) texts.push_back({path.data(), path.size()});
    const std::vector<ctprof_gap> no_gaps(paths.size(), CTPROF_VALUE);
    const ctprof_input input{texts.data(), no_gaps.data()};
    collect(paths.size(), &input, wanted);
  }

  // Fills the only row of the host.
  void collect_host(const std::vector<std::string>& wanted = {}) { collect(1, nullptr, wanted); }

  // Returns the value of a cell as text, or the name of its gap.
  std::string cell(const std::string& metric, std::size_t row) const {
    const std::size_t offer = index_of(metric);
    const ctprof_gap gap = gaps_[offer].at(row);
    if (gap != CTPROF_VALUE) return std::string(ctprof::name(static_cast<ctprof::Gap>(gap)));
    const std::uint64_t raw = scalars_[offer][row];
    switch (offers_[offer].metric->storage) {
      case CTPROF_U64: return std::to_string(raw);
      case CTPROF_I64: return std::to_string(static_cast<std::int64_t>(raw));
      case CTPROF_BOOL:
        return reinterpret_cast<const std::uint8_t*>(scalars_[offer].data())[row] ? "true"
                                                                                  : "false";
      default: return texts_.at({offer, row});
    }
  }

  // Counts the cells of each metric by gap; "None" counts values.
  std::map<std::string, std::map<std::string, std::size_t>> gaps() const {
    std::map<std::string, std::map<std::string, std::size_t>> found;
    for (std::size_t offer = 0; offer < gaps_.size(); ++offer)
      for (const ctprof_gap gap : gaps_[offer])
        ++found[offers_[offer].metric->name]
               [std::string(ctprof::name(static_cast<ctprof::Gap>(gap)))];
    return found;
  }

  struct SummaryLines {
    std::vector<std::pair<std::string, std::string>> fields;
    std::vector<std::string> notes;
  };
  // Returns the summary of all batches so far.
  SummaryLines summary(std::uint64_t rows_listed) {
    summary_ = {};
    const ctprof_summary summary{.size = sizeof(ctprof_summary),
                                 .tallies_count = source_.tallies_count,
                                 .tallies = tallies_.data(),
                                 .rows_listed = rows_listed,
                                 .rows_absent = 0,
                                 .core = this,
                                 .put_u64 = &add_u64_field,
                                 .put_bool = &add_bool_field,
                                 .put_text = &add_text_field,
                                 .note = &add_note,
                                 .context = abi_.context};
    source_.summarise(&summary);
    return summary_;
  }

 private:
  void collect(std::size_t rows, const ctprof_input* inputs,
               const std::vector<std::string>& wanted) {
    rows_ = rows;
    make_cells(wanted);
    std::array<char, 256> message{};
    ctprof_batch batch{.size = sizeof(ctprof_batch),
                       .rows = static_cast<std::uint32_t>(rows_),
                       .inputs = inputs,
                       .cells = cells_.data(),
                       .core = this,
                       .put_text = &put_text,
                       .put_bits = &put_bits,
                       .put_map = &put_map,
                       .put_array = nullptr,
                       .tally = &tally,
                       .rows_done = 0,
                       .reserved = 0,
                       .longest_stop_ns = 0,
                       .message = message.data(),
                       .message_size = message.size()};
    void* worker = nullptr;
    const bool opened = source_.open_worker(&abi_, &worker, message.data(), message.size()) == 0;
    const bool collected =
        opened && source_.collect(worker, &batch) == 0 && batch.rows_done == rows_;
    if (opened) source_.close_worker(worker);
    if (!collected) throw std::runtime_error(message.data());
  }

  static SourceDriver& driver_of(void* core) { return *static_cast<SourceDriver*>(core); }

  std::size_t index_of(const std::string& metric) const {
    for (std::size_t i = 0; i < source_.offers.count; ++i)
      if (metric == offers_[i].metric->name) return i;
    throw std::runtime_error("no offer '" + metric + "'");
  }

  void make_cells(const std::vector<std::string>& wanted) {
    const std::size_t count = source_.offers.count;
    cells_.assign(count, {nullptr, nullptr});
    scalars_.assign(count, std::vector<std::uint64_t>(rows_));
    gaps_.assign(count, {});
    texts_.clear();
    for (std::size_t i = 0; i < count; ++i) {
      const ctprof_metric& metric = *offers_[i].metric;
      const bool is_requested =
          wanted.empty() || std::find(wanted.begin(), wanted.end(), metric.name) != wanted.end();
      if (!is_requested) continue;
      gaps_[i].assign(rows_, CTPROF_UNTOUCHED);
      cells_[i] = {
          metric.storage >= CTPROF_STRING ? nullptr : static_cast<void*>(scalars_[i].data()),
          gaps_[i].data()};
    }
  }

  void store_text(std::uint32_t offer, std::uint32_t row, std::string text) {
    texts_[{offer, row}] = std::move(text);
    gaps_.at(offer).at(row) = CTPROF_VALUE;
  }

  static void refuse(void* core, std::uint32_t offer, ctprof_gap gap, const char* reason,
                     std::size_t size) {
    driver_of(core).refused_[driver_of(core).offers_[offer].metric->name] =
        std::string(ctprof::name(static_cast<ctprof::Gap>(gap))) + ": " + std::string(reason, size);
    driver_of(core).remedies_.erase(driver_of(core).offers_[offer].metric->name);
  }
  static void remedy(void* core, std::uint32_t offer, const char* lack, std::size_t lack_size,
                     ctprof_remedy kind, const char* what, std::size_t what_size) {
    constexpr std::array kKinds{"nothing", "command", "capabilities", "boot", "kernel"};
    const std::string sentence = lack_size > 0 ? std::string(lack, lack_size) + "; " : "";
    const std::string words = what_size > 0 ? ": " + std::string(what, what_size) : "";
    driver_of(core).remedies_[driver_of(core).offers_[offer].metric->name] =
        sentence + kKinds.at(kind) + words;
  }
  static void put_text(void* core, std::uint32_t offer, std::uint32_t row, const char* data,
                       std::size_t size) {
    driver_of(core).store_text(offer, row, std::string(data, size));
  }
  static void put_bits(void* core, std::uint32_t offer, std::uint32_t row,
                       const std::uint64_t* words, std::size_t count) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i) text += (i > 0 ? " " : "") + std::to_string(words[i]);
    driver_of(core).store_text(offer, row, text);
  }
  static void put_map(void* core, std::uint32_t offer, std::uint32_t row,
                      const ctprof_entry* entries, std::size_t count) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i)
      text += std::string(entries[i].key.data, entries[i].key.size) + "=" +
              std::to_string(entries[i].value) + " ";
    driver_of(core).store_text(offer, row, text);
  }
  static void tally(void* core, std::uint32_t tally, std::uint64_t count) {
    driver_of(core).tallies_.at(tally) += count;
  }

  static void add_u64_field(void* core, const char* key, std::uint64_t value) {
    driver_of(core).summary_.fields.emplace_back(key, std::to_string(value));
  }
  static void add_bool_field(void* core, const char* key, std::uint32_t value) {
    driver_of(core).summary_.fields.emplace_back(key, value ? "true" : "false");
  }
  static void add_text_field(void* core, const char* key, const char* data, std::size_t size) {
    driver_of(core).summary_.fields.emplace_back(key, data ? std::string(data, size) : "null");
  }
  static void add_note(void* core, const char* data, std::size_t size) {
    driver_of(core).summary_.notes.emplace_back(data, size);
  }

  const ctprof_source& source_;
  const ctprof_offer* offers_;
  ctprof_host abi_{};  // holds the context of the plugin
  void (*close_)(void*);
  std::size_t rows_ = 0;
  std::vector<ctprof_cells> cells_;
  std::vector<std::vector<std::uint64_t>> scalars_;
  std::vector<std::vector<ctprof_gap>> gaps_;
  std::map<std::pair<std::size_t, std::size_t>, std::string> texts_;
  std::map<std::string, std::string> refused_;
  std::map<std::string, std::string> remedies_;
  std::vector<std::uint64_t> tallies_;
  SummaryLines summary_;
};
