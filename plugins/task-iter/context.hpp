// The state of the plugin while it is open: the loaded program, the address of the kernel's class
// of BPF schedulers, and the helper that reads heaps.
//
// The program is loaded in advance, while ctprof loads other plugins, because every probe needs it.
// The other parts are created on first use. All sources and workers of the plugin share the
// context.
//
// Threads: any.

#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "ctprof/batch.hpp"
#include "ctprof/host.hpp"
#include "ctprof/plugin.hpp"
#include "ctprof/work_thread.hpp"
#include "plugins/task-iter/pass.hpp"

namespace ctprof::jemalloc {
class HeapHelper;
}

namespace ctprof::task_iter {

class Context {
 public:
  // Starts to load the program, if it may be needed, while the other plugins are opened.
  explicit Context(const sdk::Host& host);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // Returns null, and sets `error` to the errno, if the kernel refuses the program. The program
  // lives as long as the context.
  Program* program(int& error);
  // Returns the address of the class, which does not change while the kernel runs. Denied: the
  // kernel hides addresses from ctprof; Unsupported: it does not know the name.
  sdk::Reading<std::uint64_t> find_extensible_class_address();
  // Returns the helper that reads heaps. Defined in heap.cc: a build without the code for heaps has
  // none.
  jemalloc::HeapHelper& heap_helper();

  // Sets the action of prepare(), which runs before a pass whose thread pointers are needed.
  void set_before_pointers(void (*action)(Context&)) { before_pointers_action_ = action; }
  void prepare() {
    if (before_pointers_action_) before_pointers_action_(*this);
  }

 private:
  sdk::Host host_;
  std::mutex mutex_;
  std::unique_ptr<Program> program_;
  sdk::WorkThread loader_;
  std::shared_ptr<jemalloc::HeapHelper> heap_helper_;
  void (*before_pointers_action_)(Context&) = nullptr;
  unsigned long long extensible_class_ = 0;  // 0: not known yet
};

// The plugin is opened in advance, because the program takes longer to load than all other plugins
// together.
inline constexpr sdk::Extra kExtra = sdk::with_context<Context>({.flags = CTPROF_PLUGIN_AHEAD});

// While a BPF scheduler (sched_ext) is loaded, it schedules the threads whose scheduling class is
// the kernel's class for BPF schedulers. The address of that class is looked up only in this case,
// and only once, because the lookup needs a separate BPF program, takes a millisecond, and requires
// permission to see kernel addresses.

// Returns whether the kernel supports BPF schedulers.
bool has_extensible_class(const sdk::Host& host);

// Returns the address of the class; 0 while no scheduler is loaded. Denied: the kernel hides
// addresses from ctprof; Unsupported: it does not know the name.
sdk::Reading<std::uint64_t> find_extensible_class(const sdk::Host& host);

}  // namespace ctprof::task_iter
