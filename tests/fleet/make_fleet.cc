// make_fleet: makes a fleet of simulated hosts from a few real windows.
//
//   make_fleet SEED.ctprof.zst... --hosts N --threads MIN:MAX --kernel 6.1=0.9 --kernel 6.12=0.1
//              [--shift METRIC=FACTOR@KERNEL[:GROUP]] [--spread HOST:ROW] [--seed S] [--jobs N] -o
//              DIR
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
#include "core/file/file.hpp"
#include "core/registry/identity.hpp"
#include "core/snapshot/snapshot.hpp"
#include "tests/fleet/make_fleet_options.hpp"

namespace ctprof::make_fleet {
namespace {

// A random number generator with the same sequence on every platform (splitmix64).
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    return mixed ^ (mixed >> 31);
  }
  std::uint64_t below(std::uint64_t end) { return next() % end; }
  double share() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  double normal() {
    const double far = std::sqrt(-2 * std::log(1 - share()));
    return far * std::cos(2 * std::numbers::pi * share());
  }

 private:
  std::uint64_t state_;
};

// --- a seed

// The rows of a process: living threads, exited threads, and its own row.
struct Process {
  std::uint64_t tgid = 0;
  std::vector<std::uint32_t> living, ended;
  std::optional<std::uint32_t> row;  // in the table of processes
};

struct Seed {
  Snapshot window;
  std::vector<Process> processes;

  std::size_t threads() const { return window.threads().rows; }
};

std::span<const std::uint64_t> numbers_of(const Table& table, std::string_view name) {
  const Column* column = table.find(name);
  if (!column) stop("a seed has no " + std::string(name));
  return column->u64();
}

std::unique_ptr<Seed> load(const std::string& path) {
  auto loaded = load_file(path, Vocabulary());
  if (!loaded) stop(loaded.error().text);
  if (!loaded->window) stop("'" + path + "' is no window");
  if (!loaded->pools->stacks.table.nodes().empty() &&
      loaded->pools->stacks.table.nodes().size() > 1)
    stop("'" + path + "' has call stacks, which nobody needs in a fleet");
  auto seed = std::make_unique<Seed>();
  seed->window = std::move(*loaded);
  std::map<std::uint64_t, Process> found;
  const auto tgids = numbers_of(seed->window.threads(), kTgid);
  for (std::uint32_t row = 0; row < tgids.size(); ++row) {
    Process& process = found[tgids[row]];
    process.tgid = tgids[row];
    (row < seed->window.window->living ? process.living : process.ended).push_back(row);
  }
  const auto of_processes = numbers_of(seed->window.table(Entity::Process), kProcessTgid);
  for (std::uint32_t row = 0; row < of_processes.size(); ++row) found[of_processes[row]].row = row;
  for (auto& [tgid, process] : found) seed->processes.push_back(std::move(process));
  return seed;
}

// --- a host

// A row of a table of the host: the seed's row, and its new ids.
struct Row {
  std::uint32_t from = 0;
  std::uint64_t tgid = 0, tid = 0;
};

struct Drawn {
  std::vector<Row> living, ended, processes;
};

// Draws each process as often as the number of threads requires on average. Thus hosts differ in
// their number of threads more than in their processes.
Drawn draw(const Seed& seed, std::size_t threads, Dice& dice) {
  const double copies = static_cast<double>(threads) / static_cast<double>(seed.threads());
  Drawn drawn;
  std::uint64_t next = 1;
  for (double part = 0; part < copies; ++part)
    for (const Process& process : seed.processes) {
      if (copies - part < 1 && dice.share() >= copies - part) continue;
      const std::uint64_t tgid = next++;
      bool has_leader = false;
      const auto add = [&](std::vector<Row>& rows, const std::vector<std::uint32_t>& from) {
        for (const std::uint32_t row : from)
          rows.push_back({row, tgid, std::exchange(has_leader, true) ? next++ : tgid});
      };
      add(drawn.living, process.living);
      add(drawn.ended, process.ended);
      if (process.row && !process.living.empty())
        drawn.processes.push_back({*process.row, tgid, tgid});
    }
  return drawn;
}

// Factors that are computed in advance, so that a row needs no logarithm.
class Factors {
 public:
  Factors(double spread, std::uint64_t seed) {
    Dice dice(seed);
    for (double& factor : factors_) factor = std::exp(spread * dice.normal());
  }
  double of(Dice& dice) const { return factors_[dice.next() % factors_.size()]; }

 private:
  std::array<double, 4096> factors_{};
};

bool varies(const MetricDef& def) {
  return def.storage == Storage::U64 && !def.hidden && !def.setting && !def.is_mark &&
         (def.family == "cumulative" || def.family == "gauge") && def.entity != Entity::Host;
}

std::uint64_t times(std::uint64_t number, double factor) {
  return static_cast<std::uint64_t>(std::llround(static_cast<double>(number) * factor));
}

