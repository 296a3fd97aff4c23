// Tests requests to a child process, answered and unanswered.

#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "core/base/child_process.hpp"
#include "core/base/child_setup.hpp"

namespace ctprof::child_process_test {
namespace {

using Outcome = ChildProcess::Outcome;

constexpr std::chrono::hours kAnswerTimeout(1);
constexpr std::chrono::milliseconds kShortTimeout(1);

// Runs in the child. Answers a request that consists of one word.
ChildMessage answer_to(ChildMessage request) {
  if (request.bytes == "process") return {std::to_string(::getpid())};
  if (request.bytes == "hang")
    for (;;) ::pause();
  if (request.bytes == "die") ::_exit(1);
  if (request.bytes == "throw") throw std::bad_alloc();
  if (request.bytes == "long") return {std::string(ChildProcess::kMaxBytes, 'x')};
  return request;
}

std::string ask_child(ChildProcess& child, const std::string& request) {
  ChildMessage answer;
  BOOST_TEST((child.send_request({request}, kAnswerTimeout, answer) == Outcome::Answered));
  return answer.bytes;
}

BOOST_AUTO_TEST_SUITE(child_process_test)

BOOST_AUTO_TEST_CASE(keeps_harmless_and_named_variables) {
  const char* const variables[] = {"PATH=/bin", "TOKEN=1",        "LC_ALL=C", "PATHS=2",
                                   "no_proxy=", "LANG=C.UTF-8=x", "LC=3",     nullptr};
  const std::vector<std::string> expected{"PATH=/bin", "LC_ALL=C", "no_proxy=", "LANG=C.UTF-8=x"};
  BOOST_TEST(keep_harmless_variables(variables, {"no_proxy", "OTHER"}) == expected,
             boost::test_tools::per_element());
  BOOST_TEST(keep_harmless_variables(nullptr, {"OTHER"}).empty());
}

BOOST_AUTO_TEST_CASE(one_child_answers_many_requests) {
  ChildProcess child(answer_to);
  BOOST_TEST(ask_child(child, "a") == "a");
  BOOST_TEST(ask_child(child, "") == "");
  const std::string number = ask_child(child, "process");
  BOOST_TEST(number != std::to_string(::getpid()));
  BOOST_TEST(ask_child(child, "process") == number);
  const std::string longest(ChildProcess::kMaxBytes - 1, 'x');
  BOOST_TEST(ask_child(child, longest) == longest);
}

BOOST_AUTO_TEST_CASE(passes_descriptors_in_both_directions) {
  ChildProcess child(answer_to);
  ChildMessage request{"file"}, answer;
  request.fd.reset(::open("/proc/self/comm", O_RDONLY | O_CLOEXEC));
  BOOST_REQUIRE((child.send_request(request, kAnswerTimeout, answer) == Outcome::Answered));
  char byte = 0;
  BOOST_TEST(::pread(answer.fd.get(), &byte, 1, 0) == 1);
  BOOST_TEST(answer.fd.get() != request.fd.get());
  BOOST_TEST((::fcntl(answer.fd.get(), F_GETFD) & FD_CLOEXEC) != 0);
}

BOOST_AUTO_TEST_CASE(replaces_a_child_that_does_not_answer) {
  ChildProcess child(answer_to);
  const std::string first = ask_child(child, "process");
  ChildMessage answer{"unchanged"};
  BOOST_TEST((child.send_request({"hang"}, kShortTimeout, answer) == Outcome::TimedOut));
  BOOST_TEST(answer.bytes == "unchanged");
  BOOST_TEST(ask_child(child, "process") != first);
}

BOOST_AUTO_TEST_CASE(a_readable_descriptor_interrupts_a_request) {
  int stop[2];
  BOOST_REQUIRE(::pipe2(stop, O_CLOEXEC) == 0);
  const sdk::Fd reader(stop[0]), writer(stop[1]);
  ChildProcess child(answer_to);
  ChildMessage answer;
  BOOST_REQUIRE(::write(writer.get(), "", 1) == 1);
  BOOST_TEST(
      (child.send_request({"hang"}, kAnswerTimeout, answer, reader.get()) == Outcome::Interrupted));
}

BOOST_AUTO_TEST_CASE(a_child_that_exits_fails_only_one_request) {
  for (const char* request : {"die", "throw", "long"}) {
    ChildProcess child(answer_to);
    ChildMessage answer;
    BOOST_TEST((child.send_request({request}, kAnswerTimeout, answer) == Outcome::Failed));
    BOOST_TEST(ask_child(child, "again") == "again");
  }
}

BOOST_AUTO_TEST_CASE(refuses_a_request_that_is_too_long) {
  ChildProcess child(answer_to);
  ChildMessage answer;
  const std::string request(ChildProcess::kMaxBytes, 'x');
  BOOST_TEST((child.send_request({request}, kAnswerTimeout, answer) == Outcome::Failed));
}

// If the child inherited the write end of a pipe, its reader would wait until the child exits.
BOOST_AUTO_TEST_CASE(the_child_has_only_the_descriptors_that_it_needs) {
  const sdk::Fd kept(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const sdk::Fd other(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const auto has = [](ChildMessage request) {
    return ChildMessage{::fcntl(std::stoi(request.bytes), F_GETFD) < 0 ? "closed" : "open"};
  };
  ChildProcess child(has, {kept.get()});
  BOOST_TEST(ask_child(child, std::to_string(kept.get())) == "open");
  BOOST_TEST(ask_child(child, std::to_string(other.get())) == "closed");
  BOOST_TEST(ask_child(child, "1") == "open");  // redirected to /dev/null
}

// The child must be reaped, because a continuous recording starts one for each window.
BOOST_AUTO_TEST_CASE(leaves_no_zombie) {
  int number = 0;
  {
    ChildProcess child(answer_to);
    number = std::stoi(ask_child(child, "process"));
  }
  BOOST_TEST((::kill(number, 0) != 0 && errno == ESRCH));
}

// A child that does not answer may not be killable, so it is reaped when the next one is abandoned.
BOOST_AUTO_TEST_CASE(leaves_no_zombie_of_a_child_that_did_not_answer) {
  ChildProcess child(answer_to);
  ChildMessage answer;
  const int first = std::stoi(ask_child(child, "process"));
  BOOST_TEST((child.send_request({"hang"}, kShortTimeout, answer) == Outcome::TimedOut));
  siginfo_t exited;
  ::waitid(P_PID, static_cast<id_t>(first), &exited, WEXITED | WNOWAIT);  // already reaped: ECHILD
  ask_child(child, "process");
  BOOST_TEST((child.send_request({"hang"}, kShortTimeout, answer) == Outcome::TimedOut));
  BOOST_TEST((::kill(first, 0) != 0 && errno == ESRCH));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace ctprof::child_process_test
