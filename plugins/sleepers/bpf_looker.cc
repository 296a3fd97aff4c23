#include "plugins/sleepers/bpf_looker.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

#include "plugins/sleepers/recheck.h"
#include "plugins/sleepers/skeleton.h"

namespace ctprof::sleepers {
namespace {

// The kernel has room for 32 KiB, and runs the program again for a thread whose record finds none:
// so much less is asked for that each finds room. And copies are to be made soon after the look.
constexpr std::size_t kAsked = 8 * 1024;
// Looks and copies of one thread; who runs on each time has a user part in some other pass.
constexpr int kTries = 6;
// Nobody has threads for more.
constexpr std::size_t kMostRecords = 4 << 20;
// A thread pointer behind a stack that is larger is that of somebody else.
constexpr std::uint64_t kMostStack = 64 << 20;

[[noreturn]] void fail(const std::string& deed) {
  throw std::runtime_error(deed + ": " + std::strerror(errno));
}

// How far the stack goes, by where it may begin; 0: not known.
std::uint64_t depth_of(const ::look& record) {
  std::uint64_t depth = 0;
  for (const std::uint64_t begin : {record.thread_pointer, record.start_stack})
    if (begin > record.sp && begin - record.sp <= kMostStack &&
        (depth == 0 || begin - record.sp < depth))
      depth = begin - record.sp;
  return depth;
}

}  // namespace

std::unique_ptr<Program> Program::load(int& error) {
  sleepers_skeleton* skeleton = sleepers_skeleton_load(&error);
  return std::unique_ptr<Program>(skeleton ? new Program(skeleton) : nullptr);
}

Program::~Program() { sleepers_skeleton_unload(skeleton_); }

void Program::want(std::span<const std::uint64_t> pids) {
  std::array<unsigned int, LOOK_MOST_PIDS> wanted{};
  if (pids.size() > wanted.size()) return;
  std::ranges::transform(pids, wanted.begin(),
                         [](std::uint64_t pid) { return static_cast<unsigned int>(pid); });
  sleepers_skeleton_want(skeleton_, wanted.data(), static_cast<unsigned int>(pids.size()));
}

sdk::Fd Program::begin(std::uint32_t round) {
  sdk::Fd pass(sleepers_skeleton_begin(skeleton_, round));
  if (!pass) fail("starting a pass over the sleepers by BPF");
  return pass;
}

Recheck::Recheck() : program_(sleepers_recheck_load()) {}

Recheck::~Recheck() {
  if (program_) sleepers_recheck_unload(program_);
}

template <class Moved>
void Recheck::find(const Pass& pass, std::span<const std::uint32_t> sleepers, Moved moved) {
  if (!program_) return;
  rechecked* threads = sleepers_recheck_threads(program_);
  while (!sleepers.empty()) {
    const auto some = sleepers.first(std::min<std::size_t>(sleepers.size(), RECHECK_MOST));
    sleepers = sleepers.subspan(some.size());
    for (std::size_t i = 0; i < some.size(); ++i) {
      threads[i].tid = pass.fresh[some[i]].tid;
      threads[i].switches = pass.fresh[some[i]].switches;
      threads[i].start_boottime = pass.fresh[some[i]].start_ns;
    }
    if (sleepers_recheck_run(program_, static_cast<unsigned int>(some.size())) != 0) return;
    for (std::size_t i = 0; i < some.size(); ++i)
      if (threads[i].found != RECHECK_SAME)
        moved(some[i], threads[i].found == RECHECK_AGAIN ? &threads[i].look : nullptr);
  }
}

BpfLooker::BpfLooker(std::unique_ptr<Program> program, std::uint64_t ns_per_tick,
                     std::size_t most_copied, std::set<std::uint32_t> avoided)
    : program_(std::move(program)),
      ns_per_tick_(ns_per_tick),
      copier_(most_copied, std::move(avoided)),
      buffer_(kAsked + sizeof(::look)) {}

BpfLooker::~BpfLooker() = default;

void BpfLooker::look(std::uint32_t round, Pass& pass) {
  const sdk::Fd records = program_->begin(round);
  kept_ = 0;
  for (;;) {
    const ssize_t got = ::read(records.get(), buffer_.data() + kept_, kAsked);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got < 0) fail("reading the sleepers by BPF");
    if (got == 0) break;
    const std::size_t first = pass.fresh.size();
    take_all(pass, kept_ + static_cast<std::size_t>(got));
    copy_users(pass, first);
    if (pass.sleepers() > kMostRecords) break;
  }
  if (kept_ > 0) throw std::runtime_error("reading the sleepers by BPF: a record in pieces");
}

