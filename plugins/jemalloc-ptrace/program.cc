#include "plugins/jemalloc-ptrace/program.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "ctprof/files.hpp"
#include "plugins/jemalloc-ptrace/finder/mappings.hpp"

namespace ctprof::jemalloc {

namespace {

constexpr int kFirstField = 3;  // the first field after the name
constexpr int kLastField = 28;

// From the kernel's include/linux/sched.h.
constexpr std::uint64_t kKernelThread = 0x00200000;

std::uint64_t parse_u64(std::string_view text) {
  const auto value = sdk::number<std::uint64_t>(text);
  return value ? value.value : 0;
}

void parse_field(int field, std::string_view text, ThreadImage& image) {
  switch (field) {
    case 3: image.state = text.size() == 1 ? text.front() : '?'; break;
    case 9: image.is_kernel_thread = (parse_u64(text) & kKernelThread) != 0; break;
    case 22: image.start_time = parse_u64(text); break;
    case 26: image.code_start = parse_u64(text); break;
    case 27: image.code_end = parse_u64(text); break;
    case 28: image.stack_start = parse_u64(text); break;
    default: break;
  }
}

}  // namespace

ThreadImage parse_thread_image(std::string_view stat) {
  ThreadImage image;
  const auto name_end = stat.rfind(')');  // the name may contain parentheses
  if (name_end == stat.npos) return image;
  stat.remove_prefix(name_end + 1);
  stat = sdk::trimmed(stat);
  for (int field = kFirstField; field <= kLastField && !stat.empty(); ++field)
    parse_field(field, sdk::take(stat, ' '), image);
  return image;
}

namespace {

int open_maps(int proc, std::uint64_t tid) {
  char path[32];
  std::snprintf(path, sizeof path, "%llu/maps", static_cast<unsigned long long>(tid));
  return ::openat(proc, path, O_RDONLY | O_CLOEXEC);
}

}  // namespace

Program::Program(int proc, std::uint64_t tid) : maps_(open_maps(proc, tid)) {}

// Queries one mapping, which costs a tenth of printing some of them; else reads the first byte.
bool Program::is_still_running() const {
  if (const int error = check_memory_exists(maps_.get()); error != ENOTTY) return error == 0;
  char first;
  return ::pread(maps_.get(), &first, 1, 0) == 1;
}

}  // namespace ctprof::jemalloc
