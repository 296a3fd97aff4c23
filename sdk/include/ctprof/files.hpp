// Reading small kernel files, and numbers out of them.
//
// Reading and parsing are two things: TextFile::read gives the text or the gap, the functions below
// it take text apart.
//
// A whole reader of /proc/<tgid>/task/<tid>/schedstat, three numbers with blanks between:
//
//   sdk::Reading<std::uint64_t> waited(const sdk::Thread& thread) {
//     const auto text = file_.read(host_, thread, "schedstat");
//     if (!text) return text.gap;
//     std::string_view rest = sdk::trimmed(text.value);
//     sdk::take(rest, ' ');                                  // the first is time on a CPU
//     return sdk::number<std::uint64_t>(sdk::take(rest, ' '));
//   }
//
// Nothing here throws, and nothing is shared between objects: give each worker a TextFile of its
// own.
//
// What is here:   what most sources of /proc and /sys need.
// What is not:    formats of single files; a reader is named after what it reads, and lives in its
// plugin.

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
// It closes what it owns when it ends, is moved and never copied, and keeps -1 when there is
// nothing to own. Always open with O_CLOEXEC: ctprof starts helper processes.
class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  ~Fd() { reset(); }

  // The descriptor, still owned; -1 when there is none.
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  // Gives it away: from now on the caller closes it.
  int release() {
    const int fd = fd_;
    fd_ = -1;
    return fd;
  }
  // Closes what it owns, and owns `fd` instead.
  void reset(int fd = -1) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }

 private:
  int fd_;
};

// Want of file descriptors is a reason of its own why cells fail, as the user can mend it: an empty
// report of a host with 100,000 threads would look like missing rights or a broken plugin, while
// raising a limit is all that is needed. TextFile notes it by itself; whoever opens files in
// another way calls note_shortage with the errno. What a plugin notes reaches the core at the end
// of a batch, and the user once. Any thread may call these functions.

// Whether an errno says that descriptors ran out, of the process or of the host.
constexpr bool is_shortage(int error) { return error == EMFILE || error == ENFILE; }

// The last such errno that was not yet reported; 0: none. One for each plugin, and one for the
// core.
inline std::atomic<int> noted_shortage{0};

// Notes the errno of an open that failed, if it is a shortage; call it with every such errno.
inline void note_shortage(int error) {
  if (is_shortage(error)) noted_shortage.store(error, std::memory_order_relaxed);
}

// The sentence to report, null where there is none; after that, nothing is noted. The SDK calls it
// after each batch; you need it only for work outside of `collect`.
//
//   const int socket = ::socket(...);
//   if (socket < 0) sdk::note_shortage(errno);
inline const char* take_shortage() {
  if (noted_shortage.load(std::memory_order_relaxed) == 0) return nullptr;
  return noted_shortage.exchange(0) == EMFILE
             ? "file descriptors ran out (Too many open files): values that needed one are "
               "SourceFailed; raise the limit (ulimit -n) and capture again"
             : "the host ran out of file descriptors (Too many open files in system): values that "
               "needed one are SourceFailed; raise fs.file-max, or close files elsewhere, and "
               "capture again";
}

// Reads whole files into one buffer that it keeps; a text lives until the next read. One per
// worker.
//
//   sdk::TextFile file;                                     // a member of the source
//   const auto text = file.read(host, thread, "schedstat");
//   if (!text) return text.gap;                             // ThreadGone, Denied, ...
//
// The first buffer is 8 KiB and grows as files do, so reading allocates nothing after the first
// few. A text is a view into it: parse it, or copy what you keep, before the next read.
//
// In a file of the whole host, ThreadGone means that the kernel does not have the file:
//
//   const auto text = file.read(host.proc(), "loadavg");
//   if (!text) return text.gap == Gap::ThreadGone ? Gap::Unsupported : text.gap;
//
// Why not std::ifstream? It reads in pieces. The kernel makes most of these files anew for each
// read, so two pieces can be of two moments; and a name with a zero byte or a line end in it is
// legal.
class TextFile {
 public:
  // Reads `path` under the directory `dir` to its end. Failure: the gap that the errno means
  // (gap_of_errno); the errno is in last_errno(). Want of descriptors is noted too (note_shortage).
  Reading<std::string_view> read(int dir, const char* path) {
    const Fd file(::openat(dir, path, O_RDONLY | O_CLOEXEC));
    return file ? read_all(file.get(), Made::InOnePiece) : failed();
  }

