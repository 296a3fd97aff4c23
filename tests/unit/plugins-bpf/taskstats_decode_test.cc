// Tests answers of the kernel as bytes: recorded answers of versions 10 to 17, a constructed answer
// of version 15, and invalid ones.

#include <boost/test/unit_test.hpp>

#include <array>
#include <cerrno>
#include <cstring>

#include "plugins/taskstats/decode.hpp"
#include "tests/unit/plugins-bpf/taskstats_text.hpp"

namespace taskstats_decode_test {
using namespace ctprof::taskstats;
using ctprof::Gap;

namespace {

// The kernel's names, in the order of Field.
constexpr std::array<const char*, kFields> kNames{"cpu_count",
                                                  "cpu_delay_total",
                                                  "cpu_delay_max",
                                                  "cpu_delay_min",
                                                  "blkio_count",
                                                  "blkio_delay_total",
                                                  "blkio_delay_max",
                                                  "blkio_delay_min",
                                                  "swapin_count",
                                                  "swapin_delay_total",
                                                  "swapin_delay_max",
                                                  "swapin_delay_min",
                                                  "freepages_count",
                                                  "freepages_delay_total",
                                                  "freepages_delay_max",
                                                  "freepages_delay_min",
                                                  "thrashing_count",
                                                  "thrashing_delay_total",
                                                  "thrashing_delay_max",
                                                  "thrashing_delay_min",
                                                  "compact_count",
                                                  "compact_delay_total",
                                                  "compact_delay_max",
                                                  "compact_delay_min",
                                                  "wpcopy_count",
                                                  "wpcopy_delay_total",
                                                  "wpcopy_delay_max",
                                                  "wpcopy_delay_min",
                                                  "irq_count",
                                                  "irq_delay_total",
                                                  "irq_delay_max",
                                                  "irq_delay_min",
                                                  "hiwater_rss",
                                                  "hiwater_vm",
                                                  "cpu_run_virtual_total",
                                                  "cpu_delay_total",
                                                  "cpu_count",
                                                  "nvcsw",
                                                  "nivcsw",
                                                  "ac_minflt",
                                                  "ac_majflt",
                                                  "read_char",
                                                  "write_char",
                                                  "read_bytes",
                                                  "write_bytes",
                                                  "cancelled_write_bytes"};

// Returns the netlink family that the message contains.
std::uint16_t family_of(const std::vector<std::byte>& message) {
  std::uint16_t family;
  std::memcpy(&family, message.data() + 4, sizeof family);
  return family;
}

Answer parse(const std::vector<std::byte>& message) {
  return parse_answer(message, family_of(message));
}

Layout layout_of(const Answer& answer) { return {version_of(answer.stats), answer.stats.size()}; }

void check_fields(const TaskstatsText& text, const Answer& answer) {
  const Layout layout = layout_of(answer);
  for (std::size_t i = 0; i < kFields; ++i) BOOST_TEST_CONTEXT(kNames[i]) {
      const auto reading = read_field(answer.stats, layout, static_cast<Field>(i));
      const auto expected = text.fields.find(kNames[i]);
      BOOST_TEST(static_cast<bool>(reading) == (expected != text.fields.end()));
      if (reading && expected != text.fields.end()) BOOST_TEST(reading.value == expected->second);
      if (!reading) BOOST_TEST((reading.gap == Gap::Unsupported));
    }
}

template <class T>
void overwrite(std::vector<std::byte>& message, std::size_t at, T value) {
  std::memcpy(message.data() + at, &value, sizeof value);
}

// 16 bytes of netlink, 4 of generic netlink, two outer attributes, one before the struct.
constexpr std::size_t kStructAt = 36;

}  // namespace

BOOST_AUTO_TEST_SUITE(taskstats_decode_test)

BOOST_AUTO_TEST_CASE(parses_recorded_answers) {
  for (const char* version : {"10", "13", "14", "16", "17"})
    BOOST_TEST_CONTEXT("version " << version) {
      const TaskstatsText text = read_taskstats_text(version);
      const Answer answer = parse(text.message);
      BOOST_TEST(answer.error == 0);
      BOOST_TEST(answer.tid == text.fields.at("ac_pid"));
      BOOST_TEST(std::to_string(version_of(answer.stats)) == version);
      check_fields(text, answer);
    }
}

BOOST_AUTO_TEST_CASE(recorded_answers_have_the_length_of_their_version) {
  const std::map<std::string, std::size_t> lengths{
      {"10", 352}, {"13", 416}, {"14", 432}, {"16", 560}, {"17", 688}};
  for (const auto& [version, length] : lengths)
    BOOST_TEST(parse(read_taskstats_text(version).message).stats.size() == length);
}

// All fields contain different numbers.
BOOST_AUTO_TEST_CASE(distinguishes_versions_15_and_16) {
  for (const char* name : {"15-constructed", "16-constructed"}) BOOST_TEST_CONTEXT(name) {
      const TaskstatsText text = read_taskstats_text(name);
      const Answer answer = parse(text.message);
      BOOST_TEST(answer.tid == 4711u);
      BOOST_TEST(answer.sequence == 7u);
      BOOST_TEST(answer.stats.size() == 560u);
      BOOST_TEST(text.fields.size() > 60u);
      check_fields(text, answer);
    }
}

// Returns the message for the last thread of a process: struct of the thread, then struct of the
// process.
std::vector<std::byte> exit_message(const std::vector<std::byte>& answer, std::uint32_t tgid) {
  std::vector<std::byte> message = answer;
  message.insert(message.end(), answer.begin() + 20, answer.end());
  overwrite<std::uint32_t>(message, 0, static_cast<std::uint32_t>(message.size()));
  overwrite<std::uint16_t>(message, answer.size() + 2, 5);  // TASKSTATS_TYPE_AGGR_TGID
  overwrite<std::uint16_t>(message, answer.size() + 6, 2);  // TASKSTATS_TYPE_TGID
  overwrite<std::uint32_t>(message, answer.size() + 8, tgid);
  return message;
}

BOOST_AUTO_TEST_CASE(parses_the_exit_of_the_last_thread_of_a_process) {
  const TaskstatsText text = read_taskstats_text("16");
  const auto message = exit_message(text.message, 4242);
  const Exit exit = parse_exit(message, family_of(message));
  BOOST_TEST(exit.tid == text.fields.at("ac_pid"));
  BOOST_TEST(exit.tgid == 4242u);
  check_fields(text, {.stats = exit.stats});
  BOOST_TEST(parse_exit(text.message, family_of(message)).tid == exit.tid);
  BOOST_TEST(parse_exit(text.message, family_of(message)).tgid == 0u);  // not the last thread
}

BOOST_AUTO_TEST_CASE(rejects_messages_that_are_not_exits) {
  const auto message = exit_message(read_taskstats_text("16").message, 4242);
  BOOST_TEST(parse_exit(message, 1).tid == 0u);
  for (std::size_t size = 0; size < message.size(); ++size)
    BOOST_TEST(parse_exit(Bytes(message).first(size), family_of(message)).tid == 0u);
}

BOOST_AUTO_TEST_CASE(reads_the_thread_identity_of_a_struct) {
  for (const char* name : {"10", "13", "14", "16", "17"}) BOOST_TEST_CONTEXT(name) {
      const TaskstatsText text = read_taskstats_text(name);
      const auto thread_identity = parse_identity(parse(text.message).stats);
      BOOST_REQUIRE(thread_identity);
      BOOST_TEST(thread_identity->age_us == text.fields.at("ac_etime"));
      BOOST_TEST(!thread_identity->comm.empty());
      const auto tgid = text.fields.find("ac_tgid");
      BOOST_TEST(thread_identity->tgid == (tgid == text.fields.end() ? 0u : tgid->second));
    }
  for (const char* name : {"15-constructed", "16-constructed"}) BOOST_TEST_CONTEXT(name) {
      const TaskstatsText text = read_taskstats_text(name);
      const auto thread_identity = parse_identity(parse(text.message).stats);
      BOOST_REQUIRE(thread_identity);
      BOOST_TEST(thread_identity->age_us == text.fields.at("ac_etime"));
      BOOST_TEST(thread_identity->tgid == text.fields.at("ac_tgid"));
    }
  BOOST_TEST(!parse_identity(parse(read_taskstats_text("10").message).stats.first(151)));
}

// Version 13 added fields at the end of version 12, which added the process id.
BOOST_AUTO_TEST_CASE(the_process_id_is_part_of_version_12) {
  TaskstatsText text = read_taskstats_text("13");
  constexpr std::size_t kBytesOfVersion12 = 400;
  const auto tgid_in_version = [&](std::uint16_t version) {
    overwrite(text.message, kStructAt, version);
    const auto identity = parse_identity(parse(text.message).stats.first(kBytesOfVersion12));
    BOOST_REQUIRE(identity);
    return identity->tgid;
  };
  BOOST_TEST(tgid_in_version(12) == text.fields.at("ac_tgid"));
  BOOST_TEST(tgid_in_version(11) == 0u);
}

BOOST_AUTO_TEST_CASE(an_acknowledgement_matches_one_request) {
  std::vector<std::byte> message(36);
  overwrite<std::uint32_t>(message, 0, 36);
  overwrite<std::uint16_t>(message, 4, 2);  // NLMSG_ERROR
  overwrite<std::uint32_t>(message, 8, 7);
  BOOST_TEST(parse_acknowledgement(message, 7).value() == 0);
  overwrite<int>(message, 16, -EINVAL);
  BOOST_TEST(parse_acknowledgement(message, 7).value() == EINVAL);
  BOOST_TEST(!parse_acknowledgement(message, 8));
  BOOST_TEST(!parse_acknowledgement(Bytes(message).first(19), 7));
  overwrite<std::uint16_t>(message, 4, 31);
  BOOST_TEST(!parse_acknowledgement(message, 7));
}

BOOST_AUTO_TEST_CASE(reads_a_newer_version_like_version_17) {
  TaskstatsText text = read_taskstats_text("17");
  overwrite<std::uint16_t>(text.message, kStructAt, 99);
  check_fields(text, parse(text.message));
}

BOOST_AUTO_TEST_CASE(version_and_length_both_limit_the_fields) {
  const Layout cut(16, 440);
  BOOST_TEST(cut.offset(Field::CpuMax) == 432u);
  BOOST_TEST(cut.offset(Field::CpuMin) == Layout::kAbsent);
  const Layout too_old(12, 560);
  BOOST_TEST(too_old.offset(Field::CompactTotal) == 360u);
  BOOST_TEST(too_old.offset(Field::WpcopyCount) == Layout::kAbsent);
  BOOST_TEST(Layout(10, 352).offset(Field::CompactCount) == Layout::kAbsent);
  BOOST_TEST(Layout(0, 2).offset(Field::CpuCount) == Layout::kAbsent);
  BOOST_TEST(Layout(16, 16).offset(Field::CpuCount) == Layout::kAbsent);
  BOOST_TEST((find_first_version(Field::WpcopyTotal) == 13 &&
              find_first_version(Field::IrqCount) == 14 &&
              find_first_version(Field::BlkioMax) == 15));
}

BOOST_AUTO_TEST_CASE(returns_errors_of_the_kernel) {
  std::vector<std::byte> message(36);
  overwrite<std::uint32_t>(message, 0, 36);
  overwrite<std::uint16_t>(message, 4, 2);  // NLMSG_ERROR
  overwrite<std::uint32_t>(message, 8, 7);
  const auto with = [&](int error) {
    overwrite<int>(message, 16, error);
    return parse_answer(message, 31);
  };
  BOOST_TEST(with(-ESRCH).error == ESRCH);
  BOOST_TEST(with(-EPERM).error == EPERM);
  BOOST_TEST(with(-EPERM).sequence == 7u);
  BOOST_TEST(with(0).error == EBADMSG);  // an unrequested acknowledgement
  BOOST_TEST(with(3).error == EBADMSG);
  BOOST_TEST(with(INT32_MIN).error == EBADMSG);
  overwrite<std::uint32_t>(message, 0, 18);
  BOOST_TEST(with(-EPERM).error == EBADMSG);
}

BOOST_AUTO_TEST_CASE(detects_truncated_structs_by_their_length) {
  const std::vector<std::byte> whole = read_taskstats_text("16").message;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const Answer answer = parse_answer(Bytes(whole).first(size), family_of(whole));
    BOOST_TEST(answer.error == (size < 16 ? EBADMSG : EMSGSIZE));
    BOOST_TEST(answer.stats.empty());
  }
}

