// What the plugin keeps while it is open: the loaded program, where the kernel's class of BPF
// schedulers is, and who looks into heaps.
//
// The program is loaded ahead, while ctprof loads other plugins, for every probe asks for it; the
// others are got when they are first asked for. All sources and workers of the plugin share it,
// from any thread.

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
  // Begins to load the program where it may be of use, while the other plugins are opened.
  explicit Context(const sdk::Host& host);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // Null, and the errno in `error`, when the kernel refuses it. It lives as long as the context.
  Program* program(int& error);
  // Where the class is; it stays there as long as the kernel runs. Denied: the kernel keeps
  // addresses from us; Unsupported: it does not know the name.
  sdk::Reading<std::uint64_t> address_of_extensible_class();
  // Who looks into heaps. Defined in heap.cc: a build without the code for that has none.
  jemalloc::HeapHelper& heaps();

  // What `prepare` is to do ahead of a pass whose thread pointers somebody wants.
  void before_pointers(void (*deed)(Context&)) { before_pointers_ = deed; }
  void prepare() {
    if (before_pointers_) before_pointers_(*this);
  }

 private:
  sdk::Host host_;
  std::mutex guard_;
  std::unique_ptr<Program> program_;
  sdk::WorkThread loader_;
  std::shared_ptr<jemalloc::HeapHelper> heaps_;
  void (*before_pointers_)(Context&) = nullptr;
  unsigned long long extensible_class_ = 0;  // 0: not known yet
};

// The plugin's: the program takes longer to load than all other plugins together.
inline constexpr sdk::Extra kExtra = sdk::with_context<Context>({.flags = CTPROF_PLUGIN_AHEAD});

// Which threads a BPF scheduler (sched_ext) is in charge of: while one is loaded, those whose
// scheduling class is the kernel's for that. Only then is the kernel asked where that class is, and
// once: that takes a program of its own, a millisecond, and leave to be told addresses.

// Whether the kernel can have BPF schedulers at all.
bool has_extensible_class(const sdk::Host& host);

// Where the class is; 0 while no scheduler is loaded. Denied: the kernel keeps addresses from us;
// Unsupported: it does not know the name.
sdk::Reading<std::uint64_t> extensible_class(const sdk::Host& host);

}  // namespace ctprof::task_iter