class HostMaker {
 public:
  HostMaker(const Asked& asked, const Factors& of_rows) : asked_(&asked), of_rows_(&of_rows) {
    for (const std::string& path : asked.seeds) seeds_.push_back(load(path));
  }

  void make(std::size_t number) {
    dice_ = Dice(asked_->seed * 1'000'003 + number);
    dice_ = Dice(dice_.next());
    Seed& seed = *seeds_[dice_.below(seeds_.size())];
    const std::string kernel = kernel_of(dice_.share());
    const std::size_t threads = asked_->least + dice_.below(asked_->most - asked_->least + 1);
    const Drawn drawn = draw(seed, threads, dice_);
    Snapshot host = host_of(seed, number, kernel);
    fill(host, seed, drawn);
    const double scale = static_cast<double>(seed.threads()) /
                         static_cast<double>(drawn.living.size() + drawn.ended.size());
    vary(host, kernel, scale);
    write(std::move(host), seed, number);
  }

 private:
  std::string kernel_of(double share) const {
    double all = 0, met = 0;
    for (const Kernel& kernel : asked_->kernels) all += kernel.share;
    for (const Kernel& kernel : asked_->kernels)
      if ((met += kernel.share) > share * all) return kernel.release;
    return asked_->kernels.empty() ? "" : asked_->kernels.back().release;
  }

  // Makes the host without its rows.
  Snapshot host_of(Seed& seed, std::size_t number, const std::string& kernel) {
    const Snapshot& from = seed.window;
    Snapshot host;
    host.meta = from.meta;
    host.derived = from.derived;
    host.objects = from.objects;
    host.early_objects = from.early_objects;
    Window& window = host.window.emplace();
    window.opened = from.window->opened;
    window.ended_lost = from.window->ended_lost;
    window.ended_unseen = from.window->ended_unseen;
    window.sees_ends = from.window->sees_ends;
    window.notes = from.window->notes;
    char name[32];
    std::snprintf(name, sizeof name, "host-%05zu", number);
    host.meta.hostname = name;
    char boot[64];
    std::snprintf(boot, sizeof boot, "%08x-%04x-4%03x-8%03x-%012llx",
                  static_cast<unsigned>(dice_.next()), static_cast<unsigned>(dice_.below(0x10000)),
                  static_cast<unsigned>(dice_.below(0x1000)),
                  static_cast<unsigned>(dice_.below(0x1000)),
                  static_cast<unsigned long long>(dice_.next() >> 16));
    host.meta.boot_id = boot;
    shift_times(host);
    if (!kernel.empty()) set_kernel(host, kernel);
    return host;
  }

  // Adds up to one month of uptime, and up to one hour to the time of the recording.
  void shift_times(Snapshot& host) {
    constexpr std::uint64_t kSecond = 1'000'000'000;
    const std::uint64_t up = dice_.below(30 * 86400) * kSecond, wall = dice_.below(3600) * kSecond;
    for (Moment* moment : {&host.meta.start, &host.meta.end, &host.window->opened}) {
      moment->wall_unix_ns += wall;
      moment->boottime_ns += up;
    }
  }

  static void set_kernel(Snapshot& host, const std::string& kernel) {
    const auto context = host.objects.find(kHostContext);
    if (context == host.objects.end()) stop("a seed has no context of its host");
    boost::json::value value = boost::json::parse(context->second);
    value.as_object()["kernel_release"] = kernel;
    context->second = boost::json::serialize(value);
  }

  static void gather(std::deque<Column>& into, const std::deque<Column>& from,
                     std::span<const Row> rows) {
    for (const Column& column : from) {
      into.emplace_back(column.shared_def(), rows.size(), Gap::Untouched).provenance =
          column.provenance;
      for (std::size_t row = 0; row < rows.size(); ++row)
        into.back().take(row, column, rows[row].from);
    }
  }

  void fill(Snapshot& host, Seed& seed, const Drawn& drawn) {
    std::vector<Row> threads = drawn.living;
    threads.insert(threads.end(), drawn.ended.begin(), drawn.ended.end());
    host.window->living = drawn.living.size();
    host.meta.rows_listed = drawn.living.size() + host.meta.rows_absent;
    fill_table(host, seed.window, Entity::Thread, threads);
    fill_table(host, seed.window, Entity::Process, drawn.processes);
    for (const Entity entity : {Entity::Cgroup, Entity::Host}) {
      std::vector<Row> all(seed.window.table(entity).rows);
      for (std::uint32_t row = 0; row < all.size(); ++row) all[row].from = row;
      fill_table(host, seed.window, entity, all);
    }
    set_ids(host, seed.window, threads, drawn.processes);
    for (const Row& row : threads) {
      if (!seed.window.read_at.empty()) host.read_at.push_back(seed.window.read_at[row.from]);
      if (!seed.window.window->seen.empty())
        host.window->seen.push_back(seed.window.window->seen[row.from]);
    }
    std::swap(host.pools, seed.window.pools);  // until the host is written
  }

