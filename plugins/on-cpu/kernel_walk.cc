#include "plugins/on-cpu/kernel_walk.hpp"

#include <cerrno>
#include <cstdint>
#include <vector>

#ifdef CTPROF_KERNEL_WALK
#include "plugins/on-cpu/cpus.hpp"
#include "plugins/on-cpu/walk_skeleton.h"
#include "plugins/shared/bpf_map.hpp"
#endif

namespace ctprof::on_cpu {

void KernelWalk::add_path(const FileMapping& mapped) {
  requests_.add_path(walk_device(mapped.device_major, mapped.device_minor), mapped.inode,
                     mapped.path);
}

void KernelWalk::add_miss(const MissingTable& missed) {
  requests_.add_miss(missed.tgid, missed.miss);
}

#ifdef CTPROF_KERNEL_WALK

std::shared_ptr<KernelWalk> KernelWalk::load(const Options& options, int& error) {
  const std::shared_ptr<KernelWalk> walk(new KernelWalk());
  const on_cpu_walk_options load_options{options.depth, options.also_copies ? 1u : 0u,
                                         static_cast<unsigned>(read_possible_cpus().number_limit)};
  walk->program_ = on_cpu_walk_load(&load_options, &error);
  if (!walk->program_) return nullptr;
  const on_cpu_walk_maps maps = on_cpu_walk_get_maps(walk->program_);
  walk->tables_ =
      WalkTables::open({maps.chunks, maps.rules, maps.pages, maps.modules, maps.files}, error);
  walk->accounts_ = WalkAccounts::open(maps.accounts);
  if (!walk->accounts_) error = errno;
  return walk->tables_ && walk->accounts_ ? walk : nullptr;
}

KernelWalk::~KernelWalk() {
  if (program_) on_cpu_walk_unload(program_);
}

int KernelWalk::attach(int event, int cpu, int output) const {
  const auto key = static_cast<std::uint32_t>(cpu), value = static_cast<std::uint32_t>(output);
  if (!update_map(on_cpu_walk_get_maps(program_).outputs, &key, &value)) return errno;
  return on_cpu_walk_attach(program_, event);
}

void KernelWalk::exchange(const sdk::Records& records) {
  requests_.exchange(records, *tables_);
  on_cpu_walk_invalidate_code_cache(program_);
}

void KernelWalk::end_window() const { accounts_->end_window(); }

std::string KernelWalk::describe_window() const {
  return join_remarks(
      accounts_->describe_window("on-cpu"),
      requests_.describe_refused_tables("on-cpu", on_cpu_walk_count_unlisted(program_)));
}

KernelWalk::Counts KernelWalk::counts() const {
  Counts counts;
  std::vector<std::uint64_t> by_cpu(read_possible_cpus().count);
  for (std::uint32_t key = 0; key < WALK_REASONS; ++key) {
    if (!look_up_in_map(on_cpu_walk_get_maps(program_).counts, &key, by_cpu.data())) return {};
    std::uint64_t& sum = key == 0 ? counts.walked : counts.by_reason[key];
    for (const std::uint64_t count : by_cpu) sum += count;
    if (key != 0) counts.copied += sum;
  }
  return counts;
}

#else

std::shared_ptr<KernelWalk> KernelWalk::load(const Options&, int& error) {
  error = ENOSYS;
  return nullptr;
}

KernelWalk::~KernelWalk() = default;

int KernelWalk::attach(int, int, int) const { return ENOSYS; }

void KernelWalk::exchange(const sdk::Records&) {}

void KernelWalk::end_window() const {}

std::string KernelWalk::describe_window() const { return {}; }

KernelWalk::Counts KernelWalk::counts() const { return {}; }

#endif

}  // namespace ctprof::on_cpu
