#include "tools/ctprof/runtime/redaction.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "core/redact/redact.hpp"
#include "ctprof/files.hpp"
#include "tools/ctprof/runtime/output.hpp"
#include "tools/ctprof/runtime/text.hpp"

namespace ctprof::cli {
namespace {

// Shortest key in bytes. A key of this length cannot be guessed in practice.
constexpr std::size_t kMinKeyBytes = 16;
constexpr std::size_t kMaxKeyBytes = 4096;

Result<KeyedHash::Key> generate_key() {
  KeyedHash::Key key{};
  if (::getrandom(key.data(), sizeof key, 0) == static_cast<ssize_t>(sizeof key)) return key;
  return errno_error("drawing", "a random key", errno);
}

Result<KeyedHash::Key> read_key(const std::string& path) {
  const sdk::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!file) return errno_error("reading the key", path, errno);
  std::string bytes(kMaxKeyBytes, '\0');
  const ssize_t size = ::read(file.get(), bytes.data(), bytes.size());
  if (size < 0) return errno_error("reading the key", path, errno);
  bytes.resize(static_cast<std::size_t>(size));
  if (bytes.size() < kMinKeyBytes)
    return error("reading the key", path,
                 "it has less than 16 bytes; make one: head -c 32 /dev/urandom >" + path);
  return KeyedHash::derive_key(bytes);
}

}  // namespace

Result<std::optional<KeyedHash::Key>> load_redaction_key(const RedactionOptions& options) {
  if (!options.redact) return std::optional<KeyedHash::Key>();
  CTPROF_TRY_VALUE(const auto key,
                   options.redact_key.empty() ? generate_key() : read_key(options.redact_key));
  return std::optional(key);
}

void redact_with(const KeyedHash::Key& key, Snapshot& snapshot, const Vocabulary& known,
                 const CommonOptions& options) {
  Pseudonyms pseudonyms(key);
  const RedactionCounts done = redact(snapshot, known, pseudonyms);
  std::string sentence = "redacted: pseudonyms for " + format_count(done.names, "name");
  if (done.removed_items > 0)
    sentence += "; removed without replacement: " +
                format_count(done.removed_items, "message or object", "messages and objects");
  print_note(options, sentence);
}

Result<void> redact_if_requested(Snapshot& snapshot, const Vocabulary& known,
                                 const RedactionOptions& redaction, const CommonOptions& options) {
  CTPROF_TRY_VALUE(const auto key, load_redaction_key(redaction));
  if (key) redact_with(*key, snapshot, known, options);
  return {};
}

}  // namespace ctprof::cli
