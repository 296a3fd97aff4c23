// Tests opening files on overlay mounts through the paths in maps and through their layers.

#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "core/base/clock.hpp"
#include "core/capture/overlay_mount.hpp"
#include "core/capture/target_files.hpp"
#include "tests/unit/capture/own_files.hpp"
#include "tests/unit/capture/own_mounts.hpp"
#include "tests/unit/capture/target_process.hpp"
#include "tests/unit/support/files.hpp"

namespace ctprof::overlay_mount_test {
namespace {

using hand_made::id_of;
using own_mounts::needs_root;
using target_process::Child;
using target_process::kTimeout;
using target_process::MappedPath;
using target_process::proc;
using target_process::read_of;

// The layers of an overlay; the lower layer contains a text file.
class OverlayLayers {
 public:
  OverlayLayers() {
    std::filesystem::permissions(scratch_ / "", std::filesystem::perms{0755});
    own_mounts::make_layer_directories(scratch_);
    std::ofstream(scratch_ / "lower/file") << "text";
  }
  const TemporaryDirectory& scratch() const { return scratch_; }
  std::string path() const { return scratch_ / "lower/file"; }
  FileId file() const { return id_of(path()); }

 private:
  TemporaryDirectory scratch_;
};

void skip(const char* why) { BOOST_TEST_MESSAGE("skipped: " << why); }

BOOST_AUTO_TEST_SUITE(overlay_mount_test)

bool can_read_mapped_overlay_file(const TemporaryDirectory& scratch) {
  const std::string path = scratch / "merged/file";
  const MappedPath mapped(path);
  TargetFiles files(proc().get(), kTimeout);
  const auto self = static_cast<std::uint64_t>(::getpid());
  return read_of(files.open(self, {}, path, (*mapped).file)) == "text";
}

BOOST_AUTO_TEST_CASE(devices_in_maps_and_stat_may_differ, *needs_root()) {
  const OverlayLayers layers;
  const TemporaryDirectory& scratch = layers.scratch();
  own_mounts::expect_on_mount([&] { return own_mounts::mount_overlay(scratch); },
                              [&] { return can_read_mapped_overlay_file(scratch); });
}

// Finds the mapping of a process whose path ends with `path`.
Mapping find_mapping(std::uint64_t process, const std::string& path) {
  sdk::TextFile maps;
  const auto text = maps.read_records(proc().get(), (std::to_string(process) + "/maps").c_str());
  for (const Mapping& mapping : parse_code_mappings(text.value))
    if (mapping.path.ends_with(path)) return mapping;
  return {};
}

// The status of the layer's file, as the kernel has it.
KernelStatus status_of(const std::string& path) {
  struct stat status {};
  BOOST_REQUIRE(::stat(path.c_str(), &status) == 0);
  return {static_cast<std::uint64_t>(status.st_size),
          static_cast<std::uint64_t>(status.st_ctim.tv_sec) * kNsPerSecond +
              static_cast<std::uint64_t>(status.st_ctim.tv_nsec)};
}

std::string read_through_layer(std::uint64_t process, Mapping mapping, const FileId& stored,
                               const KernelStatus& status) {
  mapping.file = stored;
  return read_of(TargetFiles(proc().get(), kTimeout).open_by_kernel_id(process, mapping, status));
}

// Opens a file by device and inode of its layer, which maps lists only before Linux 6.8.
bool can_open_overlay_file_by_layer(const TemporaryDirectory& scratch) {
  const MappedPath mapped(scratch / "merged/file");
  const auto self = static_cast<std::uint64_t>(::getpid());
  const FileId layer = id_of(scratch / "lower/file");
  Mapping mapping = *mapped;
  mapping.file = layer;
  const KernelStatus status = status_of(scratch / "lower/file");
  TargetFiles files(proc().get(), kTimeout);
  const bool is_opened = read_of(files.open_by_kernel_id(self, mapping, status)) == "text";
  const bool is_listed = (*mapped).file == layer ? files.overlay_file().inode == 0
                                                 : files.overlay_file() == (*mapped).file &&
                                                       files.overlay_path() == (*mapped).path;
  return is_opened && is_listed &&
         read_through_layer(self, *mapped, {layer.device, 1}, status) == "none";
}

BOOST_AUTO_TEST_CASE(opens_overlay_files_through_their_layers, *needs_root()) {
  const OverlayLayers layers;
  const TemporaryDirectory& scratch = layers.scratch();
  own_mounts::expect_on_mount([&] { return own_mounts::mount_overlay(scratch); },
                              [&] { return can_open_overlay_file_by_layer(scratch); });
}

// A change of the owner or mode copies a file from its layer to the upper one, which may be on a
// file system that does not answer. The file keeps its inode number.
bool cannot_open_copied_file_by_layer(const TemporaryDirectory& scratch) {
  const std::string path = scratch / "merged/file";
  const MappedPath mapped(path);
  const auto self = static_cast<std::uint64_t>(::getpid());
  const FileId layer = id_of(scratch / "lower/file");
  const KernelStatus status = status_of(scratch / "lower/file");
  const bool is_opened = read_through_layer(self, *mapped, layer, status) == "text";
  std::filesystem::permissions(path, std::filesystem::perms{0600});
  return is_opened && id_of(path).inode == layer.inode &&
         std::filesystem::exists(scratch / "upper/file") &&
         read_through_layer(self, *mapped, layer, status) == "none";
}

BOOST_AUTO_TEST_CASE(does_not_open_files_that_were_copied_from_their_layer, *needs_root()) {
  const OverlayLayers layers;
  const TemporaryDirectory& scratch = layers.scratch();
  own_mounts::expect_on_mount([&] { return own_mounts::mount_overlay(scratch); },
                              [&] { return cannot_open_copied_file_by_layer(scratch); });
}

// A process with an overlay in new namespaces that maps a file of it, until this object is
// destroyed.
class OverlayUser {
 public:
  OverlayUser(const TemporaryDirectory& scratch, int namespaces)
      : child_([&scratch, namespaces] {
          const std::string layers = "lowerdir=" + (scratch / "lower") + ":" + (scratch / "upper");
          if (::unshare(namespaces) != 0 || !own_mounts::enter_private_mounts() ||
              ::mount("overlay", (scratch / "merged").c_str(), "overlay", 0, layers.c_str()) != 0)
            return false;
          const sdk::Fd fd(::open((scratch / "merged/file").c_str(), O_RDONLY | O_CLOEXEC));
          return fd && ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd.get(), 0) !=
                           MAP_FAILED;
        }),
        mapping_(find_mapping(child_.id(), "merged/file")) {}

