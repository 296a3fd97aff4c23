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
#include "core/file/each.hpp"
#include "core/window/happened.hpp"
#include "tools/ctprof/commands/report.hpp"
#include "tools/ctprof/fleet/capture_line.hpp"
#include "tools/ctprof/fleet/fleet.hpp"
#include "tools/ctprof/runtime/output.hpp"

namespace ctprof::cli {
namespace {

// Each job has a file in memory.
constexpr unsigned kMostJobs = 64;
// Older plans are dropped, and their numbers are not reused.
constexpr std::size_t kMostPlans = 64;
// Output limit in bytes for one file. A small file can contain any number of captures, because it
// is compressed.
constexpr std::size_t kMostBytes = 128 << 20;

struct Asked {
  Spec spec;
  unsigned jobs = 0;
};

Result<unsigned> jobs_of(std::string_view text) {
  unsigned jobs = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), jobs);
  if (failed == std::errc{} && end == text.data() + text.size() && jobs >= 1 && jobs <= kMostJobs)
    return jobs;
  return Error{"--jobs: '" + std::string(text) + "' is not between 1 and " +
               std::to_string(kMostJobs)};
}

Result<Asked> parse(std::span<const char* const> words) {
  Asked asked{{}, std::clamp(std::thread::hardware_concurrency(), 1u, kMostJobs)};
  asked.spec.busiest = false;
  for (std::size_t at = 0; at < words.size(); at += 2) {
    const std::string_view option = words[at];
    if (option != "--group-by" && option != "--jobs")
      return Error{"fleet read takes --group-by and --jobs, not '" + std::string(option) + "'"};
    if (at + 1 == words.size()) return Error{"missing the value of " + std::string(option)};
    if (option == "--jobs") {
      const auto jobs = jobs_of(words[at + 1]);
      if (!jobs) return jobs.error();
      asked.jobs = *jobs;
      continue;
    }
    const auto axis = parse_group_by(words[at + 1]);
    if (!axis) return axis.error();
    asked.spec.group_by = *axis;
    if (*axis == GroupBy::ProcessText) asked.spec.group_metric = words[at + 1];
  }
  return asked;
}

Result<std::string> read_all(int fd) {
  std::string text;
  for (char piece[1 << 16];;) {
    const ssize_t got = ::read(fd, piece, sizeof piece);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_error("reading", "standard input", errno);
    if (got == 0) return {boost::system::in_place_value, std::move(text)};
    text.append(piece, static_cast<std::size_t>(got));
  }
}

