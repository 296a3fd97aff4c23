#include "plugins/off-cpu/programs.hpp"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <utility>

#include "core/base/clock.hpp"
#include "off_cpu.skel.h"
#include "off_cpu_symbol.skel.h"
#include "plugins/shared/elevated_user.hpp"

namespace ctprof::off_cpu {
namespace {

// Delay between setting an edge and reaching it; by then every CPU sees the edge.
constexpr std::uint64_t kEdgeDelayNs = 500'000;
// Limit of followed processes, including those that they fork: about 4 MiB, allocated in advance,
// because a program that holds a lock of the scheduler cannot allocate.
constexpr std::uint32_t kMaxFollowedProcesses = 1 << 16;
// Limit of threads on kernels without task storage.
constexpr std::uint32_t kMaxThreads = 64 << 10;
// Number of frames of the program that records a stack, for kernels before 5.14, which cannot name
// them.
constexpr std::uint32_t kOwnFrames = 4;
// Limit of records in one read; the others remain for the next read.
constexpr std::size_t kMaxRecordsPerRead = 100'000;
constexpr std::size_t kPassBuffer = 256 * 1024;

[[noreturn]] void throw_refused(const std::string& operation, int error) {
  throw RefusedOperation(operation, error);
}

// The kernel's own types (BTF).
class KernelTypes {
 public:
  KernelTypes() : btf_(btf__load_vmlinux_btf()) {}
  ~KernelTypes() { btf__free(btf_); }
  KernelTypes(const KernelTypes&) = delete;
  KernelTypes& operator=(const KernelTypes&) = delete;

  bool has(const char* name, std::uint32_t kind) const {
    return btf_ && btf__find_by_name_kind(btf_, name, kind) > 0;
  }
  // Returns the number of arguments of a tracepoint, without the first one, which all tracepoints
  // have.
  unsigned arguments(const char* tracepoint) const {
    const int id = btf_ ? btf__find_by_name_kind(btf_, tracepoint, BTF_KIND_TYPEDEF) : -1;
    if (id < 0) return 0;
    const btf_type* type = btf__type_by_id(btf_, btf__type_by_id(btf_, id)->type);
    if (type && btf_is_ptr(type)) type = btf__type_by_id(btf_, type->type);
    return type && btf_is_func_proto(type) && btf_vlen(type) > 0 ? btf_vlen(type) - 1u : 0;
  }
  // Returns whether enum bpf_func_id contains the helper.
  bool has_helper(const char* name) const {
    const int id = btf_ ? btf__find_by_name_kind(btf_, "bpf_func_id", BTF_KIND_ENUM) : -1;
    if (id < 0) return false;
    const btf_type* type = btf__type_by_id(btf_, id);
    const auto values = std::span(btf_enum(type), btf_vlen(type));
    return std::ranges::any_of(values, [&](const struct btf_enum& value) {
      return std::strcmp(btf__name_by_offset(btf_, value.name_off), name) == 0;
    });
  }

