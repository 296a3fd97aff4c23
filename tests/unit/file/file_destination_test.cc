// Tests which existing pipes, devices and links are accepted as destination of a file.

#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/file/file.hpp"
#include "core/file/write/destination.hpp"
#include "tests/unit/support/files.hpp"
#include "tests/unit/support/idle_host.hpp"

namespace ctprof::tests::file_destination_test {
namespace {

Snapshot small_host() {
  HostShape shape;
  shape.threads = 1;
  return IdleHost(shape).make();
}

boost::unit_test::precondition needs_root() {
  return boost::unit_test::precondition([](auto) { return ::geteuid() == 0; });
}

// Returns the error for a path; empty: it is accepted.
std::string refusal_of(const std::string& path) {
  const auto place = Destination::resolve(path);
  return place ? "" : place.error().text;
}

BOOST_AUTO_TEST_SUITE(file_destination_test)

// The user who created the pipe could read everything that is written.
BOOST_AUTO_TEST_CASE(refuses_pipes_of_others, *needs_root()) {
  const TemporaryDirectory directory;
  const std::string pipe = directory / "pipe";
  BOOST_REQUIRE(::mkfifo(pipe.c_str(), 0666) == 0);
  const std::string link = directory / "link";
  std::filesystem::create_symlink("pipe", link);
  for (const uid_t owner_of_directory : {0u, 65534u})
    for (const mode_t mode : {0755u, 0775u, 0777u, 01777u}) {
      BOOST_REQUIRE(::chown(directory.path().c_str(), owner_of_directory, 0) == 0);
      BOOST_REQUIRE(::chmod(directory.path().c_str(), mode) == 0);
      BOOST_REQUIRE(::chown(pipe.c_str(), 65534, 65534) == 0);
      for (const std::string& path : {pipe, link})
        BOOST_TEST(refusal_of(path).find("it is a pipe of user 65534; ") != std::string::npos);
      BOOST_REQUIRE(::chown(pipe.c_str(), 0, 0) == 0);
      BOOST_TEST(refusal_of(pipe) == "");
    }
}

// The user could change the link, or read what is written to the file that it leads to.
BOOST_AUTO_TEST_CASE(refuses_links_of_others, *needs_root()) {
  const TemporaryDirectory directory;
  std::ofstream(directory / "file") << "old";
  const std::string link = directory / "link", second = directory / "second";
  std::filesystem::create_symlink("link", second);
  for (const char* target : {"/dev/null", "file", "/dev/stderr"}) {
    std::filesystem::remove(link);
    std::filesystem::create_symlink(target, link);
    BOOST_TEST(refusal_of(link) == "");
    BOOST_TEST(refusal_of(second) == "");
    BOOST_REQUIRE(::lchown(link.c_str(), 65534, 65534) == 0);
    const std::string reason =
        "it is a symbolic link of user 65534; name the file that it leads to";
    BOOST_TEST(refusal_of(link) == "writing '" + link + "': " + reason);
    BOOST_TEST(refusal_of(second) == "writing '" + second + "': " + reason);
  }
}

// A terminal whose owner is another user, and that is not the one of this process.
BOOST_AUTO_TEST_CASE(refuses_terminals_of_others, *needs_root()) {
  const sdk::Fd terminal(::posix_openpt(O_RDWR | O_NOCTTY));
  BOOST_REQUIRE(terminal);
  std::array<char, 64> name{};
  BOOST_REQUIRE(::ptsname_r(terminal.get(), name.data(), name.size()) == 0);
  BOOST_REQUIRE(::grantpt(terminal.get()) == 0 && ::unlockpt(terminal.get()) == 0);
  BOOST_TEST(refusal_of(name.data()) == "");
  BOOST_REQUIRE(::chown(name.data(), 65534, 65534) == 0);
  BOOST_TEST(refusal_of(name.data()).find("it is a device of user 65534; ") != std::string::npos);
}

// For example pipes of process substitution, which belong to the first user after su.
BOOST_AUTO_TEST_CASE(writes_to_inherited_descriptors) {
  std::array<int, 2> ends{};
  BOOST_REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
  const sdk::Fd reader(ends[0]), writer(ends[1]);
  if (::geteuid() == 0) BOOST_REQUIRE(::fchown(writer.get(), 65534, 65534) == 0);
  for (const std::string directory : {"/dev/fd/", "/proc/self/fd/"}) {
    const auto place = check_output(directory + std::to_string(writer.get()));
    BOOST_REQUIRE(place.has_value());
    BOOST_TEST((place->kind() == Destination::Kind::Stream));
    BOOST_REQUIRE(write_file(small_host(), shipped_vocabulary(), *place).has_value());
    std::array<char, 65536> bytes{};
    BOOST_REQUIRE(::read(reader.get(), bytes.data(), bytes.size()) > 4);
    BOOST_TEST(std::string(bytes.data(), 4) == "\x28\xb5\x2f\xfd");
  }
}

// ctprof writes to the pipe that it checked, even if its name refers to another file later.
BOOST_AUTO_TEST_CASE(writes_to_the_pipe_that_was_checked) {
  const TemporaryDirectory directory;
  const std::string pipe = directory / "pipe", victim = directory / "victim";
  BOOST_REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const sdk::Fd reader(::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  const auto place = check_output(pipe);
  BOOST_REQUIRE(place.has_value());
  std::filesystem::remove(pipe);
  std::ofstream(victim) << "precious";
  std::filesystem::create_symlink("victim", pipe);
  BOOST_REQUIRE(write_file(small_host(), shipped_vocabulary(), *place).has_value());
  BOOST_TEST(file_text(victim) == "precious");
  char byte = 0;
  BOOST_TEST(::read(reader.get(), &byte, 1) == 1);
}

BOOST_AUTO_TEST_CASE(only_regular_files_are_written_in_a_directory) {
  const TemporaryDirectory directory;
  const sdk::Fd opened(::open(directory.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  std::ofstream(directory / "file") << "old";
  std::filesystem::create_symlink("file", directory / "link");
  BOOST_REQUIRE(::mkfifo((directory / "pipe").c_str(), 0600) == 0);
  const auto is_accepted = [&](const std::string& name) {
    return check_output_in(opened.get(), name, "runs/" + name).has_value();
  };
  BOOST_TEST(is_accepted("file"));
  BOOST_TEST(is_accepted("new"));
  BOOST_TEST(!is_accepted("link"));
  BOOST_TEST(!is_accepted("pipe"));
  BOOST_TEST(check_output_in(opened.get(), "pipe", "runs/pipe").error().text ==
             "writing 'runs/pipe': it is not a regular file; remove it, or name a new directory");
  const auto place = check_output_in(opened.get(), "new", "runs/new");
  const std::string moved = directory.path() + ".moved";
  std::filesystem::rename(directory.path(), moved);
  BOOST_TEST(write_file(small_host(), shipped_vocabulary(), *place).has_value());
  BOOST_TEST(std::filesystem::exists(moved + "/new"));
  std::filesystem::rename(moved, directory.path());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::tests::file_destination_test
