#include "plugins/procfs-sched/io.hpp"

#include <array>

#include "ctprof/files.hpp"
#include "plugins/procfs-sched/numbers.hpp"

namespace ctprof::procfs {
namespace {

struct Key {
  std::string_view text;
  sdk::Reading<std::uint64_t> Io::*field;
};

constexpr std::array kKeys{Key{"rchar", &Io::rchar},
                           Key{"wchar", &Io::wchar},
                           Key{"syscr", &Io::syscr},
                           Key{"syscw", &Io::syscw},
                           Key{"read_bytes", &Io::read_bytes},
                           Key{"write_bytes", &Io::write_bytes},
                           Key{"cancelled_write_bytes", &Io::cancelled_write_bytes}};

}  // namespace

Io parse_io(std::string_view text) {
  Io io;
  while (!text.empty()) {
    std::string_view value = sdk::take(text, '\n');
    const std::string_view key = sdk::take(value, ':');
    for (const Key& known : kKeys)
      if (known.text == key) io.*known.field = u64(bare(value));
  }
  return io;
}

void IoFile::fill(const sdk::Thread& thread, std::string_view text) {
  const Io io = parse_io(text);
  put(thread.row, io.rchar, io.wchar, io.syscr, io.syscw, io.read_bytes, io.write_bytes,
      io.cancelled_write_bytes);
}

}  // namespace ctprof::procfs
