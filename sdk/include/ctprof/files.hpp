// Functions that read small kernel files and parse numbers in them.
//
// Reading and parsing are separate: TextFile::read returns the text or a gap, and the functions
// below it parse text.
//
// A complete reader of /proc/<tgid>/task/<tid>/schedstat, three numbers separated by blanks:
//
//   sdk::Reading<std::uint64_t> waited(const sdk::Thread& thread) {
//     const auto text = file_.read(host_, thread, "schedstat");
//     if (!text) return text.gap;
//     std::string_view rest = sdk::trimmed(text.value);
//     sdk::take(rest, ' ');                                  // the first is time on a CPU
//     return sdk::number<std::uint64_t>(sdk::take(rest, ' '));
//   }
//
// Only memory allocation can throw, and objects share no state except noted_shortage: give each
// worker a TextFile of its own.
//
// Contents:   functions that most sources of /proc and /sys need.
// See also:   the plugins for the formats of single files; a reader is named after its file.

#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <string_view>
#include <vector>

#include "ctprof/batch.hpp"
#include "ctprof/gap.hpp"
#include "ctprof/host.hpp"

namespace ctprof::sdk {

// Owns a file descriptor, as std::unique_ptr owns memory.
//
//   const sdk::Fd map(::openat(host.proc(), "self/maps", O_RDONLY | O_CLOEXEC));
//   if (!map) return ctprof::gap_of_errno(errno);
//
// The destructor closes the descriptor. An Fd can be moved but not copied, and contains -1 if it
// owns nothing. Always open with O_CLOEXEC: ctprof starts helper processes.
class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  ~Fd() { reset(); }

  // Returns the descriptor, which stays owned; -1 if there is none.
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  // Releases ownership: the caller must close the descriptor.
  int release() {
    const int fd = fd_;
    fd_ = -1;
    return fd;
  }
  // Closes the current descriptor and takes ownership of `fd`.
  void reset(int fd = -1) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }

 private:
  int fd_;
};

// A lack of file descriptors is reported separately, because the user can fix it by raising a
// limit. Otherwise an almost empty report of a host with 100,000 threads would suggest missing
// rights or a broken plugin. TextFile records the condition itself; code that opens files in
// another way calls note_shortage with the errno. The core receives the condition at the end of a
// batch and reports it once. Any thread may call these functions.

// Whether an errno means that the process or the host has no more descriptors.
constexpr bool is_shortage(int error) { return error == EMFILE || error == ENFILE; }

// The last such errno that has not been reported yet; 0: none. There is one variable in each plugin
// and one in the core.
inline std::atomic<int> noted_shortage{0};

// Records the errno of a failed open if it means a lack of descriptors; call it after every failed
// open.
inline void note_shortage(int error) {
  if (is_shortage(error)) noted_shortage.store(error, std::memory_order_relaxed);
}

// Returns the message to report, or null if there is none, and clears the recorded errno. The SDK
// calls it after each batch; you need it only for work outside `collect`.
//
//   const int socket = ::socket(...);
//   if (socket < 0) sdk::note_shortage(errno);
inline const char* take_shortage() {
  if (noted_shortage.load(std::memory_order_relaxed) == 0) return nullptr;
  return noted_shortage.exchange(0) == EMFILE
             ? "file descriptors ran out (Too many open files): values that needed one are missing "
               "(SourceFailed); raise the limit (ulimit -n) and capture again"
             : "the host ran out of file descriptors (Too many open files in system): values that "
               "needed one are missing (SourceFailed); raise fs.file-max, or close files "
               "elsewhere, and capture again";
}

// Reads whole files into one reused buffer. A text is valid until the next read. Use one object per
// worker.
//
//   sdk::TextFile file;                                     // a member of the source
//   const auto text = file.read(host, thread, "schedstat");
//   if (!text) return text.gap;                             // ThreadGone, Denied, ...
//
// The buffer starts at 8 KiB and grows with the files, so there are no allocations after the first
// few reads. A text is a view into the buffer: parse it, or copy the parts you need, before the
// next read.
//
// For a file of the whole host, ThreadGone means that the kernel does not provide the file:
//
//   const auto text = file.read(host.proc(), "loadavg");
//   if (!text) return text.gap == Gap::ThreadGone ? Gap::Unsupported : text.gap;
//
// It does not use std::ifstream, which reads in pieces. The kernel generates most of these files
// anew for each read, so two pieces can be from different times. Also, a name may contain a zero
// byte or a newline.
class TextFile {
 public:
  // Reads `path` under the directory `dir` to its end. On failure, returns the gap for the errno
  // (gap_of_errno); last_errno() returns the errno. A lack of descriptors is also recorded
  // (note_shortage).
  Reading<std::string_view> read(int dir, const char* path) {
    const Fd file(::openat(dir, path, O_RDONLY | O_CLOEXEC));
    return file ? read_all(file.get(), Made::InOnePiece) : failed();
  }

