// Messages that request to open a file of another process, and the answers. They connect two
// processes of ctprof: target_files.hpp sends requests, and a child process answers
// (target_opener.hpp).
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

// Identifies the contents that a file had when it was mapped.
struct MappedContent {
  std::shared_ptr<const sdk::Fd> descriptor = {};  // pinned file: its O_PATH descriptor
  std::optional<FileStamp> stamp = {};  // pinned file: its size and times when it was pinned
  // Unpinned file: when it was mapped; it is not opened if it changed later. 0: unknown.
  std::uint64_t mapped_unix_ns = 0;
};

// Size and time of the last change (ctime) of a file that the kernel reads.
struct KernelStatus {
  std::uint64_t size = 0;
  std::uint64_t changed_ns = 0;

  bool operator==(const KernelStatus&) const = default;
};

struct OpenRequest {
  enum class Kind : std::uint8_t { Mapped, PerfMap, ByPath };

  Kind kind = Kind::ByPath;
  std::uint64_t process = 0;         // for Mapped and PerfMap, like owner
  std::optional<TargetOwner> owner;  // as last read
  CodeRange range = {};              // for Mapped, like file, kernel_status and content
  FileId file = {};
  // The kernel reads `file`, with this status; on an overlay mount that is a file of a layer
  // (overlay_mount.hpp). A file with another status is not opened.
  std::optional<KernelStatus> kernel_status = {};
  MappedContent content = {};
  std::string path = {};  // for Mapped and ByPath
};

struct OpenedFile {
  sdk::Fd fd = sdk::Fd();          // invalid: it was not opened
  bool is_too_large = false;       // not opened: no more bytes may be copied
  bool is_changed = false;         // not opened: the contents differ
  std::uint64_t copied_bytes = 0;  // bytes, if `fd` is a copy in memory
  // Stamp of the file itself, even if `fd` is a copy; the contents are not newer. nullopt: unknown.
  std::optional<FileStamp> stamp = {};
  // The file on an overlay mount that was opened instead of the layer's file, as /proc/PID/maps
  // lists it; inode 0: the requested file was opened.
  FileId overlay_file = {};
  std::string path = {};  // of overlay_file; empty: unknown
};

// REQUIRES for the parsers: the message was made by `to_message`.
ChildMessage to_message(const OpenRequest& request);
OpenRequest parse_request(ChildMessage message);
ChildMessage to_message(OpenedFile file);
OpenedFile parse_opened_file(ChildMessage message);

}  // namespace ctprof
