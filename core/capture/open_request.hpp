// A request to open a file of another process, and its answer, as messages between two processes of
// this program: target_files.hpp sends it, and a child process answers it (target_opener.hpp).
//
// Threads: any.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/base/child_process.hpp"
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
  // `file` is what the kernel reads: on an overlay mount, a file of a layer (overlay_mount.hpp).
  bool may_be_of_layer = false;
  MappedContent content = {};
  std::string path = {};  // of Mapped and Named
};

struct OpenedFile {
  sdk::Fd fd = sdk::Fd();     // none: it was not opened
  bool is_too_large = false;  // for more may not be copied
  bool is_changed = false;    // for the file has another content
  std::uint64_t copied = 0;   // bytes, if `fd` is a copy in memory
  // Of the file itself, also if `fd` is a copy: its content is not newer. None: it is unknown.
  std::optional<FileStamp> stamp = {};
  // The file on an overlay mount that was opened for a file of a layer, as /proc/PID/maps lists it;
  // inode 0: it is the requested one.
  FileId on_overlay = {};
  std::string path = {};  // of on_overlay; empty: unknown
};

// REQUIRES of `request_in` and `opened_in`: the message is of `message_of`.
ChildMessage message_of(const OpenRequest& request);
OpenRequest request_in(ChildMessage message);
ChildMessage message_of(OpenedFile opened);
OpenedFile opened_in(ChildMessage message);

}  // namespace ctprof
