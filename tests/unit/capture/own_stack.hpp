// The stack of a thread of this process, copied as by a recorder, and the process's mappings.

#pragma once

#include <boost/test/unit_test.hpp>

#include <ucontext.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/capture/recorded_stacks.hpp"
#include "tests/unit/support/files.hpp"
#include "tests/unit/support/test_windows.hpp"

namespace ctprof::hand_made {

inline const std::uint64_t kSelf = static_cast<std::uint64_t>(::getpid());

// Registers and stack copy of a thread.
struct NamedStack {
  Registers registers;
  std::string stack;
};

// The stack contains the red zones of AddressSanitizer, so their check is disabled.
[[gnu::no_sanitize_address]] inline void copy_bytes(const char* from, std::string& to) {
  for (std::size_t i = 0; i < to.size(); ++i) to.data()[i] = from[i];
}

[[gnu::noinline]] inline void take_stack(NamedStack& taken) {
  constexpr std::size_t kBytes = sizeof(ucontext_t) + 4096;  // reaches beyond this function's frame
  ucontext_t context;
  ::getcontext(&context);
#ifdef __aarch64__
  const auto& all = context.uc_mcontext;
  taken.registers = {all.pc, all.sp, all.regs[29], all.regs[30]};
#else
  const auto* all = context.uc_mcontext.gregs;
  const auto register_of = [&](int which) { return static_cast<std::uint64_t>(all[which]); };
  taken.registers = {register_of(REG_RIP), register_of(REG_RSP), register_of(REG_RBP), 0};
#endif
  taken.stack.resize(kBytes);
  copy_bytes(reinterpret_cast<const char*>(taken.registers.sp), taken.stack);
}

[[gnu::noinline]] inline void inner_work(NamedStack& taken) {
  take_stack(taken);
  asm volatile("" ::: "memory");
}
[[gnu::noinline]] inline void outer_work(NamedStack& taken) {
  inner_work(taken);
  asm volatile("" ::: "memory");
}

inline NamedStack take_stack_of_thread() {
  NamedStack taken;
  std::thread([&] {
    // Keeps enough stack above the end of the copy.
    char padding[8192];
    asm volatile("" ::"r"(padding) : "memory");
    outer_work(taken);
  }).join();
  return taken;
}

inline ctprof_record set_stack_copy(ctprof_record record, const NamedStack& taken) {
  record.user_kind = CTPROF_USER_COPY;
  record.ip = taken.registers.ip;
  record.sp = taken.registers.sp;
  record.bp = taken.registers.bp;
  record.lr = taken.registers.lr;
  record.stack = reinterpret_cast<const std::uint8_t*>(taken.stack.data());
  record.stack_size = taken.stack.size();
  return record;
}

inline Snapshot window_of_self() {
  const std::vector<StartedThread> threads{{kSelf, 5}};
  auto made = make_window(snapshot_at(10, threads), snapshot_at(20, threads), {});
  BOOST_REQUIRE(made);
  return std::move(*made);
}

inline std::vector<Mapping> own_mappings() {
  return parse_code_mappings(file_text("/proc/self/maps"));
}

}  // namespace ctprof::hand_made
