// make_fleet: makes a fleet of simulated hosts from a few real windows.
//
//   make_fleet SEED.ctprof.zst... --hosts N --threads MIN:MAX --kernel RELEASE=SHARE... [--jobs N]
//              [--shift METRIC=FACTOR@KERNEL[:GROUP]] [--spread HOST:ROW] [--seed S] -o DIR
//
// Each host is one columns file, like those of `ctprof record`. It has its own name, boot id and
// kernel release. Its processes are drawn from one of the windows, each with its threads, under new
// ids. Its figures are multiplied by log-normal factors: one for each host and metric, and one for
// each row and metric. The totals of a host equal those of its seed, for any number of threads. A
// shift multiplies the change of a counter in the window, on the hosts of one kernel or for one
// process name there. The same arguments make the same files.

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <numbers>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/base/workers.hpp"
#include "core/file/capture_file.hpp"
#include "core/file/file.hpp"
#include "core/registry/identity.hpp"
#include "core/snapshot/file_extras.hpp"
#include "core/snapshot/snapshot.hpp"
#include "tests/fleet/make_fleet_options.hpp"

namespace ctprof::make_fleet {
namespace {

// A random number generator with the same sequence on every platform (splitmix64).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    return mixed ^ (mixed >> 31);
  }
  std::uint64_t next_below(std::uint64_t end) { return next() % end; }
  double next_fraction() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  double next_normal() {
    const double radius = std::sqrt(-2 * std::log(1 - next_fraction()));
    return radius * std::cos(2 * std::numbers::pi * next_fraction());
  }

 private:
  std::uint64_t state_;
};

// --- a seed

// The rows of a process: living threads, exited threads, and its own row.
struct Process {
  std::uint64_t tgid = 0;
  std::vector<std::uint32_t> living, exited;
  std::optional<std::uint32_t> row;  // in the table of processes
};

struct Seed {
  Snapshot window;
  std::vector<Process> processes;

  std::size_t threads() const { return window.threads().rows; }
};

std::span<const std::uint64_t> find_numbers(const Table& table, std::string_view name) {
  const Column* column = table.find(name);
  if (!column) exit_with_error("a seed has no " + std::string(name));
  return column->u64();
}

std::unique_ptr<Seed> load(const std::string& path) {
  auto loaded = load_file(path, Vocabulary());
  if (!loaded) exit_with_error(loaded.error().text);
  if (!loaded->window) exit_with_error("'" + path + "' is not a window");
  if (loaded->pools->stacks.table.nodes().size() > 1)
    exit_with_error("'" + path + "' has call stacks, which make_fleet does not support");
  auto seed = std::make_unique<Seed>();
  seed->window = std::move(*loaded);
  std::map<std::uint64_t, Process> found;
  const auto tgids = find_numbers(seed->window.threads(), kTgid);
  for (std::uint32_t row = 0; row < tgids.size(); ++row) {
    Process& process = found[tgids[row]];
    process.tgid = tgids[row];
    (row < seed->window.window->living_threads ? process.living : process.exited).push_back(row);
  }
  const auto process_ids = find_numbers(seed->window.table(Entity::Process), kProcessTgid);
  for (std::uint32_t row = 0; row < process_ids.size(); ++row) found[process_ids[row]].row = row;
  for (auto& [tgid, process] : found) seed->processes.push_back(std::move(process));
  return seed;
}

// --- a host

// A row of a table of the host: the seed's row, and its new ids.
struct Row {
  std::uint32_t source_row = 0;
  std::uint64_t tgid = 0, tid = 0;
};

struct DrawnRows {
  std::vector<Row> living, exited, processes;
};

