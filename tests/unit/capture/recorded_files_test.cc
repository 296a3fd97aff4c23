// Tests which files provide function names when mapped files are overwritten, removed or replaced.

#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/base/clock.hpp"
#include "core/capture/pinned_files.hpp"
#include "core/capture/recorded_stacks.hpp"
#include "tests/unit/capture/own_files.hpp"
#include "tests/unit/capture/test_recording.hpp"
#include "tests/unit/stacks/section_builder.hpp"
#include "tests/unit/support/files.hpp"

namespace ctprof::recorded_files_test {
namespace {

using namespace hand_made;

constexpr std::uint64_t kCode = 0x400000, kFunction = 0x4000, kProcess = 7;
constexpr std::uint64_t kHasExited = 1 << 22;

// Returns a program with one function of this name and `more` additional bytes. It has no build id,
// because tests::ElfBuilder gives all programs the same one.
std::string program_with_function(const std::string& function, std::size_t more = 0) {
  std::string image = tests::ElfBuilder().image();
  image.replace(tests::ElfBuilder::kNote, sizeof(Elf64_Nhdr), sizeof(Elf64_Nhdr), '\0');
  tests::SectionBuilder sections(image);
  sections.add_symbol_list(SHT_SYMTAB, {{function, kFunction, 64}});
  return sections.image() + std::string(more, '\0');
}

Mapping mapping_of_file(const FileId& file, const std::string& path, std::uint64_t start) {
  return {start, start + tests::ElfBuilder::kSize, 0, file, path};
}

// A recording that has begun, and a file that process 7 has mapped.
struct RecordedProgram {
  explicit RecordedProgram(const std::string& image) {
    write_file(path, image);
    recording.stacks().add_mappings(kProcess, boottime_ns(),
                                    std::vector{mapping_of_file(id_of(path), path, kCode)});
    recording.begin();
  }

  TemporaryDirectory scratch;
  std::string path = scratch / "program";
  Recording recording;
};

// Adds one sample of thread `tid` of process 7, whose leaf is in the function of the program.
void take_record_at_function(Recording& recording, std::uint64_t start, std::uint64_t tid,
                             std::uint64_t began) {
  const std::vector<std::uint64_t> addresses{start + kFunction + 4};
  recording.stacks().add(with_addresses(record_of(kProcess, tid, 1, 0, began), addresses));
}

PinnedFile make_pinned_file(const FileId& file, const std::string& path, std::uint64_t version) {
  sdk::Fd named(::open(path.c_str(), O_PATH | O_CLOEXEC));
  const auto stamp = read_stamp(named.get());
  BOOST_REQUIRE(stamp.has_value());
  FileId id = file;
  id.version = version;
  return {id, kHasExited, *stamp, std::make_shared<const sdk::Fd>(std::move(named))};
}

std::string notes_text(const Recording& recording) {
  std::string text;
  for (const std::string& note : recording.window().meta.notes) text += note + "\n";
  return text;
}

BOOST_AUTO_TEST_SUITE(recorded_files_test)

BOOST_AUTO_TEST_CASE(names_files_that_were_not_changed) {
  RecordedProgram program(program_with_function("alpha"));
  Recording& recording = program.recording;
  take_record_at_function(recording, kCode, 7, 5);
  recording.stacks().finish();
  BOOST_TEST(recording.row_text(0).find("alpha") != std::string::npos);
  BOOST_TEST(notes_text(recording) == "");
}

// The process exited before the file was overwritten, and no other process had mapped it.
BOOST_AUTO_TEST_CASE(does_not_name_files_that_changed_since_they_were_mapped) {
  const TemporaryDirectory scratch;
  const std::string path = scratch / "program";
  write_file(path, program_with_function("alpha"));
  const FileId file = id_of(path);
  const std::uint64_t mapped_ns = boottime_ns() - kNsPerSecond;
  write_file(path, program_with_function("beta"));
  BOOST_REQUIRE(id_of(path) == file);
  Recording recording;
  recording.stacks().add_mappings(kProcess, mapped_ns,
                                  std::vector{mapping_of_file(file, path, kCode)});
  recording.begin();
  take_record_at_function(recording, kCode, 7, 5);
  recording.stacks().finish();
  BOOST_TEST(recording.row_text(0).find("beta") == std::string::npos);
  BOOST_TEST(recording.frames(0).front().offset == kFunction + 4);
  BOOST_TEST(recording.module(recording.frames(0).front()).path == path);
  BOOST_TEST(notes_text(recording) ==
             "cannot name functions of '" + path +
                 "': the file was changed or replaced after a process had mapped it\n");
}

// A table of a file that two containers map. Each has it on an overlay mount of its own, which
// shows the layer's inode number, size and times.
struct ContainerFiles {
  TemporaryDirectory scratch;
  std::string first = scratch / "first", second = scratch / "second";
  std::vector<PinnedFile> pinned;
  std::vector<TableFile> tables;

