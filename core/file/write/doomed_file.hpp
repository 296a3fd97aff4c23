// A temporary file: it is removed at the end of the object's life, and when a signal ends the
// program.
//
// While an object lives, every signal that would end the program, but can be caught, first removes
// the file, and then ends the program with the status that this signal gives. Signals that are
// ignored or handled already stay so. Crashes (SIGSEGV and its kin) are the program's to handle:
// its handler calls remove_doomed_files().
//
// Threads: any; a few at a time. Where there are more, the file is not guarded from signals.

#pragma once

#include <string>

namespace ctprof {

// Removes every such file that is there now. For handlers of signals that end the program: nothing
// in it is unsafe there.
void remove_doomed_files();

class DoomedFile {
 public:
  // `directory` stays open as long as the object lives. The name may be without a file yet.
  // REQUIRES: at most kLongestName bytes.
  DoomedFile(int directory, const std::string& name);
  DoomedFile(const DoomedFile&) = delete;
  DoomedFile& operator=(const DoomedFile&) = delete;
  ~DoomedFile();

  const std::string& name() const { return name_; }
  // The name is not ours, or not ours any more: nothing is removed.
  void release();

  static constexpr std::size_t kLongestName = 63;

 private:
  int directory_;
  std::string name_;  // empty: released
  int slot_;          // -1: not guarded
};

}  // namespace ctprof
