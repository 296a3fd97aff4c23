// ctprof fleet read: prints the figures of each of many files.
//
// A few files are processed concurrently, each on one thread from reading to printing, and then
// freed. The lines of one file are written together.

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/workers.hpp"
#include "core/compare/report/capture_figures.hpp"
#include "core/file/capture_file.hpp"
#include "core/window/differences.hpp"
#include "tools/ctprof/commands/report.hpp"
#include "tools/ctprof/fleet/capture_line.hpp"
#include "tools/ctprof/fleet/fleet.hpp"
#include "tools/ctprof/runtime/output.hpp"

namespace ctprof::cli {
namespace {

// Each job has a file in memory.
constexpr unsigned kMaxJobs = 64;
// Older plans are dropped, and their numbers are not reused.
constexpr std::size_t kMaxPlans = 64;
// Output limit in bytes for one file. A small file can contain any number of captures, because it
// is compressed.
constexpr std::size_t kMaxOutputBytes = 128 << 20;

struct ReadRequest {
  Spec spec;
  unsigned jobs = 0;
};

Result<unsigned> parse_jobs(std::string_view text) {
  unsigned jobs = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), jobs);
  if (failed == std::errc{} && end == text.data() + text.size() && jobs >= 1 && jobs <= kMaxJobs)
    return jobs;
  return Error{"--jobs: '" + std::string(text) + "' is not between 1 and " +
               std::to_string(kMaxJobs)};
}

Result<ReadRequest> parse_arguments(std::span<const char* const> words) {
  ReadRequest request{{}, std::clamp(std::thread::hardware_concurrency(), 1u, kMaxJobs)};
  request.spec.busiest = false;
  for (std::size_t at = 0; at < words.size(); at += 2) {
    const std::string_view option = words[at];
    if (option != "--group-by" && option != "--jobs")
      return Error{"fleet read takes --group-by and --jobs, not '" + std::string(option) + "'"};
    if (at + 1 == words.size()) return Error{"missing the value of " + std::string(option)};
    if (option == "--jobs") {
      CTPROF_TRY_VALUE(const auto jobs, parse_jobs(words[at + 1]));
      request.jobs = jobs;
      continue;
    }
    CTPROF_TRY_VALUE(const auto axis, parse_group_by(words[at + 1]));
    request.spec.group_by = axis;
    if (axis == GroupBy::ProcessText) request.spec.group_metric = words[at + 1];
  }
  return request;
}

Result<std::string> read_whole_input(int fd) {
  std::string text;
  for (char chunk[1 << 16];;) {
    const ssize_t bytes_read = ::read(fd, chunk, sizeof chunk);
    if (bytes_read < 0 && errno == EINTR) continue;
    if (bytes_read < 0) return errno_error("reading", "standard input", errno);
    if (bytes_read == 0) return {boost::system::in_place_value, std::move(text)};
    text.append(chunk, static_cast<std::size_t>(bytes_read));
  }
}