  // The same of a file that the kernel makes record by record, such as mountinfo or cgroup.procs: a
  // short read is not its end.
  Reading<std::string_view> read_records(int dir, const char* path) {
    const Fd file(::openat(dir, path, O_RDONLY | O_CLOEXEC));
    return file ? read_all(file.get(), Made::ByRecords) : failed();
  }

  // Reads a file of a thread, under /proc/<tgid>/task/<tid>/ and nowhere else: outside task/ some
  // figures are the whole process's. Goes through the thread's open directory where there is one. A
  // file that is missing now is ThreadGone: the thread ended since it was listed, for `probe` has
  // found out what the kernel lacks.
  Reading<std::string_view> read(const Host& host, const Thread& thread, const char* file) {
    if (thread.dir >= 0) return read(thread.dir, file);
    char path[96];
    std::snprintf(path, sizeof path, "%llu/task/%llu/%s",
                  static_cast<unsigned long long>(thread.tgid),
                  static_cast<unsigned long long>(thread.tid), file);
    return read(host.proc(), path);
  }

  // Of the last read that gave a gap; what it holds after one that did not means nothing.
  int last_errno() const { return errno_; }

 private:
  // How the kernel makes a file, and so, whether a short read is its end.
  enum class Made { InOnePiece, ByRecords };

  Reading<std::string_view> read_all(int fd, Made made) {
    std::size_t size = 0;
    for (;;) {
      if (size == buffer_.size()) buffer_.resize(size * 2);
      const ssize_t got = ::read(fd, buffer_.data() + size, buffer_.size() - size);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return failed();
      size += static_cast<std::size_t>(got);
      // A short read that ends a line is the end of every file that the kernel makes in one piece.
      const bool complete = made == Made::InOnePiece && size > 0 && size < buffer_.size() &&
                            buffer_[size - 1] == '\n';
      if (got == 0 || complete) return std::string_view(buffer_.data(), size);
    }
  }

  // The gap of the errno of now.
  Gap failed() {
    errno_ = errno;
    note_shortage(errno_);
    return gap_of_errno(errno_);
  }

  std::vector<char> buffer_ = std::vector<char>(8192);
  int errno_ = 0;
};

// A number that fills all of `text`, or Malformed.
//
//   sdk::number<std::uint64_t>("42")       42
//   sdk::number<std::uint64_t>("42 kB")    Malformed: trim it before
//   sdk::number<std::uint32_t>("-1")       Malformed, as is what does not fit
template <class T>
Reading<T> number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? Reading<T>(value)
                                                                  : Reading<T>(Gap::Malformed);
}

// Takes the part of `text` before the first `mark` off it, and the mark with it.
//
//   std::string_view line = "cpu 12 34";
//   sdk::take(line, ' ');                  "cpu", and "12 34" is left
//   sdk::take(line, ' ');                  "12", and "34" is left
//   sdk::take(line, ' ');                  "34", and nothing is left
//
// Where the mark is not there, all of the text is the part. So a loop `while (!text.empty())` over
// lines also handles a last one that has no line end.
inline std::string_view take(std::string_view& text, char mark) {
  const auto at = text.find(mark);
  const auto part = text.substr(0, at);
  text.remove_prefix(at == text.npos ? text.size() : at + 1);
  return part;
}

// The text without white space at both ends, line ends included. Do not trim names of threads: they
// may begin and end with blanks (listing.hpp).
inline std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\n\v\f\r";
  const auto first = text.find_first_not_of(kSpace);
  return first == text.npos ? std::string_view{}
                            : text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

// Takes the blanks and tabs at both ends off: " \t12 kB " becomes "12 kB". Quicker than `trimmed`,
// for lines that have no other white space.
inline std::string_view bare(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// What follows the colon in the line whose key is `key`; Unsupported when no line has it.
//
//   sdk::value_of("Name:\tx\nVmPeak:\t  12 kB\n", "VmPeak")    "12 kB"
//
// For one or two keys of a file. For more, a KeyedText (text_table.hpp) goes through the text once.
inline Reading<std::string_view> value_of(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    std::string_view line = take(text, '\n');
    if (trimmed(take(line, ':')) == key) return trimmed(line);
  }
  return Gap::Unsupported;
}

}  // namespace ctprof::sdk
