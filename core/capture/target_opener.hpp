// Opens one file of another process, and waits for it as long as it takes: what a child process
// does for target_files.hpp, which says what is opened, and with which rights.
//
// Threads: one at a time.

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/helper_process.hpp"
#include "core/capture/pinned_files.hpp"
#include "core/capture/target_owner.hpp"
#include "core/stacks/address_space.hpp"
#include "ctprof/files.hpp"

namespace ctprof {

// Which content of a file was mapped.
struct MappedContent {
  std::shared_ptr<const sdk::Fd> named = {};  // of a file that is pinned
  std::optional<FileStamp> stamp = {};        // the content, of a file that is pinned
  // Of another one: when it was mapped; a file that was changed later is not opened. 0: unknown.
  std::uint64_t mapped_unix_ns = 0;
};

struct OpenRequest {
  enum class Kind : std::uint8_t { Mapped, PerfMap, Named };

  Kind kind = Kind::Named;
  std::uint64_t process = 0;         // of Mapped and PerfMap, as the next ones
  std::optional<TargetOwner> owner;  // when it was last read
  CodeRange range = {};              // of Mapped, as the next ones
  FileId file = {};
  MappedContent content = {};
  std::string path = {};  // of Mapped and Named
};

struct OpenedFile {
  sdk::Fd fd = sdk::Fd();     // none: it was not opened
  bool is_too_large = false;  // for more may not be copied
  bool is_changed = false;    // for the file has another content
};

// As messages between two processes of this program.
HelperMessage message_of(const OpenRequest& request);
OpenRequest request_in(HelperMessage message);
HelperMessage message_of(OpenedFile opened);
OpenedFile opened_in(HelperMessage message);

class TargetOpener {
 public:
  // `proc`: the open directory /proc; it may be closed afterwards. `is_lent`: whether ctprof has
  // rights that its user does not have. `most_copied`: bytes of all files that are copied, by this
  // object and its copies in child processes together.
  TargetOpener(int proc, bool is_lent, std::uint64_t most_copied);

  OpenedFile open(const OpenRequest& request) const;
  // What `open` uses, and owns.
  std::vector<int> descriptors() const { return {proc_.get(), root_.get()}; }

 private:
  sdk::Fd proc_, root_;
  bool is_lent_;
  std::shared_ptr<std::atomic<std::uint64_t>> left_to_copy_;  // in memory of all these processes
};

// The device of the directory /.
std::uint64_t root_device();

}  // namespace ctprof