std::vector<std::string_view> split_paths(std::string_view text) {
  std::vector<std::string_view> paths;
  while (!text.empty()) {
    const auto end = std::min(text.find('\0'), text.size());
    paths.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return paths;
}

// Writes whole lines to standard output. Threads: any.
class LineWriter {
 public:
  void write(std::string_view lines) {
    const std::lock_guard lock(mutex_);
    if (!write_error_) write_error_ = write_all(output_fd(), lines);
  }
  // Whether standard output still accepts data.
  bool is_writable() const { return !write_error_; }
  int status() const {
    const int write_error = write_error_;
    return write_error == 0 || write_error == EPIPE
               ? kSuccess
               : fail(errno_error("writing to", "standard output", write_error));
  }

 private:
  std::mutex mutex_;
  std::atomic<int> write_error_{0};  // errno
};

struct NumberedPlan {
  CapturePlan plan;
  std::size_t number;
};

// The plans of the captures so far. Threads: any.
class PlanCache {
 public:
  PlanCache(const Spec& spec, PluginsOnDemand& plugins, LineWriter& lines)
      : spec_(&spec), plugins_(&plugins), lines_(&lines) {}

  // Returns the plan of the capture. Writes its definitions when it creates one.
  Result<std::shared_ptr<const NumberedPlan>> find_or_make(const Snapshot& capture) {
    const std::lock_guard lock(mutex_);
    for (const auto& recent_plan : recent_plans_)
      if (recent_plan->plan.is_valid_for(capture)) return recent_plan;
    CTPROF_TRY_VALUE(const auto needs_all, plugins_->load_all_if_needed({&capture, 1}));
    CTPROF_TRY_VALUE(auto plan,
                     CapturePlan::make(capture, *spec_, plugins_->definitions(needs_all)));
    recent_plans_.push_front(
        std::make_shared<const NumberedPlan>(NumberedPlan{std::move(plan), next_number_++}));
    if (recent_plans_.size() > kMaxPlans) recent_plans_.pop_back();
    JsonWriter out(Escape::Unprintable);
    write_definitions(recent_plans_.front()->plan, recent_plans_.front()->number, out);
    lines_->write(out.view());
    return recent_plans_.front();
  }

 private:
  const Spec* spec_;
  PluginsOnDemand* plugins_;
  LineWriter* lines_;
  std::mutex mutex_;
  std::deque<std::shared_ptr<const NumberedPlan>> recent_plans_;
  std::size_t next_number_ = 0;
};

// Processes one file on one thread.
class FileReader {
 public:
  FileReader(std::size_t index, std::string path, const Vocabulary& vocabulary, PlanCache& plans)
      : index_(index), path_(std::move(path)), vocabulary_(&vocabulary), plans_(&plans) {}

  // Returns the lines of the file.
  std::string read() {
    try {
      read_captures();
    } catch (const std::bad_alloc&) {
      write_message("error", "reading '" + path_ + "': not enough memory");
    } catch (const std::exception& exception) {
      write_message("error", "reading '" + path_ + "': " + exception.what());
    }
    begin_line();
    out_.raw("\"done\":true}\n");
    return std::string(out_.view());
  }

 private:
  void begin_line() {
    out_.put('{');
    out_.member("index", std::uint64_t{index_});
    out_.member("file", path_);
  }
  void write_message(std::string_view key, std::string_view sentence) {
    begin_line();
    out_.member(key, sentence);
    out_.close('}');
    out_.put('\n');
  }

  Result<std::vector<std::string>> load_captures() {
    CTPROF_TRY_VALUE(const auto file, CaptureFile::open_regular(path_));
    const auto add = [&](Snapshot capture) {
      add_capture(std::move(capture));
      return Result<void>();
    };
    return file.load_each(*vocabulary_, add, 1);
  }

  void read_captures() {
    const auto notes = load_captures();
    if (omitted_ > 0 && captures_.empty())
      return write_message("error", "reading '" + path_ + "': its contents exceed 128 MiB");
    for (std::size_t at = 0; at < captures_.size(); ++at) write_capture_line(at);
    if (omitted_ > 0)
      write_message("told", "'" + path_ + "' contains " + std::to_string(omitted_) +
                                " more captures, which are left out: together they exceed 128 MiB");
    if (!notes) return write_message("error", notes.error().text);
    for (const std::string& sentence : *notes) write_message("told", sentence);
    for (const std::string& sentence : messages_) write_message("told", sentence);
  }

  void add_capture(Snapshot capture) {
    if (bytes_ > kMaxOutputBytes) return void(++omitted_);
    if (capture.window) convert_to_differences(capture);
    // The values of gauges at the opening are not needed.
    if (capture.window) {
      for (Opening& opening : capture.window->openings) opening.columns.clear();
      capture.window->opening_only.reset();
    }
    const auto plan = plans_->find_or_make(capture);
    if (!plan) return messages_.push_back(plan.error().text);
    const CaptureFigures figures(capture, (*plan)->plan);
    JsonWriter out(Escape::Unprintable);
    write_capture(capture, (*plan)->plan, figures, (*plan)->number, out);
    bytes_ += out.size();
    if (bytes_ > kMaxOutputBytes) return void(++omitted_);
    captures_.emplace_back(out.view());
  }

  void write_capture_line(std::size_t at) {
    begin_line();
    out_.member("capture", std::uint64_t{at + 1});
    out_.member("captures", std::uint64_t{captures_.size()});
    out_.raw(captures_[at]);
    out_.close('}');
    out_.put('\n');
  }

  std::size_t index_;
  std::string path_;
  const Vocabulary* vocabulary_;
  PlanCache* plans_;
  std::vector<std::string> captures_, messages_;
  std::size_t bytes_ = 0, omitted_ = 0;
  JsonWriter out_{Escape::Unprintable};
};

// Keeps freed memory: otherwise the kernel would reclaim it page by page and provide it again page
// by page for the next file.
void keep_freed_memory() {
  constexpr int kMaxMmapThreshold = 32 << 20;  // the largest accepted value
  constexpr int kTrimThreshold = 256 << 20;
  ::mallopt(M_MMAP_THRESHOLD, kMaxMmapThreshold);
  ::mallopt(M_TRIM_THRESHOLD, kTrimThreshold);
}

}  // namespace

int run_fleet_read(std::span<const char* const> words) {
  const auto request = parse_arguments(words);
  if (!request) return fail(request.error());
  const auto input = read_whole_input(STDIN_FILENO);
  if (!input) return fail(input.error());
  CommonOptions options;
  options.quiet = true;
  auto plugins = PluginsOnDemand::open(options);
  if (!plugins) return fail(plugins.error());
  keep_freed_memory();
  LineWriter writer;
  PlanCache plans(request->spec, *plugins, writer);
  const auto paths = split_paths(*input);
  share_work(request->jobs, paths.size(), [&](unsigned, std::size_t at) {
    if (!writer.is_writable()) return;
    writer.write(FileReader(at, std::string(paths[at]), plugins->vocabulary(), plans).read());
  });
  return writer.status();
}

}  // namespace ctprof::cli