BOOST_AUTO_TEST_CASE(rejects_invalid_answers) {
  const std::vector<std::byte> good = read_taskstats_text("16").message;
  const auto error_with = [&](std::size_t at, std::uint16_t value) {
    auto message = good;
    overwrite(message, at, value);
    return parse_answer(message, family_of(good)).error;
  };
  BOOST_TEST(parse_answer(good, 1).error == EBADMSG);  // of another family
  BOOST_TEST(error_with(0, 15) == EBADMSG);            // shorter than its header
  BOOST_TEST(error_with(0, 19) == EBADMSG);            // without attributes
  BOOST_TEST(error_with(20, 3) == EBADMSG);            // an attribute shorter than its header
  BOOST_TEST(error_with(20, 9999) == EBADMSG);         // an attribute longer than the message
  BOOST_TEST(error_with(22, 5) == EBADMSG);            // of a process instead of a thread
  BOOST_TEST(error_with(24, 6) == EBADMSG);            // thread id of two bytes
  BOOST_TEST(error_with(32, 5) == EBADMSG);            // a struct of one byte
  BOOST_TEST(error_with(kStructAt, 0) == EBADMSG);     // without a version
}

// To align 64-bit values, the kernel inserts an attribute of type 6 before the struct.
BOOST_AUTO_TEST_CASE(skips_padding_attributes) {
  const TaskstatsText text = read_taskstats_text("16");
  auto message = text.message;
  const std::array<std::byte, 4> filling{std::byte{4}, std::byte{0}, std::byte{6}, std::byte{0}};
  message.insert(message.begin() + 32, filling.begin(), filling.end());
  overwrite<std::uint32_t>(message, 0, static_cast<std::uint32_t>(message.size()));
  overwrite<std::uint16_t>(message, 20, static_cast<std::uint16_t>(message.size() - 20));
  check_fields(text, parse(message));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace taskstats_decode_test
