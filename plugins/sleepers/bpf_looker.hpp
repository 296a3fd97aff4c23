// Looks at sleepers with the BPF program: kernel stacks and registers come out of the kernel, user
// stacks are copied while those are read.
//
// What is here:   loading the program, reading its records.
// What is not:    the records (look.h), copying (copier.hpp), what a host lacks (probe.cc).

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "ctprof/files.hpp"
#include "plugins/sleepers/copier.hpp"
#include "plugins/sleepers/look.h"
#include "plugins/sleepers/pass.hpp"

struct sleepers_recheck;
struct sleepers_skeleton;

namespace ctprof::sleepers {

// The loaded program; nothing of it stays in the kernel once it is gone.
class Program {
 public:
  // Null, and the errno in `error`, when the kernel refuses it.
  static std::unique_ptr<Program> load(int& error);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // Of these processes alone, as far as that many can be told apart in the kernel; none: all.
  void want(std::span<const std::uint64_t> pids);
  sdk::Fd begin(std::uint32_t round);

 private:
  explicit Program(sleepers_skeleton* skeleton) : skeleton_(skeleton) {}

  sleepers_skeleton* skeleton_;
};

// Tells who has run on since it was looked at, for what was copied of its stack then is of another
// moment; and where it sleeps now.
class Recheck {
 public:
  // Linux 6.2 brought what it takes. Without, nobody is told to have run on.
  Recheck();
  ~Recheck();
  Recheck(const Recheck&) = delete;
  Recheck& operator=(const Recheck&) = delete;

  // Calls moved(sleeper, look) for each of these that has: `look` is null where it does not sleep.
  template <class Moved>
  void find(const Pass& pass, std::span<const std::uint32_t> sleepers, Moved moved);

 private:
  sleepers_recheck* program_;  // null: there is none
};

class BpfLooker : public Looker {
 public:
  // `ns_per_tick`: of the kernel's clock, in which start times are told. The others:
  // see Copier.
  BpfLooker(std::unique_ptr<Program> program, std::uint64_t ns_per_tick, std::size_t most_copied,
            std::set<std::uint32_t> avoided);
  ~BpfLooker() override;

  void look(std::uint32_t round, Pass& pass) override;
  std::uint32_t reads_from() const override { return copier_.reads_from(); }

 private:
  void take_all(Pass& pass, std::size_t size);
  void take(Pass& pass, const ::look& record) const;
  void fill(Pass& pass, Sleeper& sleeper, const ::look& record) const;
  void copy_users(Pass& pass, std::size_t first);

  std::unique_ptr<Program> program_;
  std::uint64_t ns_per_tick_;
  Copier copier_;
  Recheck recheck_;
  std::vector<std::uint32_t> users_, moved_;  // sleepers of a pass
  std::vector<std::byte> buffer_;
  std::size_t kept_ = 0;  // of a record whose rest was not read yet
};

}  // namespace ctprof::sleepers