 private:
  btf* btf_;
};

// Returns the name of the function that a resumed thread runs first. The compiler may have renamed
// it.
std::string find_finish_task_switch() {
  std::ifstream symbols("/proc/kallsyms");
  for (std::string address, type, name, rest; symbols >> address >> type >> name;) {
    std::getline(symbols, rest);
    if (name == "finish_task_switch" || name.starts_with("finish_task_switch.isra.")) return name;
  }
  return {};
}

}  // namespace

void Programs::Deleter::operator()(off_cpu_bpf* skeleton) const { off_cpu_bpf__destroy(skeleton); }
void Programs::Deleter::operator()(off_cpu_symbol_bpf* skeleton) const {
  off_cpu_symbol_bpf__destroy(skeleton);
}
void Programs::Deleter::operator()(bpf_link* link) const { bpf_link__destroy(link); }
void Programs::Deleter::operator()(ring_buffer* ring) const { ring_buffer__free(ring); }

std::unique_ptr<Programs> Programs::load(const Setup& setup, int& error) {
  libbpf_set_print(nullptr);
  for (const ResumeHook hook : {ResumeHook::ExitTracepoint, ResumeHook::EndOfSchedule,
                                ResumeHook::FinishTaskSwitch, ResumeHook::None}) {
    const bool can_walk = hook == ResumeHook::ExitTracepoint || hook == ResumeHook::EndOfSchedule;
    for (const bool walks : {true, false}) {
      if (walks && !(setup.walks_user_stacks && can_walk)) continue;
      std::unique_ptr<Programs> programs(new Programs());
      error = programs->try_hook(setup, hook, walks);
      if (error == 0) return programs;  // a hook may work although another one failed
    }
  }
  return nullptr;
}

Programs::~Programs() = default;

// Tries one hook. Returns 0, or an errno.
int Programs::try_hook(const Setup& setup, ResumeHook hook, bool walks) {
  hook_ = hook;
  walks_ = walks;
  if (!open(setup, hook)) return ENOENT;
  if (const int error = off_cpu_bpf__load(skeleton_.get()); error != 0) return -error;
  if (walks_ && !open_walk()) return errno;
  for (const std::uint64_t pid : setup.pids) {
    const auto key = static_cast<std::uint32_t>(pid);
    const std::uint8_t yes = 1;
    if (bpf_map_update_elem(bpf_map__fd(skeleton_->maps.processes), &key, &yes, BPF_ANY) != 0)
      return errno;
  }
  // Only an attempt shows whether the program can be attached there, and Linux 5.10 allows only one
  // attempt.
  if (hook != ResumeHook::None) {
    resume_link_.reset(attach_resume());
    if (!resume_link_) return errno ? errno : ENOENT;
  }
  stacks_.reset(create_ring(bpf_map__fd(skeleton_->maps.stacks)));
  records_.reset(create_ring(bpf_map__fd(skeleton_->maps.other_records)));
  return stacks_ && records_ ? 0 : errno;
}

ring_buffer* Programs::create_ring(int map) {
  return ring_buffer__new(
      map,
      [](void* self, void* data, std::size_t size) {
        auto& programs = *static_cast<Programs*>(self);
        if (const auto* miss = static_cast<const off_miss*>(data);
            size >= sizeof *miss && miss->kind == OFF_MISS)
          programs.requests_.add_miss(miss->tgid, miss->miss);
        else
          (*programs.callback_)({static_cast<const std::byte*>(data), size});
        return ++programs.read_count_ >= kMaxRecordsPerRead ? -1 : 0;
      },
      this, nullptr);
}

// Opens the skeleton. Returns false if this kernel does not have the hook.
bool Programs::open(const Setup& setup, ResumeHook hook) {
  static const KernelTypes types;
  if (hook == ResumeHook::ExitTracepoint && !types.has("btf_trace_sched_exit_tp", BTF_KIND_TYPEDEF))
    return false;
  if (hook == ResumeHook::EndOfSchedule && !types.has("schedule", BTF_KIND_FUNC)) return false;
  skeleton_.reset(off_cpu_bpf__open());
  if (!skeleton_) return false;
  if (!symbols_) symbols_.reset(off_cpu_symbol_bpf__open_and_load());
  skeleton_->rodata->own_frames = symbols_ ? 0 : kOwnFrames;
  auto& settings = *skeleton_->rodata;
  settings.has_task_storage = types.has_helper("BPF_FUNC_get_current_task_btf");
  settings.has_user_registers = types.has_helper("BPF_FUNC_task_pt_regs");
  settings.has_previous_state = types.arguments("btf_trace_sched_switch") >= 4;
  settings.only_processes = !setup.pids.empty();
  settings.follows_children = setup.inherits;
  knows_cgroups_ = setup.cgroup == 0 || types.has("btf_trace_cgroup_attach_task", BTF_KIND_TYPEDEF);
  settings.only_cgroup = knows_cgroups_ ? setup.cgroup : 0;
  settings.walk_depth = setup.depth;
  settings.has_histograms = setup.histograms != 0 && settings.has_task_storage;
  choose_programs();
  bpf_map__set_autocreate(skeleton_->maps.threads, settings.has_task_storage != 0);
  bpf_map__set_autocreate(skeleton_->maps.threads_by_tid, settings.has_task_storage == 0);
  bpf_map__set_autocreate(skeleton_->maps.histograms, settings.has_histograms != 0);
  bpf_map__set_max_entries(skeleton_->maps.threads_by_tid, kMaxThreads);
  bpf_map__set_max_entries(skeleton_->maps.stacks, static_cast<std::uint32_t>(setup.ring_bytes));
  const auto processes = static_cast<std::uint32_t>(setup.pids.size());
  bpf_map__set_max_entries(
      skeleton_->maps.processes,
      setup.inherits && processes > 0 ? std::max(processes, kMaxFollowedProcesses) : processes + 1);
  skeleton_->data->period_ns = setup.period_ns;
  skeleton_->bss->every_stack = setup.records_every_stack;
  skeleton_->bss->all_waits = setup.charges_all_waits;
  if (const auto user = find_elevated_user()) {
    skeleton_->bss->is_elevated = 1;
    skeleton_->bss->elevated_uid = user->user;
    skeleton_->bss->elevated_gid = user->group;
    skeleton_->bss->elevated_namespace = user->user_namespace;
  }
  return true;
}

// Selects the programs and maps to load on this kernel.
void Programs::choose_programs() {
  const auto& programs = skeleton_->progs;
  const auto& settings = *skeleton_->rodata;
  const auto& maps = skeleton_->maps;
  const bool is_exit_tracepoint = hook_ == ResumeHook::ExitTracepoint,
             is_end_of_schedule = hook_ == ResumeHook::EndOfSchedule;
  bpf_program__set_autoload(programs.on_resume, is_exit_tracepoint && !walks_);
  bpf_program__set_autoload(programs.on_resume_walked, is_exit_tracepoint && walks_);
  bpf_program__set_autoload(programs.on_resume_fexit, is_end_of_schedule && !walks_);
  bpf_program__set_autoload(programs.on_resume_fexit_walked, is_end_of_schedule && walks_);
  bpf_program__set_autoload(programs.on_resume_kprobe, hook_ == ResumeHook::FinishTaskSwitch);
  bpf_program__set_autoload(programs.on_move, settings.only_cgroup != 0);
  bpf_program__set_autoload(programs.visit_with_storage, settings.has_task_storage != 0);
  bpf_program__set_autoload(programs.visit_without_storage, settings.has_task_storage == 0);
  for (bpf_map* map : {maps.walk_scratches, maps.walk_chunks, maps.walk_rules, maps.walk_pages,
                       maps.walk_modules, maps.walk_files, maps.walk_known_rules,
                       maps.walk_known_ranges, maps.walk_accounts, maps.walk_counts})
    bpf_map__set_autocreate(map, walks_);
}

bool Programs::open_walk() {
  const auto& maps = skeleton_->maps;
  int error = 0;
  tables_ = WalkTables::open(
      {bpf_map__fd(maps.walk_chunks), bpf_map__fd(maps.walk_rules), bpf_map__fd(maps.walk_pages),
       bpf_map__fd(maps.walk_modules), bpf_map__fd(maps.walk_files)},
      error);
  errno = error;
  if (tables_) accounts_ = WalkAccounts::open(bpf_map__fd(maps.walk_accounts));
  return tables_ && accounts_;
}

std::string Programs::describe_refused_walks() {
  if (!accounts_) return {};
  accounts_->end_window();
  const std::uint64_t unlisted_walks =
      __atomic_load_n(&skeleton_->bss->walk_unlisted_walks, __ATOMIC_RELAXED);
  return join_remarks(accounts_->describe_window("off-cpu"),
                      requests_.describe_refused_tables("off-cpu", unlisted_walks));
}

void Programs::exchange_tables(const sdk::Records& records) {
  if (!walks_) return;
  requests_.exchange(records, *tables_);
  auto& shared = *skeleton_->bss;
  __atomic_store_n(&shared.walk_epoch, shared.walk_epoch + 1, __ATOMIC_RELAXED);
}

bpf_link* Programs::attach_resume() {
  const auto& programs = skeleton_->progs;
  if (hook_ == ResumeHook::ExitTracepoint)
    return bpf_program__attach(walks_ ? programs.on_resume_walked : programs.on_resume);
  if (hook_ == ResumeHook::EndOfSchedule)
    return bpf_program__attach(walks_ ? programs.on_resume_fexit_walked : programs.on_resume_fexit);
  const std::string name = find_finish_task_switch();
  if (name.empty()) return nullptr;
  return bpf_program__attach_kprobe(programs.on_resume_kprobe, false, name.c_str());
}

void Programs::attach() {
  const auto store_link = [this](bpf_link* link, const char* hook) {
    if (!link) throw_refused("attaching to " + std::string(hook), errno);
    links_.emplace_back(link);
  };
  const auto& programs = skeleton_->progs;
  const bool is_older = skeleton_->rodata->has_task_storage == 0;
  pass_link_.reset(bpf_program__attach_iter(
      is_older ? programs.visit_without_storage : programs.visit_with_storage, nullptr));
  if (!pass_link_) throw_refused("attaching to the list of threads (iter/task)", errno);
  store_link(bpf_program__attach(programs.on_wakeup_new), "sched_wakeup_new");
  store_link(bpf_program__attach(programs.on_exec), "sched_process_exec");
  store_link(bpf_program__attach(programs.on_switch), "sched_switch");
  store_link(bpf_program__attach(programs.on_wakeup), "sched_wakeup");
  if (skeleton_->rodata->only_cgroup != 0)
    store_link(bpf_program__attach(programs.on_move), "cgroup_attach_task");
  if (resume_link_) links_.push_back(std::move(resume_link_));
}

void Programs::detach() {
  links_.clear();
  measuring_fd_ = sdk::Fd();
}

void Programs::visit_threads(off_pass_purpose purpose, const RecordCallback& callback) {
  skeleton_->bss->iterator_purpose = purpose;
  const sdk::Fd pass(bpf_iter_create(bpf_link__fd(pass_link_.get())));
  if (!pass) throw_refused("starting a pass over all threads", errno);
  const std::size_t snapshot_size =
      skeleton_->rodata->has_histograms ? sizeof(off_snapshot_histograms) : sizeof(off_snapshot);
  const std::size_t size = purpose == OFF_COLLECT ? snapshot_size : sizeof(off_check);
  std::vector<std::byte> buffer(kPassBuffer);
  std::size_t filled = 0;
  for (;;) {
    const ssize_t size_read = ::read(pass.get(), buffer.data() + filled, buffer.size() - filled);
    if (size_read < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (size_read < 0) throw_refused("reading all threads", errno);
    if (size_read == 0) return;
    filled += static_cast<std::size_t>(size_read);
    std::size_t at = 0;
    for (; filled - at >= size; at += size) callback(Bytes(buffer).subspan(at, size));
    std::copy(buffer.begin() + static_cast<std::ptrdiff_t>(at),
              buffer.begin() + static_cast<std::ptrdiff_t>(filled), buffer.begin());
    filled -= at;
  }
}

std::uint64_t Programs::open_window(std::uint32_t number) {
  auto& shared = *skeleton_->bss;
  volatile __u64& opened = shared.window_opened[number % OFF_WINDOWS];
  opened = UINT64_MAX;
  __atomic_store_n(&shared.window_number, number, __ATOMIC_SEQ_CST);
  const std::uint64_t edge = clock_ns(CLOCK_MONOTONIC) + kEdgeDelayNs;
  __atomic_store_n(&opened, edge, __ATOMIC_SEQ_CST);
  while (clock_ns(CLOCK_MONOTONIC) <= edge) ::usleep(kEdgeDelayNs / 10 / 1000);
  return edge;
}

bool Programs::consume_ring(ring_buffer& ring, const RecordCallback& callback) {
  callback_ = &callback;
  read_count_ = 0;
  ring_buffer__consume(&ring);
  callback_ = nullptr;
  return read_count_ < kMaxRecordsPerRead;
}

bool Programs::read_stacks(const RecordCallback& callback) {
  return consume_ring(*stacks_, callback);
}

void Programs::read_other_records(const RecordCallback& callback) {
  consume_ring(*records_, callback);
}

std::vector<StackTop> Programs::read_user_stacks(std::vector<StackTop> requests, std::size_t size,
                                                 std::chrono::milliseconds timeout) {
  return tops_.read(std::move(requests), size, timeout);
}

void Programs::set_period(std::uint64_t period_ns, bool every_stack) {
  __atomic_store_n(&skeleton_->data->period_ns, period_ns, __ATOMIC_RELAXED);
  __atomic_store_n(&skeleton_->bss->every_stack, every_stack, __ATOMIC_RELAXED);
}

std::string Programs::find_symbol(std::uint64_t address) {
  if (!symbols_) return {};
  symbols_->bss->address = address;
  bpf_test_run_opts options{};
  options.sz = sizeof options;
  const int program = bpf_program__fd(symbols_->progs.name_address);
  if (bpf_prog_test_run_opts(program, &options) != 0 || options.retval != 0) return {};
  const char* name = symbols_->bss->name;
  return {name, ::strnlen(name, sizeof symbols_->bss->name)};
}

Counters Programs::counters() const {
  Counters sums{};
  std::vector<::off_per_cpu> by_cpu(static_cast<std::size_t>(libbpf_num_possible_cpus()));
  const std::uint32_t first = 0;
  const int map = bpf_map__fd(skeleton_->maps.cpus);
  if (bpf_map_lookup_elem(map, &first, by_cpu.data()) != 0) return sums;
  for (const ::off_per_cpu& cpu : by_cpu)
    for (std::uint32_t counter = 0; counter < OFF_COUNTERS; ++counter)
      sums[counter] += cpu.counters[counter];
  return sums;
}

std::uint64_t Programs::run_time_ns() const {
  std::uint64_t sum = 0;
  const auto& programs = skeleton_->progs;
  for (const bpf_program* program :
       {programs.on_switch, programs.on_wakeup, programs.on_wakeup_new, programs.on_exec,
        programs.on_move, programs.on_resume, programs.on_resume_fexit, programs.on_resume_walked,
        programs.on_resume_fexit_walked, programs.on_resume_kprobe}) {
    bpf_prog_info info{};
    std::uint32_t size = sizeof info;
    const int fd = bpf_program__fd(program);
    if (fd >= 0 && bpf_obj_get_info_by_fd(fd, &info, &size) == 0) sum += info.run_time_ns;
  }
  return sum;
}

void Programs::begin_measuring() {
  measuring_fd_ = sdk::Fd(bpf_enable_stats(BPF_STATS_RUN_TIME));
  measured_switches_ = counters()[OFF_SWITCHES];
  measured_ns_ = run_time_ns();
}

void Programs::end_measuring() {
  if (!measuring_fd_) return;
  const std::uint64_t switches = counters()[OFF_SWITCHES] - measured_switches_;
  const std::uint64_t ns = run_time_ns() - measured_ns_;
  measuring_fd_ = sdk::Fd();
  if (switches > 0) ns_per_switch_ = static_cast<double>(ns) / static_cast<double>(switches);
}

}  // namespace ctprof::off_cpu
