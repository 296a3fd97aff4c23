// Tests how TextFile recognizes the end of a file, and how it reports a lack of descriptors.

#include "ctprof/files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <string>
#include <string_view>

namespace text_file_test {
namespace sdk = ctprof::sdk;
namespace {

// A file that returns one record per read(), like /proc/self/mountinfo: a pipe in packet mode.
class RecordFile {
 public:
  explicit RecordFile(std::initializer_list<std::string_view> records) {
    int ends[2] = {-1, -1};
    BOOST_REQUIRE(::pipe2(ends, O_DIRECT | O_CLOEXEC) == 0);
    read_end_.reset(ends[0]);
    const sdk::Fd write_end(ends[1]);
    for (const std::string_view record : records)
      BOOST_REQUIRE(::write(write_end.get(), record.data(), record.size()) ==
                    static_cast<ssize_t>(record.size()));
  }
  std::string path() const { return "/proc/self/fd/" + std::to_string(read_end_.get()); }

 private:
  sdk::Fd read_end_{-1};
};

}  // namespace

BOOST_AUTO_TEST_SUITE(text_file_test)

BOOST_AUTO_TEST_CASE(reads_records_after_a_short_read_that_ends_with_a_newline) {
  const RecordFile records{"one\n", "two\n", "three\n"};
  sdk::TextFile file;
  BOOST_TEST(file.read_records(AT_FDCWD, records.path().c_str()).value == "one\ntwo\nthree\n");
}

// This saves a read() for each file of each thread.
BOOST_AUTO_TEST_CASE(takes_a_short_read_for_the_end_of_a_file_made_in_one_piece) {
  const RecordFile records{"one\n", "two\n"};
  sdk::TextFile file;
  BOOST_TEST(file.read(AT_FDCWD, records.path().c_str()).value == "one\n");
}

BOOST_AUTO_TEST_CASE(reads_on_after_a_short_read_without_a_newline) {
  const RecordFile records{"one", " two\n"};
  sdk::TextFile file;
  BOOST_TEST(file.read(AT_FDCWD, records.path().c_str()).value == "one two\n");
}

BOOST_AUTO_TEST_CASE(reports_each_lack_of_descriptors_once) {
  const auto take = [] {
    const char* const shortage = sdk::take_shortage();
    return std::string(shortage ? shortage : "");
  };
  sdk::note_shortage(ENOENT);
  BOOST_TEST(take() == "");
  sdk::note_shortage(EMFILE);
  BOOST_TEST(take().find("ulimit -n") != std::string::npos);
  BOOST_TEST(take() == "");
  sdk::note_shortage(ENFILE);
  BOOST_TEST(take().find("fs.file-max") != std::string::npos);
  BOOST_TEST(take() == "");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace text_file_test
