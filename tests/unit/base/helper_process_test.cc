// A child process that answers requests, or does not.

#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <new>
#include <string>
#include <utility>

#include "core/base/helper_process.hpp"

namespace ctprof::helper_process_test {
namespace {

using Outcome = HelperProcess::Outcome;

constexpr std::chrono::hours kUntilAnswered(1);
constexpr std::chrono::milliseconds kShort(1);

// What the child does with a request that is one word.
HelperMessage answer_to(HelperMessage request) {
  if (request.bytes == "process") return {std::to_string(::getpid())};
  if (request.bytes == "hang")
    for (;;) ::pause();
  if (request.bytes == "die") ::_exit(1);
  if (request.bytes == "throw") throw std::bad_alloc();
  if (request.bytes == "long") return {std::string(HelperProcess::kMostBytes, 'x')};
  return request;
}

std::string said(HelperProcess& helper, const std::string& request) {
  HelperMessage answer;
  BOOST_TEST((helper.ask({request}, kUntilAnswered, answer) == Outcome::Answered));
  return answer.bytes;
}

BOOST_AUTO_TEST_SUITE(helper_process_test)

BOOST_AUTO_TEST_CASE(one_child_answers_many_requests) {
  HelperProcess helper(answer_to);
  BOOST_TEST(said(helper, "a") == "a");
  BOOST_TEST(said(helper, "") == "");
  const std::string child = said(helper, "process");
  BOOST_TEST(child != std::to_string(::getpid()));
  BOOST_TEST(said(helper, "process") == child);
  const std::string longest(HelperProcess::kMostBytes - 1, 'x');
  BOOST_TEST(said(helper, longest) == longest);
}

BOOST_AUTO_TEST_CASE(descriptors_go_both_ways) {
  HelperProcess helper(answer_to);
  HelperMessage request{"file"}, answer;
  request.fd.reset(::open("/proc/self/comm", O_RDONLY | O_CLOEXEC));
  BOOST_REQUIRE((helper.ask(request, kUntilAnswered, answer) == Outcome::Answered));
  char byte = 0;
  BOOST_TEST(::pread(answer.fd.get(), &byte, 1, 0) == 1);
  BOOST_TEST(answer.fd.get() != request.fd.get());
  BOOST_TEST((::fcntl(answer.fd.get(), F_GETFD) & FD_CLOEXEC) != 0);
}

BOOST_AUTO_TEST_CASE(a_child_that_does_not_answer_is_left_behind) {
  HelperProcess helper(answer_to);
  const std::string first = said(helper, "process");
  HelperMessage answer{"unchanged"};
  BOOST_TEST((helper.ask({"hang"}, kShort, answer) == Outcome::Late));
  BOOST_TEST(answer.bytes == "unchanged");
  BOOST_TEST(said(helper, "process") != first);
}

BOOST_AUTO_TEST_CASE(a_descriptor_that_is_readable_interrupts) {
  int stop[2];
  BOOST_REQUIRE(::pipe2(stop, O_CLOEXEC) == 0);
  const sdk::Fd reader(stop[0]), writer(stop[1]);
  HelperProcess helper(answer_to);
  HelperMessage answer;
  BOOST_REQUIRE(::write(writer.get(), "", 1) == 1);
  BOOST_TEST((helper.ask({"hang"}, kUntilAnswered, answer, reader.get()) == Outcome::Interrupted));
}

BOOST_AUTO_TEST_CASE(a_child_that_dies_fails_one_request) {
  for (const char* request : {"die", "throw", "long"}) {
    HelperProcess helper(answer_to);
    HelperMessage answer;
    BOOST_TEST((helper.ask({request}, kUntilAnswered, answer) == Outcome::Failed));
    BOOST_TEST(said(helper, "again") == "again");
  }
}

BOOST_AUTO_TEST_CASE(a_request_that_is_too_long_is_refused) {
  HelperProcess helper(answer_to);
  HelperMessage answer;
  const std::string request(HelperProcess::kMostBytes, 'x');
  BOOST_TEST((helper.ask({request}, kUntilAnswered, answer) == Outcome::Failed));
}

// A reader of a pipe of this process would wait for as long as the child lives.
BOOST_AUTO_TEST_CASE(the_child_has_only_the_descriptors_that_it_needs) {
  const sdk::Fd kept(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const sdk::Fd other(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const auto has = [](HelperMessage request) {
    return HelperMessage{::fcntl(std::stoi(request.bytes), F_GETFD) < 0 ? "closed" : "open"};
  };
  HelperProcess helper(has, {kept.get()});
  BOOST_TEST(said(helper, std::to_string(kept.get())) == "open");
  BOOST_TEST(said(helper, std::to_string(other.get())) == "closed");
  BOOST_TEST(said(helper, "1") == "open");  // of /dev/null
}

// The child is reaped: an always-on recording starts one for each window.
BOOST_AUTO_TEST_CASE(leaves_no_zombie) {
  int child = 0;
  {
    HelperProcess helper(answer_to);
    child = std::stoi(said(helper, "process"));
  }
  BOOST_TEST((::kill(child, 0) != 0 && errno == ESRCH));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::helper_process_test
