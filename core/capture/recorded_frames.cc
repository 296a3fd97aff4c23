// Finds the frames of records: from addresses, from a copy of the stack, or from frames that the
// recorder's program found by unwind tables.

#include <span>

#include "core/capture/recorded_stacks.hpp"

namespace ctprof {
namespace {

constexpr std::uint64_t kFlagsOfFrame = CTPROF_FRAME_ADDRESS | CTPROF_FRAME_GUESSED;
constexpr std::uint64_t kPlaces = (std::uint64_t{1} << CTPROF_FRAME_TABLE_SHIFT) - 1;

}  // namespace

// Leaf first. All addresses after the first are return addresses, which follow their call
// instructions.
void RecordedStacks::add_kernel_frames(const ctprof_record& record) {
  for (std::uint32_t i = 0; i < record.kernel_count; ++i)
    frames_.push_back({record.kernel[i] - (i > 0 ? 1 : 0), Modules::kKernel, false});
}

Ending RecordedStacks::find_user_frames(const ctprof_record& record) {
  const AddressSpace& space = process_of(record.tgid).space;
  if (record.user_kind == CTPROF_USER_FRAMES) return find_table_frames(record, space);
  if (record.user_kind == CTPROF_USER_COPY) {
    const std::string_view copy(reinterpret_cast<const char*>(record.stack), record.stack_size);
    return unwinder_.walk(space, {record.ip, record.sp, record.bp, record.lr}, {record.sp, copy},
                          user_frames_, depth_ - frames_.size());
  }
  addresses_.assign(record.user, record.user + record.user_count);
  const Ending ending = unwinder_.place(space, addresses_, user_frames_);
  for (std::size_t i = 0; i < user_frames_.size(); ++i) {
    user_frames_[i].is_guessed = i > 0 && (record.flags & CTPROF_RECORD_GUESSED) != 0;
  }
  return ending;
}

Ending RecordedStacks::find_table_frames(const ctprof_record& record, const AddressSpace& space) {
  user_frames_.clear();
  for (const std::uint64_t word : std::span(record.user, record.user_count)) {
    Frame frame{word & ~kFlagsOfFrame, 0, (word & CTPROF_FRAME_GUESSED) != 0};
    if ((word & CTPROF_FRAME_ADDRESS) != 0) {
      const CodeRange* range = space.find(frame.offset);
      const Mapping anonymous{frame.offset, frame.offset + 1, 0, {}, {}};
      const CodeRange code = range ? *range : modules_.range_of(record.tgid, anonymous);
      frame.module = code.module;
      frame.offset = frame.offset - code.start + code.offset;
    } else {
      frame.module = module_of_table(frame.offset >> CTPROF_FRAME_TABLE_SHIFT);
      frame.offset &= kPlaces;
    }
    user_frames_.push_back(frame);
  }
  return Ending::Root;
}

// REQUIRES: the table exists; record_checks.hpp verified it.
std::uint32_t RecordedStacks::module_of_table(std::uint64_t table) {
  if (table_modules_.size() < tables_.size()) table_modules_.resize(tables_.size(), kNoModule);
  std::uint32_t& module = table_modules_[table - 1];
  if (module != kNoModule) return module;
  const TableFile& file = tables_[table - 1];
  Mapping mapping = file.mapping;
  mapping.is_program = true;
  mapping.file.version = version_of(mapping.file, file.stamp);
  const CodeRange range = modules_.range_of(file.process, mapping);
  if (files_of_modules_.size() <= range.module) files_of_modules_.resize(range.module + 1);
  if (range.module != Modules::kUnknown) files_of_modules_[range.module].file = mapping.file;
  // Opens the file while the process lives: symbol names are read from it later.
  if (!modules_.file(range.module)) modules_.rule_at(file.process, range, range.offset);
  return module = range.module;
}

// Returns the version of the file that has the contents from which a table was made.
std::uint64_t RecordedStacks::version_of(const FileId& file, const FileStamp& stamp) {
  for (const auto* versions : {&versions_, &versions_of_tables_})
    if (const auto found = versions->find(file); found != versions->end())
      for (const std::uint32_t number : found->second)
        if (content_of_version(number + 1).stamp->has_same_content(stamp)) return number + 1;
  if (file.inode == 0) return 0;
  const auto number = static_cast<std::uint32_t>(pinned_.size() + contents_of_tables_.size());
  contents_of_tables_.push_back(stamp);
  versions_of_tables_[file].push_back(number);
  return number + 1;
}

MappedContent RecordedStacks::content_of_version(std::uint64_t version) const {
  if (version <= pinned_.size()) return {pinned_[version - 1].named, pinned_[version - 1].stamp, 0};
  return {{}, contents_of_tables_[version - 1 - pinned_.size()], 0};
}

Ending RecordedStacks::find_frames(const ctprof_record& record) {
  frames_.clear();
  user_frames_.clear();
  add_kernel_frames(record);
  Ending ending = record.flags & CTPROF_RECORD_NO_USER ? Ending::Lost : Ending::Root;
  if (record.user_kind != CTPROF_USER_NONE)
    ending = frames_.size() < depth_ ? find_user_frames(record) : Ending::Deep;
  frames_.insert(frames_.end(), user_frames_.begin(), user_frames_.end());
  if (frames_.size() > depth_) {
    frames_.erase(frames_.begin() + static_cast<std::ptrdiff_t>(depth_), frames_.end());
    ending = Ending::Deep;
  }
  const bool is_cut = (record.flags & CTPROF_RECORD_CUT) != 0;
  return is_cut && ending == Ending::Root ? Ending::Deep : ending;
}

}  // namespace ctprof