// Draws each process as often as the number of threads requires on average. Thus hosts differ in
// their number of threads more than in their processes.
DrawnRows draw_rows(const Seed& seed, std::size_t threads, Random& random) {
  const double copies = static_cast<double>(threads) / static_cast<double>(seed.threads());
  DrawnRows drawn;
  std::uint64_t next = 1;
  for (double part = 0; part < copies; ++part)
    for (const Process& process : seed.processes) {
      if (copies - part < 1 && random.next_fraction() >= copies - part) continue;
      const std::uint64_t tgid = next++;
      bool has_leader = false;
      const auto add = [&](std::vector<Row>& rows, const std::vector<std::uint32_t>& from) {
        for (const std::uint32_t row : from)
          rows.push_back({row, tgid, std::exchange(has_leader, true) ? next++ : tgid});
      };
      add(drawn.living, process.living);
      add(drawn.exited, process.exited);
      if (process.row && !process.living.empty())
        drawn.processes.push_back({*process.row, tgid, tgid});
    }
  return drawn;
}

// Factors that are computed in advance, so that a row needs no logarithm.
class Factors {
 public:
  Factors(double spread, std::uint64_t seed) {
    Random random(seed);
    for (double& factor : factors_) factor = std::exp(spread * random.next_normal());
  }
  double draw_factor(Random& random) const { return factors_[random.next() % factors_.size()]; }

 private:
  std::array<double, 4096> factors_{};
};

bool is_varied(const MetricDef& def) {
  return def.storage == Storage::U64 && !def.is_hidden && !def.is_setting && !def.is_mark &&
         (def.family == "cumulative" || def.family == "gauge") && def.entity != Entity::Host;
}

std::uint64_t scale_number(std::uint64_t number, double factor) {
  return static_cast<std::uint64_t>(std::llround(static_cast<double>(number) * factor));
}

class HostMaker {
 public:
  HostMaker(const FleetOptions& options, const Factors& row_factors)
      : options_(&options), row_factors_(&row_factors) {
    for (const std::string& path : options.seeds) seeds_.push_back(load(path));
  }

  void make_host(std::size_t number) {
    random_ = Random(options_->seed * 1'000'003 + number);
    random_ = Random(random_.next());
    Seed& seed = *seeds_[random_.next_below(seeds_.size())];
    const std::string kernel = choose_kernel(random_.next_fraction());
    const std::size_t threads =
        options_->min_threads +
        random_.next_below(options_->max_threads - options_->min_threads + 1);
    const DrawnRows drawn = draw_rows(seed, threads, random_);
    Snapshot host = make_host_without_rows(seed, number, kernel);
    fill_rows(host, seed, drawn);
    const double scale = static_cast<double>(seed.threads()) /
                         static_cast<double>(drawn.living.size() + drawn.exited.size());
    vary_host(host, kernel, scale);
    write_host(std::move(host), seed, number);
  }

 private:
  std::string choose_kernel(double share) const {
    double all = 0, sum = 0;
    for (const Kernel& kernel : options_->kernels) all += kernel.share;
    for (const Kernel& kernel : options_->kernels)
      if ((sum += kernel.share) > share * all) return kernel.release;
    return options_->kernels.empty() ? "" : options_->kernels.back().release;
  }

  // Makes the host without its rows.
  Snapshot make_host_without_rows(Seed& seed, std::size_t number, const std::string& kernel) {
    const Snapshot& from = seed.window;
    Snapshot host;
    host.meta = from.meta;
    host.derived = from.derived;
    host.objects = from.objects;
    host.extras->header_objects = from.extras->header_objects;
    Window& window = host.window.emplace();
    window.opened_at = from.window->opened_at;
    window.exited_lost = from.window->exited_lost;
    window.exited_unknown = from.window->exited_unknown;
    window.reports_exits = from.window->reports_exits;
    window.notes = from.window->notes;
    char name[32];
    std::snprintf(name, sizeof name, "host-%05zu", number);
    host.meta.hostname = name;
    char boot[64];
    std::snprintf(boot, sizeof boot, "%08x-%04x-4%03x-8%03x-%012llx",
                  static_cast<unsigned>(random_.next()),
                  static_cast<unsigned>(random_.next_below(0x10000)),
                  static_cast<unsigned>(random_.next_below(0x1000)),
                  static_cast<unsigned>(random_.next_below(0x1000)),
                  static_cast<unsigned long long>(random_.next() >> 16));
    host.meta.boot_id = boot;
    shift_times(host);
    if (!kernel.empty()) set_kernel(host, kernel);
    return host;
  }