  static void fill_table(Snapshot& host, const Snapshot& seed, Entity entity,
                         std::span<const Row> rows) {
    const auto at = static_cast<std::size_t>(entity);
    host.tables[at].rows = rows.size();
    gather(host.tables[at].columns, seed.tables[at].columns, rows);
    const Opening& opening = seed.window->openings[at];
    gather(host.window->openings[at].columns, opening.columns, rows);
    for (const Row& row : rows)
      if (!opening.born.empty()) host.window->openings[at].born.push_back(opening.born[row.from]);
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
    auto of_processes = host.table(Entity::Process).find(kProcessTgid)->u64();
    for (std::size_t row = 0; row < processes.size(); ++row)
      of_processes[row] = processes[row].tgid;
  }

  // Returns the factor that the shifts of a metric give for a row of threads or processes.
  double shift_of(const Snapshot& host, const MetricDef& def, std::size_t row,
                  const std::string& kernel) const {
    double factor = 1;
    for (const Shift& shift : asked_->shifts) {
      if (shift.metric != def.name || shift.kernel != kernel) continue;
      if (shift.group.empty() || name_of(host, def.entity, row) == shift.group)
        factor *= shift.factor;
    }
    return factor;
  }

  static std::string_view name_of(const Snapshot& host, Entity entity, std::size_t row) {
    const Column* names =
        host.table(entity).find(entity == Entity::Thread ? kPcomm : kProcessPcomm);
    return names && names->has_value(row) ? host.pools->texts[names->ids()[row]]
                                          : std::string_view();
  }

  void vary(Snapshot& host, const std::string& kernel, double scale) {
    for (const Entity entity : {Entity::Thread, Entity::Process, Entity::Cgroup}) {
      Opening& opening = host.window->openings[static_cast<std::size_t>(entity)];
      for (Column& column : host.table(entity).columns) {
        const double of_host = std::exp(asked_->host_spread * dice_.normal());
        if (!varies(column.def())) continue;
        Column* base = nullptr;
        for (Column& one : opening.columns)
          if (one.def().name == column.def().name) base = &one;
        const bool counts_up = column.def().family == "cumulative";
        const bool is_shifted = std::ranges::any_of(asked_->shifts, [&](const Shift& shift) {
          return shift.metric == column.def().name && shift.kernel == kernel;
        });
        const bool is_scaled = counts_up && entity == Entity::Thread;
        vary(column, base, opening.born, [&](std::size_t row) {
          return of_host * of_rows_->of(dice_) * (is_scaled ? scale : 1) *
                 (is_shifted ? shift_of(host, column.def(), row, kernel) : 1);
        });
      }
    }
  }

  // Multiplies the change in the window for a counter, and both ends for a gauge.
  template <class Factor>
  static void vary(Column& column, Column* base, std::span<const std::uint8_t> born,
                   Factor factor_of) {
    const bool counts_up = column.def().family == "cumulative";
    const auto ends = column.u64();
    for (std::size_t row = 0; row < ends.size(); ++row) {
      const double factor = factor_of(row);
      if (!column.has_value(row) || ends[row] == 0) continue;
      const bool has_base = base && base->has_value(row);
      const std::uint64_t before = has_base ? base->u64()[row] : 0;
      if (!counts_up) {
        ends[row] = times(ends[row], factor);
        if (has_base) base->u64()[row] = times(before, factor);
      } else if (has_base && ends[row] >= before) {
        ends[row] = before + times(ends[row] - before, factor);
      } else if (!born.empty() && born[row]) {
        ends[row] = times(ends[row], factor);
      }
    }
  }

  void write(Snapshot host, Seed& seed, std::size_t number) {
    char name[64];
    std::snprintf(name, sizeof name, "/host-%05zu.ctprof.zst", number);
    const auto written = write_file(host, Vocabulary(), asked_->directory + name,
                                    {.layout = FileLayout::Columns, .workers = 1, .sync = false});
    std::swap(host.pools, seed.window.pools);
    if (!written) stop(written.error().text);
  }

  const Asked* asked_;
  const Factors* of_rows_;
  std::vector<std::unique_ptr<Seed>> seeds_;
  Dice dice_{0};
};

}  // namespace
}  // namespace ctprof::make_fleet

int main(int argc, char** argv) {
  using namespace ctprof::make_fleet;
  const Asked asked = parse({argv + 1, static_cast<std::size_t>(argc - 1)});
  ::mkdir(asked.directory.c_str(), 0777);
  const Factors of_rows(asked.row_spread, asked.seed);
  std::vector<std::unique_ptr<HostMaker>> makers(asked.jobs);
  ctprof::share(asked.jobs, asked.hosts, [&](unsigned worker, std::size_t number) {
    if (!makers[worker]) makers[worker] = std::make_unique<HostMaker>(asked, of_rows);
    makers[worker]->make(number);
  });
  return 0;
}
