// The directory of a cgroup: opened by the path that a thread's cgroup file tells, then read file
// by file.
//
// It is opened once, and its files relative to it: cheaper, and what is read belongs to one cgroup
// even when another of the same name takes its place. Nothing is opened outside of the host's
// cgroup directory: no "..", no symbolic link.
//
// What is here:   opening, reading, and why there is nothing to read.
// What is not:    what the files say: that is the plugins'.

#pragma once

#include <string>
#include <string_view>

#include "ctprof/batch.hpp"
#include "ctprof/files.hpp"
#include "ctprof/host.hpp"

namespace ctprof::cgroupfs {

// One cgroup at a time. One object per worker.
class Directory {
 public:
  explicit Directory(const sdk::Host& host);

  // Makes the cgroup of this path the one that is read. A gap when it cannot be; None when it can.
  //
  // A path that ends in " (deleted)" is looked for as it stands: cgroups may be called that, and
  // one that has been removed has no place.
  Gap open(std::string_view path);

  // A file of the cgroup; the text lives until the next read. `controller` is the one that brings
  // the file, "" when all cgroups should have it.
  sdk::Reading<std::string_view> read(const char* file, std::string_view controller = {});

  // Why this cgroup has nothing of what a controller brings: NotApplicable for the root of the
  // hierarchy, SwitchedOff where the parent does not pass the controller on, Unsupported when it
  // does and the kernel lacks the figure.
  Gap why_without(std::string_view controller);

 private:
  struct Facts {
    Gap gap = Gap::None;  // why there are none
    bool is_root = false;
    bool is_threaded = false;
    std::string controllers;
  };

  Gap open_below(const char* path);
  const Facts& facts();
  Facts read_facts();
  Gap gone() const;
  Gap gap_of(int error) const;

  sdk::Host host_;
  std::string mount_root_;
  std::string branch_;
  bool branch_known_ = false;
  sdk::Fd dir_;
  bool facts_known_ = false;
  Facts facts_;
  sdk::TextFile file_;
  sdk::TextFile facts_file_;
};

// Whether a list of words with blanks between, such as cgroup.controllers, has this one.
bool has_word(std::string_view words, std::string_view word);

}  // namespace ctprof::cgroupfs