  // Adds up to one month of uptime, and up to one hour to the time of the recording.
  void shift_times(Snapshot& host) {
    constexpr std::uint64_t kSecond = 1'000'000'000;
    const std::uint64_t up = random_.next_below(30 * 86400) * kSecond,
                        wall = random_.next_below(3600) * kSecond;
    for (Timestamp* moment : {&host.meta.start, &host.meta.end, &host.window->opened_at}) {
      moment->wall_unix_ns += wall;
      moment->boottime_ns += up;
    }
  }

  static void set_kernel(Snapshot& host, const std::string& kernel) {
    const auto context = host.objects.find(kHostContext);
    if (context == host.objects.end()) exit_with_error("a seed has no context of its host");
    boost::json::value value = boost::json::parse(context->second);
    value.as_object()["kernel_release"] = kernel;
    context->second = boost::json::serialize(value);
  }

  static void copy_rows(std::deque<Column>& into, const std::deque<Column>& from,
                        std::span<const Row> rows) {
    for (const Column& column : from) {
      into.emplace_back(column.shared_def(), rows.size(), Gap::Untouched).provenance =
          column.provenance;
      for (std::size_t row = 0; row < rows.size(); ++row)
        into.back().copy_from(row, column, rows[row].source_row);
    }
  }

  void fill_rows(Snapshot& host, Seed& seed, const DrawnRows& drawn) {
    std::vector<Row> threads = drawn.living;
    threads.insert(threads.end(), drawn.exited.begin(), drawn.exited.end());
    host.window->living_threads = drawn.living.size();
    host.meta.rows_listed = drawn.living.size() + host.meta.rows_absent;
    fill_table(host, seed.window, Entity::Thread, threads);
    fill_table(host, seed.window, Entity::Process, drawn.processes);
    for (const Entity entity : {Entity::Cgroup, Entity::Host}) {
      std::vector<Row> all(seed.window.table(entity).rows);
      for (std::uint32_t row = 0; row < all.size(); ++row) all[row].source_row = row;
      fill_table(host, seed.window, entity, all);
    }
    set_ids(host, seed.window, threads, drawn.processes);
    for (const Row& row : threads) {
      if (!seed.window.read_at.empty()) host.read_at.push_back(seed.window.read_at[row.source_row]);
      if (!seed.window.window->seen_times.empty())
        host.window->seen_times.push_back(seed.window.window->seen_times[row.source_row]);
    }
    std::swap(host.pools, seed.window.pools);  // until the host is written
  }

  static void fill_table(Snapshot& host, const Snapshot& seed, Entity entity,
                         std::span<const Row> rows) {
    const auto at = static_cast<std::size_t>(entity);
    host.tables[at].rows = rows.size();
    copy_rows(host.tables[at].columns, seed.tables[at].columns, rows);
    const Opening& opening = seed.window->openings[at];
    copy_rows(host.window->openings[at].columns, opening.columns, rows);
    for (const Row& row : rows)
      if (!opening.started.empty())
        host.window->openings[at].started.push_back(opening.started[row.source_row]);
  }

  static void set_ids(Snapshot& host, const Snapshot& seed, std::span<const Row> threads,
                      std::span<const Row> processes) {
    const std::unordered_set<std::uint64_t> own(seed.meta.own_threads.begin(),
                                                seed.meta.own_threads.end());
    host.meta.own_threads.clear();
    auto tids = host.threads().find(kTid)->u64(), tgids = host.threads().find(kTgid)->u64();
    for (std::size_t row = 0; row < threads.size(); ++row) {
      if (own.contains(tids[row])) host.meta.own_threads.push_back(threads[row].tid);
      tids[row] = threads[row].tid;
      tgids[row] = threads[row].tgid;
    }
    if (processes.empty()) return;
    auto process_ids = host.table(Entity::Process).find(kProcessTgid)->u64();
    for (std::size_t row = 0; row < processes.size(); ++row) process_ids[row] = processes[row].tgid;
  }