  bool is_ready() const { return child_.is_ready(); }
  std::uint64_t id() const { return child_.id(); }
  const Mapping& mapping() const { return mapping_; }

 private:
  Child child_;
  Mapping mapping_;
};

// Any user can create a user namespace and mount an overlay over files of their own. A file server
// may return arbitrary contents for them.
BOOST_AUTO_TEST_CASE(ignores_overlays_of_other_user_namespaces, *needs_root()) {
  const OverlayLayers layers;
  const TemporaryDirectory& scratch = layers.scratch();
  const FileId layer = layers.file();
  const OverlayUser privileged(scratch, 0), other(scratch, CLONE_NEWUSER);
  if (!privileged.is_ready() || !other.is_ready()) return skip("no overlay can be mounted here");
  if (other.mapping().file == layer) return skip("this kernel lists files of layers in maps");
  const KernelStatus status = status_of(layers.path());
  BOOST_TEST(read_through_layer(privileged.id(), privileged.mapping(), layer, status) == "text");
  BOOST_TEST(read_through_layer(other.id(), other.mapping(), layer, status) == "none");
}

// A process can map such a file through a descriptor that another process passed to it.
BOOST_AUTO_TEST_CASE(ignores_overlays_outside_the_mount_namespace, *needs_root()) {
  const OverlayLayers layers;
  const TemporaryDirectory& scratch = layers.scratch();
  const FileId layer = layers.file();
  const OverlayUser user(scratch, 0);
  if (!user.is_ready()) return skip("no overlay can be mounted here");
  const MappedPath mapped("/proc/" + std::to_string(user.id()) + "/root" +
                          (scratch / "merged/file"));
  if ((*mapped).file == layer) return skip("this kernel lists files of layers in maps");
  const KernelStatus status = status_of(layers.path());
  const auto self = static_cast<std::uint64_t>(::getpid());
  BOOST_TEST(read_through_layer(user.id(), user.mapping(), layer, status) == "text");
  BOOST_TEST(read_through_layer(self, *mapped, layer, status) == "none");
}

BOOST_AUTO_TEST_CASE(finds_overlays_in_the_list_of_mounts) {
  const std::string mountinfo =
      "22 27 0:21 / /proc rw - proc overlay rw\n"
      "69 45 0:40 / /merged rw,relatime shared:1 master:2 - overlay overlay rw,lowerdir=/l\n"
      "6 45 0:41 / /fuse rw - fuse - overlay\n";
  BOOST_TEST(is_overlay(mountinfo, 69));
  for (const std::uint64_t other : {6, 22, 45, 9, 0}) BOOST_TEST(!is_overlay(mountinfo, other));
  BOOST_TEST(!is_overlay("69 45 0:40 / /merged rw", 69));
}

// An overlay of several file systems stores the number of the layer in the highest inode bits.
BOOST_AUTO_TEST_CASE(an_overlay_file_has_the_inode_of_its_layer) {
  constexpr std::uint64_t kLayerNumber = std::uint64_t{3} << 61;
  BOOST_TEST(can_be_layer_file(0x1234, {0, 0x1234}));
  BOOST_TEST(!can_be_layer_file(0x1234, {0, 0x1235}));
  BOOST_TEST(can_be_layer_file(kLayerNumber | 0x1234, {0, 0x1234}));
  BOOST_TEST(!can_be_layer_file(kLayerNumber | 0x1234, {0, 0x2234}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::overlay_mount_test