std::vector<std::string_view> paths_in(std::string_view text) {
  std::vector<std::string_view> paths;
  while (!text.empty()) {
    const auto end = std::min(text.find('\0'), text.size());
    paths.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return paths;
}

// Writes whole lines to standard output. Threads: any.
class Lines {
 public:
  void write(std::string_view lines) {
    const std::lock_guard lock(mutex_);
    if (!failed_) failed_ = write_all(output_fd(), lines);
  }
  // Whether standard output still accepts data.
  bool may_go_on() const { return !failed_; }
  int status() const {
    const int failed = failed_;
    return failed == 0 || failed == EPIPE
               ? kFine
               : fail(errno_error("writing to", "standard output", failed));
  }

 private:
  std::mutex mutex_;
  std::atomic<int> failed_{0};  // errno
};

struct NumberedPlan {
  CapturePlan plan;
  std::size_t number;
};

// The plans of the captures so far. Threads: any.
class Plans {
 public:
  Plans(const Spec& spec, PluginsOnDemand& plugins, Lines& lines)
      : spec_(&spec), plugins_(&plugins), lines_(&lines) {}

  // Returns the plan of the capture. Writes its definitions when it creates one.
  Result<std::shared_ptr<const NumberedPlan>> of(const Snapshot& capture) {
    const std::lock_guard lock(mutex_);
    for (const auto& known : known_)
      if (known->plan.fits(capture)) return known;
    const auto needs_all = plugins_->need_all({&capture, 1});
    if (!needs_all) return needs_all.error();
    auto plan = CapturePlan::make(capture, *spec_, plugins_->knowledge(*needs_all));
    if (!plan) return plan.error();
    known_.push_front(
        std::make_shared<const NumberedPlan>(NumberedPlan{std::move(*plan), next_++}));
    if (known_.size() > kMostPlans) known_.pop_back();
    JsonWriter out(Escape::Unshowable);
    write_definitions(known_.front()->plan, known_.front()->number, out);
    lines_->write(out.view());
    return known_.front();
  }

 private:
  const Spec* spec_;
  PluginsOnDemand* plugins_;
  Lines* lines_;
  std::mutex mutex_;
  std::deque<std::shared_ptr<const NumberedPlan>> known_;
  std::size_t next_ = 0;
};

// Processes one file on one thread.
class OneFile {
 public:
  OneFile(std::size_t index, std::string path, const Vocabulary& vocabulary, Plans& plans)
      : index_(index), path_(std::move(path)), vocabulary_(&vocabulary), plans_(&plans) {}

  // Returns the lines of the file.
  std::string read() {
    try {
      read_captures();
    } catch (const std::bad_alloc&) {
      tell("error", "reading '" + path_ + "': not enough memory");
    } catch (const std::exception& exception) {
      tell("error", "reading '" + path_ + "': " + exception.what());
    }
    begin();
    out_.raw("\"done\":true}\n");
    return std::string(out_.view());
  }

 private:
  void begin() {
    out_.put('{');
    out_.member("index", std::uint64_t{index_});
    out_.member("file", path_);
  }
  void tell(std::string_view what, std::string_view sentence) {
    begin();
    out_.member(what, sentence);
    out_.close('}');
    out_.put('\n');
  }

  void read_captures() {
    const auto told = load_each(path_, *vocabulary_, [&](Snapshot capture) {
      take(std::move(capture));
      return Result<void>();
    });
    if (left_out_ > 0 && captures_.empty())
      return tell("error", "reading '" + path_ + "': its contents exceed 128 MiB");
    for (std::size_t at = 0; at < captures_.size(); ++at) write_capture_line(at);
    if (left_out_ > 0)
      tell("told", "'" + path_ + "' contains " + std::to_string(left_out_) +
                       " more captures, which are left out: together they exceed 128 MiB");
    if (!told) return tell("error", told.error().text);
    for (const std::string& sentence : *told) tell("told", sentence);
    for (const std::string& sentence : told_) tell("told", sentence);
  }

  void take(Snapshot capture) {
    if (bytes_ > kMostBytes) return void(++left_out_);
    if (capture.window) to_differences(capture);
    // The values of gauges at the opening are not needed.
    if (capture.window) {
      for (Opening& opening : capture.window->openings) opening.columns.clear();
      capture.window->opening_only.reset();
    }
    const auto plan = plans_->of(capture);
    if (!plan) return told_.push_back(plan.error().text);
    const CaptureFigures figures(capture, (*plan)->plan);
    JsonWriter out(Escape::Unshowable);
    write_capture(capture, (*plan)->plan, figures, (*plan)->number, out);
    bytes_ += out.size();
    if (bytes_ > kMostBytes) return void(++left_out_);
    captures_.emplace_back(out.view());
  }

  void write_capture_line(std::size_t at) {
    begin();
    out_.member("capture", std::uint64_t{at + 1});
    out_.member("captures", std::uint64_t{captures_.size()});
    out_.raw(captures_[at]);
    out_.close('}');
    out_.put('\n');
  }

  std::size_t index_;
  std::string path_;
  const Vocabulary* vocabulary_;
  Plans* plans_;
  std::vector<std::string> captures_, told_;
  std::size_t bytes_ = 0, left_out_ = 0;
  JsonWriter out_{Escape::Unshowable};
};

// Keeps freed memory: otherwise the kernel would reclaim it page by page and provide it again page
// by page for the next file.
void keep_memory() {
  constexpr int kMostMapped = 32 << 20;  // the largest accepted value
  constexpr int kKept = 256 << 20;
  ::mallopt(M_MMAP_THRESHOLD, kMostMapped);
  ::mallopt(M_TRIM_THRESHOLD, kKept);
}

}  // namespace

int run_fleet_read(std::span<const char* const> words) {
  const auto asked = parse(words);
  if (!asked) return fail(asked.error());
  const auto given = read_all(STDIN_FILENO);
  if (!given) return fail(given.error());
  Options options;
  options.quiet = true;
  auto plugins = PluginsOnDemand::open(options);
  if (!plugins) return fail(plugins.error());
  keep_memory();
  Lines lines;
  Plans plans(asked->spec, *plugins, lines);
  const auto paths = paths_in(*given);
  share(asked->jobs, paths.size(), [&](unsigned, std::size_t at) {
    if (!lines.may_go_on()) return;
    lines.write(OneFile(at, std::string(paths[at]), plugins->vocabulary(), plans).read());
  });
  return lines.status();
}

}  // namespace ctprof::cli
