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
#include "tests/unit/support/window_made.hpp"

namespace ctprof::hand_made {

inline const std::uint64_t kSelf = static_cast<std::uint64_t>(::getpid());

inline std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Registers and stack copy of a thread.
struct Taken {
  Registers at;
  std::string stack;
};

// The stack contains the red zones of AddressSanitizer, so their check is disabled.
[[gnu::no_sanitize_address]] inline void copy_out(const char* from, std::string& to) {
  for (std::size_t i = 0; i < to.size(); ++i) to.data()[i] = from[i];
}

[[gnu::noinline]] inline void take_stack(Taken& taken) {
  constexpr std::size_t kBytes = sizeof(ucontext_t) + 4096;  // reaches beyond this function's frame
  ucontext_t context;
  ::getcontext(&context);
#ifdef __aarch64__
  const auto& all = context.uc_mcontext;
  taken.at = {all.pc, all.sp, all.regs[29], all.regs[30]};
#else
  const auto* all = context.uc_mcontext.gregs;
  const auto register_of = [&](int which) { return static_cast<std::uint64_t>(all[which]); };
  taken.at = {register_of(REG_RIP), register_of(REG_RSP), register_of(REG_RBP), 0};
#endif
  taken.stack.resize(kBytes);
  copy_out(reinterpret_cast<const char*>(taken.at.sp), taken.stack);
}

[[gnu::noinline]] inline void inner_work(Taken& taken) {
  take_stack(taken);
  asm volatile("" ::: "memory");
}
[[gnu::noinline]] inline void outer_work(Taken& taken) {
  inner_work(taken);
  asm volatile("" ::: "memory");
}

inline Taken taken_in_a_thread() {
  Taken taken;
  std::thread([&] {
    // Keeps enough stack above the end of the copy.
    char room[8192];
    asm volatile("" ::"r"(room) : "memory");
    outer_work(taken);
  }).join();
  return taken;
}

inline ctprof_record with_copy(ctprof_record record, const Taken& taken) {
  record.user_kind = CTPROF_USER_COPY;
  record.ip = taken.at.ip;
  record.sp = taken.at.sp;
  record.bp = taken.at.bp;
  record.lr = taken.at.lr;
  record.stack = reinterpret_cast<const std::uint8_t*>(taken.stack.data());
  record.stack_size = taken.stack.size();
  return record;
}

inline Snapshot window_of_self() {
  const std::vector<Born> threads{{kSelf, 5}};
  auto made = make_window(taken(10, threads), taken(20, threads), {});
  BOOST_REQUIRE(made);
  return std::move(*made);
}

inline std::vector<Mapping> own_mappings() { return code_mappings(text_of("/proc/self/maps")); }

}  // namespace ctprof::hand_made
