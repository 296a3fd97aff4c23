// Reading small kernel files, and numbers out of them.
//
// Reading and parsing are two things: TextFile::read gives the text or the gap, the functions below
// it take text apart.
//
// What is here:   what most sources of /proc and /sys need.
// What is not:    formats of single files; a reader is named after what it reads, and lives in its
// plugin.

#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <string_view>
#include <vector>

#include "ctprof/batch.hpp"
#include "ctprof/gap.hpp"
#include "ctprof/host.hpp"
#include "ctprof/shortage.hpp"

namespace ctprof::sdk {

// Owns a file descriptor.
class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  ~Fd() { reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release() {
    const int fd = fd_;
    fd_ = -1;
    return fd;
  }
  void reset(int fd = -1) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }

 private:
  int fd_;
};

// Reads whole files into one buffer that it keeps; a text lives until the next read. One per
// worker.
class TextFile {
 public:
  // Reads `path` under the directory `dir` to its end; the errno is in last_errno() when there is a
  // gap.
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
  // figures are the whole process's.
  Reading<std::string_view> read(const Host& host, const Thread& thread, const char* file) {
    if (thread.dir >= 0) return read(thread.dir, file);
    char path[96];
    std::snprintf(path, sizeof path, "%llu/task/%llu/%s",
                  static_cast<unsigned long long>(thread.tgid),
                  static_cast<unsigned long long>(thread.tid), file);
    return read(host.proc(), path);
  }

  int last_errno() const { return errno_; }

 private:
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

  Gap failed() {
    errno_ = errno;
    note_shortage(errno_);
    return gap_of_errno(errno_);
  }

  std::vector<char> buffer_ = std::vector<char>(8192);
  int errno_ = 0;
};

// A number that fills all of `text`, or Malformed.
template <class T>
Reading<T> number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? Reading<T>(value)
                                                                  : Reading<T>(Gap::Malformed);
}

// Takes the part of `text` before the first `mark` off it, and the mark with it.
inline std::string_view take(std::string_view& text, char mark) {
  const auto at = text.find(mark);
  const auto part = text.substr(0, at);
  text.remove_prefix(at == text.npos ? text.size() : at + 1);
  return part;
}

inline std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\n\v\f\r";
  const auto first = text.find_first_not_of(kSpace);
  return first == text.npos ? std::string_view{}
                            : text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

// Takes the blanks and tabs at both ends off. Quicker than `trimmed`, for lines that have no
// others.
inline std::string_view bare(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// What stands after the colon of the line whose key is `key`; Unsupported when no line has it.
inline Reading<std::string_view> value_of(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    std::string_view line = take(text, '\n');
    if (trimmed(take(line, ':')) == key) return trimmed(line);
  }
  return Gap::Unsupported;
}

}  // namespace ctprof::sdk
