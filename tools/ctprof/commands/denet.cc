#include "tools/ctprof/commands/denet.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/registry/identity.hpp"

namespace ctprof::cli {
namespace {

constexpr std::size_t kTopThreads = 10;

struct WaitTotals {
  std::uint64_t total_ns = 0, count = 0, longest_ns = 0, shortest_ns = 0;

  void add(const WaitTotals& other) {
    if (other.count == 0) return;
    shortest_ns = count == 0 ? other.shortest_ns : std::min(shortest_ns, other.shortest_ns);
    longest_ns = std::max(longest_ns, other.longest_ns);
    total_ns += other.total_ns;
    count += other.count;
  }
  std::uint64_t average_ns() const { return count == 0 ? 0 : total_ns / count; }
};
using ThreadId = std::pair<std::uint64_t, std::uint64_t>;  // process id, thread id
using WaitsByThread = std::map<ThreadId, WaitTotals>;

class Column64 {
 public:
  Column64(const Table& threads, std::string_view name) : column_(threads.find(name)) {}
  bool exists() const { return column_ != nullptr; }
  std::uint64_t at(std::size_t row) const {
    return column_ && column_->has_value(row) ? column_->u64()[row] : 0;
  }

 private:
  const Column* column_;
};

Result<WaitsByThread> collect_waits(const Table& table) {
  const Column64 total(table, "offcpu_ns"), count(table, "offcpu_count");
  const Column64 longest(table, "offcpu_max_ns"), shortest(table, "offcpu_min_ns");
  const Column64 tgid(table, kTgid), tid(table, kTid);
  if (!total.exists() || !count.exists() || !longest.exists() || !shortest.exists())
    return Error{"the file has no off-CPU times; record them with --recorders off-cpu"};
  WaitsByThread threads;
  for (std::size_t row = 0; row < table.rows; ++row)
    if (count.at(row) > 0)
      threads[{tgid.at(row), tid.at(row)}].add(
          {total.at(row), count.at(row), longest.at(row), shortest.at(row)});
  return threads;
}

void put_top(JsonWriter& out, const WaitsByThread& threads, const WaitTotals& all) {
  std::vector<std::pair<ThreadId, WaitTotals>> order(threads.begin(), threads.end());
  std::ranges::stable_sort(order, std::greater(),
                           [](const auto& thread) { return thread.second.total_ns; });
  order.resize(std::min(order.size(), kTopThreads));
  out.key("top_blocking_threads");
  out.put('[');
  for (const auto& [id, waited] : order) {
    const auto ns = static_cast<double>(waited.total_ns);
    out.put('{');
    out.member("pid", id.first);
    out.member("tid", id.second);
    out.key("time_ms");
    out.number(ns / 1e6);
    out.raw(",");
    out.key("percentage");
    out.number(100 * ns / static_cast<double>(std::max<std::uint64_t>(1, all.total_ns)));
    out.raw("},");
  }
  out.close(']');
  out.put(',');
}

void put_threads(JsonWriter& out, const WaitsByThread& threads) {
  out.key("thread_stats");
  out.put('{');
  for (const auto& [id, waited] : threads) {
    out.key(std::to_string(id.first) + ":" + std::to_string(id.second));
    out.put('{');
    out.member("tid", id.second);
    out.member("total_time_ns", waited.total_ns);
    out.member("count", waited.count);
    out.member("avg_time_ns", waited.average_ns());
    out.member("max_time_ns", waited.longest_ns);
    out.member("min_time_ns", waited.shortest_ns);
    out.close('}');
    out.put(',');
  }
  out.close('}');
}

}  // namespace

Result<void> write_denet(const Snapshot& snapshot, Sink& sink) {
  CTPROF_TRY_VALUE(const auto threads, collect_waits(snapshot.threads()));
  WaitTotals all;
  for (const auto& thread : threads) all.add(thread.second);
  JsonWriter out(Escape::Json);
  out.put('{');
  out.member("ts_ms", (snapshot.window ? snapshot.window->opened_at.wall_unix_ns : 0) / 1'000'000);
  out.raw("\"ebpf\":{\"offcpu\":{");
  out.member("total_time_ns", all.total_ns);
  out.member("total_events", all.count);
  out.member("avg_time_ns", all.average_ns());
  out.member("max_time_ns", all.longest_ns);
  out.member("min_time_ns", all.shortest_ns);
  put_top(out, threads, all);
  put_threads(out, threads);
  out.raw("}}}\n");
  return sink.write(out.view());
}

}  // namespace ctprof::cli