// Who runs on while it is copied is looked at and copied once more, as soon as it sleeps again, and
// at last has no user part.
void BpfLooker::copy_users(Pass& pass, std::size_t first) {
  users_.clear();
  for (std::size_t i = first; i < pass.fresh.size(); ++i)
    if (pass.fresh[i].user == UserPart::Copied) users_.push_back(static_cast<std::uint32_t>(i));
  for (int tries = kTries; !users_.empty(); --tries) {
    copier_.copy(pass, users_);
    moved_.clear();
    recheck_.find(pass, users_, [&](std::uint32_t i, const ::look* now) {
      Sleeper& sleeper = pass.fresh[i];
      if (now) fill(pass, sleeper, *now);
      if (tries == 1) sleeper.user = UserPart::Lacking;
      if (sleeper.user == UserPart::Copied) moved_.push_back(i);
    });
    std::swap(users_, moved_);
  }
}

// What is left of a record that was not read to its end goes to the front.
void BpfLooker::take_all(Pass& pass, std::size_t size) {
  std::size_t at = 0;
  ::look record;
  while (size - at >= sizeof record.head) {
    std::memcpy(&record.head, buffer_.data() + at, sizeof record.head);
    const std::size_t whole = record.head.size;
    if (whole < sizeof record.head || whole > sizeof record)
      throw std::runtime_error("reading the sleepers by BPF: a record of no size");
    if (whole > size - at) break;
    std::memcpy(&record, buffer_.data() + at, whole);
    take(pass, record);
    at += whole;
  }
  kept_ = size - at;
  std::memmove(buffer_.data(), buffer_.data() + at, kept_);
}

void BpfLooker::take(Pass& pass, const ::look& record) const {
  if (record.head.tid == record.head.tgid) pass.met.push_back(record.head.tgid);
  if (record.head.flags & LOOK_AWAKE) return;
  if (record.head.flags & LOOK_AGAIN) {
    pass.again.push_back(
        {record.head.tgid, record.head.tid, record.head.start_boottime / ns_per_tick_});
    return;
  }
  fill(pass, pass.fresh.emplace_back(), record);
}

void BpfLooker::fill(Pass& pass, Sleeper& sleeper, const ::look& record) const {
  sleeper = {};
  sleeper.tgid = record.head.tgid;
  sleeper.tid = record.head.tid;
  sleeper.start_ticks = record.head.start_boottime / ns_per_tick_;
  sleeper.start_ns = record.head.start_boottime;
  sleeper.switches = record.switches;
  sleeper.first_address = pass.addresses.size();
  sleeper.addresses = record.frames;
  pass.addresses.insert(pass.addresses.end(), record.kernel, record.kernel + record.frames);
  if (record.head.flags & LOOK_KERNEL) return;
  sleeper.user = record.head.flags & LOOK_32_BIT ? UserPart::Lacking : UserPart::Copied;
  sleeper.ip = record.ip;
  sleeper.sp = record.sp;
  sleeper.bp = record.bp;
  sleeper.lr = record.lr;
  sleeper.depth = depth_of(record);
  sleeper.code = {record.memory, record.code_pages, record.execs};
}

}  // namespace ctprof::sleepers