  // Returns the factor that the shifts of a metric give for a row of threads or processes.
  double compute_shift_factor(const Snapshot& host, const MetricDef& def, std::size_t row,
                              const std::string& kernel) const {
    double factor = 1;
    for (const Shift& shift : options_->shifts) {
      if (shift.metric != def.name || shift.kernel != kernel) continue;
      if (shift.group.empty() || find_name(host, def.entity, row) == shift.group)
        factor *= shift.factor;
    }
    return factor;
  }

  static std::string_view find_name(const Snapshot& host, Entity entity, std::size_t row) {
    const Column* names =
        host.table(entity).find(entity == Entity::Thread ? kPcomm : kProcessPcomm);
    return names && names->has_value(row) ? host.pools->texts[names->ids()[row]]
                                          : std::string_view();
  }

  void vary_host(Snapshot& host, const std::string& kernel, double scale) {
    for (const Entity entity : {Entity::Thread, Entity::Process, Entity::Cgroup}) {
      Opening& opening = host.window->openings[static_cast<std::size_t>(entity)];
      for (Column& column : host.table(entity).columns) {
        const double host_factor = std::exp(options_->host_spread * random_.next_normal());
        if (!is_varied(column.def())) continue;
        Column* base = nullptr;
        for (Column& one : opening.columns)
          if (one.def().name == column.def().name) base = &one;
        const bool is_counter = column.def().family == "cumulative";
        const bool is_shifted = std::ranges::any_of(options_->shifts, [&](const Shift& shift) {
          return shift.metric == column.def().name && shift.kernel == kernel;
        });
        const bool is_scaled = is_counter && entity == Entity::Thread;
        vary_column(column, base, opening.started, [&](std::size_t row) {
          return host_factor * row_factors_->draw_factor(random_) * (is_scaled ? scale : 1) *
                 (is_shifted ? compute_shift_factor(host, column.def(), row, kernel) : 1);
        });
      }
    }
  }

  // Multiplies the change in the window for a counter, and both ends for a gauge.
  template <class Factor>
  static void vary_column(Column& column, Column* base, std::span<const std::uint8_t> started,
                          Factor factor_of) {
    const bool is_counter = column.def().family == "cumulative";
    const auto ends = column.u64();
    for (std::size_t row = 0; row < ends.size(); ++row) {
      const double factor = factor_of(row);
      if (!column.has_value(row) || ends[row] == 0) continue;
      const bool has_base = base && base->has_value(row);
      const std::uint64_t before = has_base ? base->u64()[row] : 0;
      if (!is_counter) {
        ends[row] = scale_number(ends[row], factor);
        if (has_base) base->u64()[row] = scale_number(before, factor);
      } else if (has_base && ends[row] >= before) {
        ends[row] = before + scale_number(ends[row] - before, factor);
      } else if (!started.empty() && started[row]) {
        ends[row] = scale_number(ends[row], factor);
      }
    }
  }

  void write_host(Snapshot host, Seed& seed, std::size_t number) {
    char name[64];
    std::snprintf(name, sizeof name, "/host-%05zu.ctprof.zst", number);
    const auto written = write_file(host, Vocabulary(), options_->directory + name,
                                    {.layout = FileLayout::Columns, .workers = 1, .sync = false});
    std::swap(host.pools, seed.window.pools);
    if (!written) exit_with_error(written.error().text);
  }

  const FleetOptions* options_;
  const Factors* row_factors_;
  std::vector<std::unique_ptr<Seed>> seeds_;
  Random random_{0};
};

}  // namespace
}  // namespace ctprof::make_fleet

int main(int argc, char** argv) {
  using namespace ctprof::make_fleet;
  const FleetOptions options = parse_options({argv + 1, static_cast<std::size_t>(argc - 1)});
  ::mkdir(options.directory.c_str(), 0777);
  const Factors row_factors(options.row_spread, options.seed);
  std::vector<std::unique_ptr<HostMaker>> makers(options.jobs);
  ctprof::share_work(options.jobs, options.hosts, [&](unsigned worker, std::size_t number) {
    if (!makers[worker]) makers[worker] = std::make_unique<HostMaker>(options, row_factors);
    makers[worker]->make_host(number);
  });
  return 0;
}
