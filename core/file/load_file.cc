#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <new>

#include "core/file/file.hpp"
#include "core/file/limits.hpp"
#include "core/file/load.hpp"
#include "core/file/read_pass.hpp"
#include "core/file/settle.hpp"

namespace ctprof {
namespace {

constexpr std::string_view kMagic = "\x28\xb5\x2f\xfd";  // of a zstd frame
constexpr std::string_view kSkippable = "\x2a\x4d\x18";  // of one to be skipped, after a byte of choice
constexpr std::size_t kReadAtOnce = 1024 * 1024;

using MakeSource = std::function<std::unique_ptr<TextSource>()>;

// Reads with what the file says of itself, wherever in the file it says so.
Result<Snapshot> read(const MakeSource& make_source, const Vocabulary& vocabulary) {
  const auto pass = [&](PassOptions options, Draft& draft) {
    const auto source = make_source();
    return read_pass(*source, vocabulary, std::move(options), draft);
  };
  auto draft = std::make_unique<Draft>();
  PassEnd end = pass({}, *draft);
  if (end.is_contents && !end.registry && !draft->has_own_registry) {
    Draft nothing;
    end.registry = pass({.registry = {}, .only_registry = true}, nothing).registry;
  }
  if (end.registry) {
    draft = std::make_unique<Draft>();
    end = pass({.registry = std::move(end.registry), .only_registry = false}, *draft);
  }
  if (!end.failure.empty()) return Error{end.failure};
  return settle(*draft);
}

Result<Snapshot> read_named(const MakeSource& make_source, const std::string& name, const Vocabulary& vocabulary) {
  try {
    auto snapshot = read(make_source, vocabulary);
    return snapshot ? std::move(snapshot) : Result<Snapshot>(error("reading", name, snapshot.error().text));
  } catch (const std::bad_alloc&) {
    return error("reading", name, "out of memory");
  }
}

bool is_zstd(std::string_view bytes) { return bytes.starts_with(kMagic) || bytes.substr(1).starts_with(kSkippable); }

class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {}
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { ::close(fd_); }
  int get() const { return fd_; }

 private:
  int fd_;
};

Result<void> read_bytes(const std::string& path, std::string& bytes) {
  const Fd file(path == "-" ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return errno_error("reading", path, errno);
  for (std::size_t size = 0;;) {
    bytes.resize(size + kReadAtOnce);
    const ssize_t got = ::read(file.get(), bytes.data() + size, kReadAtOnce);
    if (got < 0 && errno != EINTR) return errno_error("reading", path, errno);
    if (got > 0) size += static_cast<std::size_t>(got);
    if (size > limits::kFileBytes) return error("reading", path, "larger than " + std::to_string(limits::kFileBytes) + " bytes");
    if (got != 0) continue;
    bytes.resize(size);
    return {};
  }
}

}  // namespace

Result<Snapshot> load_text(std::string_view json, const std::string& name, const Vocabulary& vocabulary,
                           std::size_t slice_bytes) {
  return read_named([&] { return std::make_unique<PlainText>(json, slice_bytes); }, name, vocabulary);
}

Result<Snapshot> load_bytes(std::string_view zstd, const std::string& name, const Vocabulary& vocabulary) {
  if (zstd.empty()) return error("reading", name, "the file is empty");
  if (!is_zstd(zstd)) return error("reading", name, "not a snapshot: it does not begin as zstd data does");
  return read_named([&] { return std::make_unique<UnfoldedText>(zstd); }, name, vocabulary);
}

Result<Snapshot> load_file(const std::string& path, const Vocabulary& vocabulary) {
  std::string bytes;
  if (auto done = read_bytes(path, bytes); !done) return done.error();
  return load_bytes(bytes, path, vocabulary);
}

}  // namespace ctprof
