#include "tools/ctprof/live/sampler.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/clock.hpp"
#include "core/file/file.hpp"
#include "core/file/read/load.hpp"
#include "core/window/happened.hpp"
#include "tools/ctprof/screen_metrics.hpp"

namespace ctprof::live {
namespace {

// Windows are many and small: little is gained by more.
constexpr int kLevel = 1;

using Bytes = std::shared_ptr<const std::string>;

Result<Bytes> read_all(int fd, std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t at = 0; at < size;) {
    const ssize_t got = ::pread(fd, bytes.data() + at, size - at, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return errno_error("reading", "a window in memory", got < 0 ? errno : EIO);
    at += static_cast<std::size_t>(got);
  }
  return std::make_shared<const std::string>(std::move(bytes));
}

Result<sdk::Fd> make_memory() {
  sdk::Fd memory(::memfd_create("ctprof-live", MFD_CLOEXEC));
  if (!memory) return errno_error("making", "a file in memory", errno);
  return memory;
}

// The window as a file; `memory` is what it passes through.
Result<Bytes> in_memory(const Snapshot& window, const Registry& registry, int memory) {
  if (::ftruncate(memory, 0) != 0 || ::lseek(memory, 0, SEEK_SET) != 0)
    return errno_error("emptying", "a file in memory", errno);
  const auto written = write_file(window, registry.vocabulary(), "-",
                                  {.layout = FileLayout::Columns,
                                   .workers = 1,
                                   .sync = false,
                                   .level = kLevel,
                                   .standard_output = memory});
  if (!written) return written.error();
  return read_all(memory, written->file_bytes);
}

}  // namespace

Result<Sampler> Sampler::begin(const Registry& registry, CaptureOptions options) {
  auto memory = make_memory();
  if (!memory) return memory.error();
  options.window = true;
  if (options.jobs == 0) options.jobs = 1;  // a window's work is too little to be shared
  options.metrics = cli::metrics_of_screen(registry);
  options.level = ctprof::Level::Fast;
  options.all_cgroups = false;
  auto session = Session::open(registry, std::move(options));
  if (!session) return session.error();
  if (auto begun = session->begin(); !begun) return begun.error();
  return Sampler(registry, std::move(*session), std::move(*memory));
}

Result<Sample> Sampler::next() {
  const auto window = session_.lap();
  if (!window) return window.error();
  auto bytes = in_memory(**window, *registry_, memory_.get());
  if (!bytes) return bytes.error();
  const std::uint64_t opened = (*window)->window->opened.boottime_ns;
  return Sample{.number = ++number_,
                .closed_ns = realtime_ns(),
                .length_ns = (*window)->meta.start.boottime_ns - opened,
                .bytes = std::move(*bytes)};
}

void ProcessSampler::watch(const std::optional<ThreadId>& thread) {
  const std::uint64_t wanted = thread ? thread->tgid : 0;
  if (wanted == tgid_) return;
  tgid_ = wanted;
  session_.reset();
  if (tgid_ == 0) return;
  CaptureOptions options;
  options.window = true;
  options.jobs = 1;
  options.pids = {tgid_};
  auto session = Session::open(*registry_, std::move(options));
  auto memory = make_memory();
  if (!memory || !session || !session->begin()) return;
  memory_ = std::move(*memory);
  session_.emplace(std::move(*session));
}

std::optional<Snapshot> ProcessSampler::next() {
  if (!session_) return std::nullopt;
  session_->drain();
  const auto window = session_->lap();
  const auto bytes =
      window ? in_memory(**window, *registry_, memory_.get()) : Result<Bytes>(window.error());
  auto read =
      bytes ? load_bytes(**bytes, CaptureName{"a window of a process"}, registry_->vocabulary())
            : Result<Snapshot>(bytes.error());
  if (!read) {
    session_.reset();
    return std::nullopt;
  }
  to_differences(*read);
  return std::move(*read);
}

}  // namespace ctprof::live