  ContainerFiles() {
    write_file(first, program_with_function("alpha"));
    write_file(second, program_with_function("alpha"));
    const FileId first_id = id_of(first), second_id = id_of(second);
    pinned = {make_pinned_file(second_id, second, 1)};
    const FileStamp stamp = pinned[0].stamp;
    tables = {{kHasExited, mapping_of_file(first_id, first, kCode), stamp, {1, second_id.inode}}};
  }
  // Returns the module of a walked stack of a process that has mapped the second file.
  Module module_of_frame() {
    Recording recording;
    recording.stacks().set_pinned_files(pinned);
    recording.stacks().add_mappings(kProcess, boottime_ns() + kNsPerSecond,
                                    std::vector{mapping_of_file(id_of(second), second, kCode)});
    recording.stacks().begin_source("test", "tests", {kStacks}, tables);
    const std::vector<std::uint64_t> words{std::uint64_t{1} << CTPROF_FRAME_TABLE_SHIFT |
                                           (kFunction + 4)};
    ctprof_record record = with_addresses(record_of(kProcess, 7, 1, 0, 5), words);
    record.user_kind = CTPROF_USER_FRAMES;
    recording.stacks().add(record);
    recording.stacks().finish();
    is_named = recording.row_text(0).find("alpha") != std::string::npos;
    return recording.module(recording.frames(0).front());
  }
  bool is_named = false;
};

BOOST_AUTO_TEST_CASE(names_walked_frames_of_overlays_through_their_own_container) {
  ContainerFiles files;
  BOOST_TEST(files.module_of_frame().path == files.second);
  BOOST_TEST(files.is_named);
}

// A file of another size, change time or inode is not the one that the kernel reads from the layer.
BOOST_AUTO_TEST_CASE(walked_frames_of_overlays_belong_to_no_other_file) {
  ContainerFiles other_size, other_change, other_inode;
  ++other_size.tables[0].stamp.size;
  ++other_change.tables[0].stamp.changed_ns;
  ++other_inode.tables[0].layer.inode;
  for (ContainerFiles* files : {&other_size, &other_change, &other_inode})
    BOOST_TEST(files->module_of_frame().path == files->first);
}

// In one window, two programs run from the same inode: the second one gets its names, the first
// none.
BOOST_AUTO_TEST_CASE(distinguishes_contents_of_one_file) {
  const TemporaryDirectory scratch;
  const std::string path = scratch / "program";
  write_file(path, program_with_function("alpha"));
  const FileId file = id_of(path);
  std::vector<PinnedFile> files{make_pinned_file(file, path, 1)};
  const std::uint64_t first_ns = boottime_ns();
  write_file(path, program_with_function("beta", 1));
  files.push_back(make_pinned_file(file, path, 2));
  files[0].stamp.changed_ns -= 2 * kNsPerSecond;
  Recording recording;
  recording.stacks().set_pinned_files(files);
  recording.stacks().add_mappings(kProcess, first_ns - kNsPerSecond,
                                  std::vector{mapping_of_file(file, path, kCode)});
  recording.begin();
  take_record_at_function(recording, kCode, 7, 5);
  ctprof_change change{};
  change.size = sizeof change;
  change.kind = CTPROF_CHANGE_MAPPED;
  change.tgid = kProcess;
  change.at_ns = boottime_ns();
  change.start = 2 * kCode;
  change.length = tests::ElfBuilder::kSize;
  change.device_major = static_cast<std::uint32_t>(major(file.device));
  change.device_minor = static_cast<std::uint32_t>(minor(file.device));
  change.inode = file.inode;
  change.path = {path.data(), path.size()};
  recording.stacks().add(change);
  take_record_at_function(recording, 2 * kCode, 8, 1500);
  recording.stacks().finish();
  BOOST_TEST(recording.row_text(0).find("beta") == std::string::npos);
  BOOST_TEST(recording.row_text(0).find("alpha") == std::string::npos);
  BOOST_TEST(recording.row_text(1).find("beta") != std::string::npos);
  BOOST_TEST(notes_text(recording).find("cannot name functions of") != std::string::npos);
}

// The files have the same path and no build ids, so only their inodes differ.
BOOST_AUTO_TEST_CASE(distinguishes_files_of_one_path) {
  const TemporaryDirectory scratch;
  const std::string path = scratch / "program";
  std::vector<PinnedFile> files;
  std::vector<Mapping> mappings;
  for (const char* function : {"alpha", "beta"}) {
    const std::string made = scratch / function;
    write_file(made, program_with_function(function));
    files.push_back(make_pinned_file(id_of(made), made, files.size() + 1));
    mappings.push_back(mapping_of_file(id_of(made), path, files.size() * kCode));
  }
  Recording recording;
  recording.stacks().set_pinned_files(files);
  recording.stacks().add_mappings(kProcess, boottime_ns(), mappings);
  recording.begin();
  take_record_at_function(recording, kCode, 7, 5);
  take_record_at_function(recording, 2 * kCode, 8, 1500);
  recording.stacks().finish();
  BOOST_TEST(recording.row_text(0).find("alpha") != std::string::npos);
  BOOST_TEST(recording.row_text(1).find("beta") != std::string::npos);
  BOOST_TEST(recording.module(recording.frames(0).front()).path == path);
  BOOST_TEST(recording.module(recording.frames(1).front()).path == path);
}

// A file may change while it is read.
BOOST_AUTO_TEST_CASE(does_not_name_files_that_change_before_names_are_read) {
  RecordedProgram program(program_with_function("alpha"));
  Recording& recording = program.recording;
  take_record_at_function(recording, kCode, 7, 5);
  write_file(program.path, program_with_function("beta", 1));
  recording.stacks().finish();
  BOOST_TEST(recording.row_text(0).find("beta") == std::string::npos);
  BOOST_TEST(notes_text(recording).find("cannot name functions of") != std::string::npos);
}

// --- code outside of files on disk ---

BOOST_AUTO_TEST_CASE(names_programs_in_memory_and_no_generated_code_there) {
  const std::string name = "/memfd:made (deleted)";
  const auto mapping_in_memory = [&](const sdk::Fd& memory, std::uint64_t start) {
    struct stat status {};
    BOOST_REQUIRE(::fstat(memory.get(), &status) == 0);
    return mapping_of_file({status.st_dev, status.st_ino}, name, start);
  };
  const sdk::Fd program = tests::ElfBuilder::memory_file(program_with_function("alpha")),
                generated = tests::ElfBuilder::memory_file(std::string(4096, '\x90'));
  std::vector<PinnedFile> files;
  std::vector<Mapping> mappings;
  for (const sdk::Fd* memory : {&program, &generated}) {
    const Mapping mapping = mapping_in_memory(*memory, (files.size() + 1) * kCode);
    files.push_back(make_pinned_file(mapping.file, "/proc/self/fd/" + std::to_string(memory->get()),
                                     files.size() + 1));
    mappings.push_back(mapping);
  }
  Recording recording;
  recording.stacks().set_pinned_files(files);
  recording.stacks().add_mappings(kProcess, boottime_ns(), mappings);
  recording.begin();
  take_record_at_function(recording, kCode, 7, 5);
  take_record_at_function(recording, 2 * kCode, 8, 1500);
  recording.stacks().finish();
  BOOST_TEST(recording.row_text(0).find("alpha") != std::string::npos);
  BOOST_TEST(recording.module(recording.frames(0).front()).path == "/memfd:made");
  BOOST_TEST((recording.module(recording.frames(1).front()).kind == Module::Kind::Anonymous));
  BOOST_TEST(recording.frames(1).front().offset == 2 * kCode + kFunction + 4);
}

// The kernel reports anonymous memory; the file is mapped before and after it.
BOOST_AUTO_TEST_CASE(names_code_that_was_copied_for_huge_pages) {
  RecordedProgram program(program_with_function("alpha"));
  Recording& recording = program.recording;
  ctprof_change change{};
  change.size = sizeof change;
  change.kind = CTPROF_CHANGE_MAPPED;
  change.tgid = kProcess;
  change.at_ns = boottime_ns();
  change.start = kCode + 0x2000;
  change.length = 0x4000;
  recording.stacks().add(change);
  take_record_at_function(recording, kCode, 7, 5);
  recording.stacks().finish();
  BOOST_TEST(recording.row_text(0).find("alpha") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(reports_programs_of_32_bits) {
  std::string image = tests::ElfBuilder().image();
  image[EI_CLASS] = ELFCLASS32;
  RecordedProgram program(image);
  Recording& recording = program.recording;
  take_record_at_function(recording, kCode, 7, 5);
  recording.stacks().finish();
  BOOST_TEST(notes_text(recording) == "cannot unwind or name 32-bit code: '" + program.path +
                                          "': only 64-bit programs are supported; their stacks end "
                                          "at the first frame\n");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::recorded_files_test