  // The same for a file that the kernel generates record by record, such as mountinfo or
  // cgroup.procs: a short read does not mean the end of the file.
  Reading<std::string_view> read_records(int dir, const char* path) {
    const Fd file(::openat(dir, path, O_RDONLY | O_CLOEXEC));
    return file ? read_all(file.get(), Made::ByRecords) : failed();
  }

  // Reads a file of a thread under /proc/<tgid>/task/<tid>/, because some files outside task/
  // describe the whole process. Uses the thread's open directory if there is one. A missing file
  // gives ThreadGone: the thread exited after it was listed, because `probe` has already determined
  // what the kernel lacks.
  Reading<std::string_view> read(const Host& host, const Thread& thread, const char* file) {
    if (thread.dir >= 0) return read(thread.dir, file);
    char path[96];
    std::snprintf(path, sizeof path, "%llu/task/%llu/%s",
                  static_cast<unsigned long long>(thread.tgid),
                  static_cast<unsigned long long>(thread.tid), file);
    return read(host.proc(), path);
  }

  // Returns the errno of the last failed read; unspecified after a read that succeeded.
  int last_errno() const { return errno_; }

 private:
  // How the kernel generates a file, which determines whether a short read is its end.
  enum class Made { InOnePiece, ByRecords };

  Reading<std::string_view> read_all(int fd, Made made) {
    std::size_t size = 0;
    for (;;) {
      if (size == buffer_.size()) buffer_.resize(size * 2);
      const ssize_t got = ::read(fd, buffer_.data() + size, buffer_.size() - size);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return failed();
      size += static_cast<std::size_t>(got);
      // A short read that ends with a newline is the end of any file that is generated in one
      // piece.
      const bool complete = made == Made::InOnePiece && size > 0 && size < buffer_.size() &&
                            buffer_[size - 1] == '\n';
      if (got == 0 || complete) return std::string_view(buffer_.data(), size);
    }
  }

  // Saves the current errno and returns its gap.
  Gap failed() {
    errno_ = errno;
    note_shortage(errno_);
    return gap_of_errno(errno_);
  }

  std::vector<char> buffer_ = std::vector<char>(8192);
  int errno_ = 0;
};

// Parses a number that must fill all of `text`; otherwise Malformed.
//
//   sdk::number<std::uint64_t>("42")      42
//   sdk::number<std::uint64_t>("42 kB")   Malformed: remove the unit first
//   sdk::number<std::uint32_t>("-1")      Malformed, like values out of range
template <class T>
Reading<T> number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? Reading<T>(value)
                                                                  : Reading<T>(Gap::Malformed);
}

// Removes the part of `text` before the first `mark`, and the mark, and returns the part.
//
//   std::string_view line = "cpu 12 34"; sdk::take(line, ' '); "cpu", leaves "12 34"
//   sdk::take(line, ' '); "12", leaves "34" sdk::take(line, ' '); "34", leaves nothing
//
// If the mark does not occur, the part is the whole text. So a loop `while (!text.empty())` over
// lines also handles a last line without a newline.
inline std::string_view take(std::string_view& text, char mark) {
  const auto at = text.find(mark);
  const auto part = text.substr(0, at);
  text.remove_prefix(at == text.npos ? text.size() : at + 1);
  return part;
}

// Returns the text without white space and newlines at both ends. Do not trim thread names: they
// may begin and end with blanks (listing.hpp).
inline std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\n\v\f\r";
  const auto first = text.find_first_not_of(kSpace);
  return first == text.npos ? std::string_view{}
                            : text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

// Returns the text without blanks and tabs at both ends: " \t12 kB " becomes "12 kB". Faster than
// `trimmed`, for lines that contain no other white space.
inline std::string_view bare(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// Returns the text after the colon in the line with the key `key`; Unsupported if no line has it.
//
//   sdk::value_of("Name:\tx\nVmPeak:\t  12 kB\n", "VmPeak")    "12 kB"
//
// Use it for one or two keys of a file. For more, a KeyedText (text_table.hpp) reads the text once.
inline Reading<std::string_view> value_of(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    std::string_view line = take(text, '\n');
    if (trimmed(take(line, ':')) == key) return trimmed(line);
  }
  return Gap::Unsupported;
}

}  // namespace ctprof::sdk
