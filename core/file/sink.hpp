// Where a file's text goes: into memory, or compressed into a file that takes its name only when it is whole.
//
// What is here:   the way from text to disk.
// What is not:    the text (document.hpp).

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/result.hpp"

struct ZSTD_CCtx_s;

namespace ctprof {

class TextSink {
 public:
  virtual ~TextSink() = default;
  virtual Result<void> write(std::string_view text) = 0;
};

class StringSink final : public TextSink {
 public:
  Result<void> write(std::string_view text) override {
    text_ += text;
    return {};
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// A file under construction. A regular file is written under a temporary name beside its own and renamed by `commit`; without that it
// is removed again, and the file that was there stays. Devices, pipes and "-" (standard output) are written as they are.
class OutFile {
 public:
  static Result<OutFile> create(const std::string& path);
  // Whether it could be created now; nothing is left behind.
  static Result<void> check(const std::string& path);
  OutFile(OutFile&& other) noexcept;
  OutFile& operator=(OutFile&&) = delete;
  ~OutFile();

  Result<void> write(std::string_view bytes);
  // Gives the file its name, after it has reached the disk if `sync` says so.
  Result<void> commit(bool sync);
  std::uint64_t bytes() const { return bytes_; }
  // How long `commit` waited for the disk.
  std::uint64_t sync_ns() const { return sync_ns_; }
  const std::string& path() const { return path_; }

 private:
  OutFile(std::string path, std::string temporary, int fd) : path_(std::move(path)), temporary_(std::move(temporary)), fd_(fd) {}
  Error failed(int number) const { return errno_error("writing", path_, number); }

  std::string path_;
  std::string temporary_;  // empty: the file has its name already
  int fd_;
  std::uint64_t bytes_ = 0;
  std::uint64_t sync_ns_ = 0;
};

// Compresses into an OutFile, with a checksum at the end.
class ZstdSink final : public TextSink {
 public:
  ZstdSink(OutFile& file, int level);
  Result<void> write(std::string_view text) override;
  // Writes what is left. REQUIRES: last.
  Result<void> finish();
  std::uint64_t text_bytes() const { return text_bytes_; }

 private:
  struct Free {
    void operator()(ZSTD_CCtx_s* context) const;
  };
  Result<void> compress(std::string_view text, int directive);

  OutFile* file_;
  std::unique_ptr<ZSTD_CCtx_s, Free> context_;
  std::string out_;
  std::uint64_t text_bytes_ = 0;
};

}  // namespace ctprof
