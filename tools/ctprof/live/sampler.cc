#include "tools/ctprof/live/sampler.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/clock.hpp"
#include "core/file/file.hpp"
#include "core/window/differences.hpp"
#include "tools/ctprof/inputs/screen_metrics.hpp"
#include "tools/ctprof/live/window_copy.hpp"

namespace ctprof::live {
namespace {

// Compression level. Windows are many and small, so a higher level gains little.
constexpr int kCompressionLevel = 1;

using Bytes = std::shared_ptr<const std::string>;

Result<Bytes> read_memory_file(int fd, std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t at = 0; at < size;) {
    const ssize_t bytes_read = ::pread(fd, bytes.data() + at, size - at, static_cast<off_t>(at));
    if (bytes_read < 0 && errno == EINTR) continue;
    if (bytes_read <= 0)
      return errno_error("reading", "a window in memory", bytes_read < 0 ? errno : EIO);
    at += static_cast<std::size_t>(bytes_read);
  }
  return std::make_shared<const std::string>(std::move(bytes));
}

Result<sdk::Fd> create_memory_file() {
  sdk::Fd memory(::memfd_create("ctprof-live", MFD_CLOEXEC));
  if (!memory) return errno_error("making", "a file in memory", errno);
  return memory;
}

// The window in the format of a file.
struct EncodedWindow {
  Bytes bytes;
  std::size_t text_bytes = 0;
};

// `memory` is a temporary file.
Result<EncodedWindow> encode_window(const Snapshot& window, const Registry& registry, int memory) {
  if (::ftruncate(memory, 0) != 0 || ::lseek(memory, 0, SEEK_SET) != 0)
    return errno_error("emptying", "a file in memory", errno);
  CTPROF_TRY_VALUE(const auto written, write_file(window, registry.vocabulary(), "-",
                                                  {.layout = FileLayout::Columns,
                                                   .workers = 1,
                                                   .sync = false,
                                                   .level = kCompressionLevel,
                                                   .standard_output = memory}));
  CTPROF_TRY_VALUE(auto bytes, read_memory_file(memory, written.file_bytes));
  return EncodedWindow{std::move(bytes), written.json_bytes};
}

}  // namespace

Result<Sampler> Sampler::begin(const Registry& registry, CaptureOptions options) {
  CTPROF_TRY_VALUE(auto memory, create_memory_file());
  options.is_window = true;
  if (options.jobs == 0) options.jobs = 1;  // a window takes too little work to be shared
  options.metrics = cli::list_screen_metrics(registry);
  options.level = ctprof::Level::Fast;
  options.all_cgroups = false;
  CTPROF_TRY_VALUE(auto session, Session::open(registry, std::move(options)));
  CTPROF_TRY(session.begin());
  return Sampler(registry, std::move(session), std::move(memory));
}

Result<Sample> Sampler::close_window() {
  CTPROF_TRY_VALUE(const auto window, session_.next_window());
  latest_ = window;
  CTPROF_TRY_VALUE(auto written, encode_window(*latest_, *registry_, memory_file_.get()));
  text_bytes_ = written.text_bytes;
  const std::uint64_t opened = window->window->opened_at.boottime_ns;
  return Sample{.number = ++number_,
                .closed_ns = realtime_ns(),
                .length_ns = window->meta.start.boottime_ns - opened,
                .bytes = std::move(written.bytes)};
}

std::optional<Snapshot> Sampler::latest_differences() const {
  auto window = copy_window(*latest_);
  if (!window) return std::nullopt;
  window->text_bytes = text_bytes_;
  convert_to_differences(*window);
  return window;
}

void ProcessSampler::watch(const std::optional<ThreadId>& thread) {
  const std::uint64_t wanted_tgid = thread ? thread->tgid : 0;
  if (wanted_tgid == tgid_) return;
  tgid_ = wanted_tgid;
  session_.reset();
  if (tgid_ == 0) return;
  CaptureOptions options;
  options.is_window = true;
  options.jobs = 1;
  options.pids = {tgid_};
  options.record.inherits = false;
  auto session = Session::open(*registry_, std::move(options));
  if (!session || !session->begin()) return;
  session_.emplace(std::move(*session));
}

std::optional<Snapshot> ProcessSampler::close_window() {
  if (!session_) return std::nullopt;
  session_->drain();
  const auto window = session_->next_window();
  auto copy = window ? copy_window(**window) : std::nullopt;
  if (!copy) {
    session_.reset();
    return std::nullopt;
  }
  convert_to_differences(*copy);
  return copy;
}

}  // namespace ctprof::live
