// Finds the frames of records: from addresses, from a copy of the stack, or from frames that the
// recorder's program found by unwind tables.

#include <algorithm>
#include <span>

#include "core/capture/overlay_mount.hpp"
#include "core/capture/recorded_stacks.hpp"

namespace ctprof {
namespace {

constexpr std::uint64_t kFlagsOfFrame = CTPROF_FRAME_ADDRESS | CTPROF_FRAME_GUESSED;
// Limit of the modules that are kept per process and table of an overlay file.
constexpr std::size_t kMaxOverlayModules = 1 << 18;
constexpr std::uint64_t kOffsetMask = (std::uint64_t{1} << CTPROF_FRAME_TABLE_SHIFT) - 1;

}  // namespace

// Leaf first. All addresses after the first are return addresses, which follow their call
// instructions.
void RecordedStacks::add_kernel_frames(const ctprof_record& record) {
  for (std::uint32_t i = 0; i < record.kernel_count; ++i)
    frames_.push_back({record.kernel[i] - (i > 0 ? 1 : 0), Modules::kKernel, false});
}

WalkEnd RecordedStacks::find_user_frames(const ctprof_record& record) {
  const AddressSpace& space = process_of(record.tgid).space;
  if (record.user_kind == CTPROF_USER_FRAMES) return find_table_frames(record, space);
  if (record.user_kind == CTPROF_USER_COPY) {
    const std::string_view copy(reinterpret_cast<const char*>(record.stack), record.stack_size);
    return unwinder_.walk(space, {record.ip, record.sp, record.bp, record.lr}, {record.sp, copy},
                          user_frames_, max_frames_ - frames_.size());
  }
  addresses_.assign(record.user, record.user + record.user_count);
  const WalkEnd ending = unwinder_.make_frames(space, addresses_, user_frames_);
  for (std::size_t i = 0; i < user_frames_.size(); ++i) {
    user_frames_[i].is_guessed = i > 0 && (record.flags & CTPROF_RECORD_GUESSED) != 0;
  }
  return ending;
}

WalkEnd RecordedStacks::find_table_frames(const ctprof_record& record, const AddressSpace& space) {
  user_frames_.clear();
  for (const std::uint64_t word : std::span(record.user, record.user_count)) {
    Frame frame{word & ~kFlagsOfFrame, 0, (word & CTPROF_FRAME_GUESSED) != 0};
    if ((word & CTPROF_FRAME_ADDRESS) != 0) {
      const CodeRange* range = space.find(frame.offset);
      const Mapping anonymous{frame.offset, frame.offset + 1, 0, {}, {}};
      const CodeRange code = range ? *range : modules_.make_code_range(record.tgid, anonymous);
      frame.module = code.module;
      frame.offset = frame.offset - code.start + code.offset;
    } else {
      frame.module = module_of_table(frame.offset >> CTPROF_FRAME_TABLE_SHIFT, space);
      frame.offset &= kOffsetMask;
    }
    user_frames_.push_back(frame);
  }
  return WalkEnd::Root;
}

// Returns the range of the process that the kernel reads from the file of a layer from which the
// table was made; null if there is none. A process can map a file that it prepared to match; then
// only the names in its own stacks are wrong.
const CodeRange* RecordedStacks::find_overlay_range(const TableFile& file,
                                                    const AddressSpace& space) const {
  const auto has_contents_of_layer = [&](const CodeRange& range) {
    const FileId& mapped = module_origins_[range.module].file;
    if (mapped.version == 0 || !can_be_layer_file(mapped.inode, file.layer)) return false;
    const auto stamp = content_of_version(mapped.version).stamp;
    return stamp->size == file.stamp.size && stamp->changed_ns == file.stamp.changed_ns;
  };
  const auto found = std::ranges::find_if(space.ranges(), has_contents_of_layer);
  return found == space.ranges().end() ? nullptr : &*found;
}

// A process of another container has mapped the table's file through its own overlay mount. The
// path and the function names come from that mount, because the process for which the table was
// made may have exited long ago. REQUIRES: the table exists.
std::uint32_t RecordedStacks::module_of_table(std::uint64_t table, const AddressSpace& space) {
  const TableFile& file = tables_[table - 1];
  if (file.layer.inode == 0) return module_of_table(table);
  if (overlay_modules_.size() == kMaxOverlayModules) overlay_modules_.clear();
  const auto [known, is_new] = overlay_modules_.try_emplace({space.process(), table}, kNoModule);
  if (!is_new) return known->second;
  const CodeRange* range = find_overlay_range(file, space);
  if (!range) return known->second = module_of_table(table);
  if (!modules_.file(range->module)) modules_.find_rule(space.process(), *range, range->offset);
  return known->second = range->module;
}

// REQUIRES: the table exists; record_checks.hpp verified it.
std::uint32_t RecordedStacks::module_of_table(std::uint64_t table) {
  if (table_modules_.size() < tables_.size()) table_modules_.resize(tables_.size(), kNoModule);
  std::uint32_t& module = table_modules_[table - 1];
  if (module != kNoModule) return module;
  const TableFile& file = tables_[table - 1];
  Mapping mapping = file.mapping;
  mapping.is_elf_in_memory = true;
  mapping.file.version = version_of(mapping.file, file.stamp);
  const CodeRange range = modules_.make_code_range(file.process, mapping);
  if (module_origins_.size() <= range.module) module_origins_.resize(range.module + 1);
  if (range.module != Modules::kUnknown) module_origins_[range.module].file = mapping.file;
  // Opens the file while the process lives: symbol names are read from it later.
  if (!modules_.file(range.module)) modules_.find_rule(file.process, range, range.offset);
  return module = range.module;
}

// Returns the version of the file that has the contents from which a table was made.
std::uint64_t RecordedStacks::version_of(const FileId& file, const FileStamp& stamp) {
  for (const auto* versions : {&versions_, &table_versions_})
    if (const auto found = versions->find(file); found != versions->end())
      for (const std::uint32_t number : found->second)
        if (content_of_version(number + 1).stamp->has_same_content(stamp)) return number + 1;
  if (file.inode == 0) return 0;
  const auto number = static_cast<std::uint32_t>(pinned_.size() + table_stamps_.size());
  table_stamps_.push_back(stamp);
  table_versions_[file].push_back(number);
  return number + 1;
}

MappedContent RecordedStacks::content_of_version(std::uint64_t version) const {
  if (version <= pinned_.size())
    return {pinned_[version - 1].descriptor, pinned_[version - 1].stamp, 0};
  return {{}, table_stamps_[version - 1 - pinned_.size()], 0};
}

WalkEnd RecordedStacks::find_frames(const ctprof_record& record) {
  frames_.clear();
  user_frames_.clear();
  add_kernel_frames(record);
  WalkEnd ending = record.flags & CTPROF_RECORD_NO_USER ? WalkEnd::Failed : WalkEnd::Root;
  if (record.user_kind != CTPROF_USER_NONE)
    ending = frames_.size() < max_frames_ ? find_user_frames(record) : WalkEnd::TooDeep;
  frames_.insert(frames_.end(), user_frames_.begin(), user_frames_.end());
  if (frames_.size() > max_frames_) {
    frames_.erase(frames_.begin() + static_cast<std::ptrdiff_t>(max_frames_), frames_.end());
    ending = WalkEnd::TooDeep;
  }
  const bool is_truncated = (record.flags & CTPROF_RECORD_CUT) != 0;
  return is_truncated && ending == WalkEnd::Root ? WalkEnd::TooDeep : ending;
}

}  // namespace ctprof
