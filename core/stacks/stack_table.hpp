// Stacks, each kept once: modules, frames in them, and a tree of nodes whose way up is a stack.
//
//   node 7 = (parent 3, frame 12), node 3 = (parent 0, frame 5), node 0 = the top of all stacks
//
// reads "frame 12, called by frame 5, which was the thread's root". What is counted of a stack (ns,
// samples) stands elsewhere, beside the number of its node. Frames have names once somebody looked
// them up; one without a name is its module and its place there.
//
// A table has limits: a host where endless new stacks appear gets kNoStack for what comes too late.
//
// Threads: one at a time.

#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/seeded_hash.hpp"

namespace ctprof {

// What code belongs to.
struct Module {
  enum class Kind : std::uint8_t {
    Unknown,
    Kernel,     // offsets are addresses
    File,       // offsets are those in the file
    Vdso,       // offsets are from its beginning
    Anonymous,  // made by a process as it ran, and in no file; offsets are addresses
  };

  Kind kind = Kind::Unknown;
  std::string path;      // of a file, as the kernel writes it, without " (deleted)"
  std::string build_id;  // bytes; empty: it has none, or nobody could read it
  // Whose anonymous code it is. Of a file: 0, or a process that had mapped it, where neither the
  // path nor the build id distinguishes it from another one. Beyond the numbers of processes, a
  // number that distinguishes modules of several tables.
  std::uint64_t process = 0;
  std::uint64_t shift = 0;  // of a file: what leads from offsets to the addresses of its symbols
  auto operator<=>(const Module&) const = default;
};

// An instruction: the one that was running, or, of a caller, the last byte of its call. So a
// frame's function and line are those at its offset, and nothing has to be subtracted.
struct Frame {
  // The offset, in a module that nobody knows, of what has a weight and no stack.
  static constexpr std::uint64_t kNowhere = std::numeric_limits<std::uint64_t>::max();

  std::uint64_t offset = 0;
  std::uint32_t module = 0;
  bool is_guessed = false;  // found through code of which nothing is known, and maybe wrong
  // 0: the function that has the code; n: the n-th of those that were put into it there, one in
  // another (inlined).
  std::uint16_t inlined = 0;
  auto operator<=>(const Frame&) const = default;
};

// How a walk from a stack's leaf ended.
enum class Ending : std::uint8_t {
  Root,       // at the thread's first function
  Cut,        // at the end of the copy that was taken of the stack
  Deep,       // at the most frames that were wanted
  Lost,       // where nothing tells how to go on, or what it tells cannot be
  Elsewhere,  // where it goes on on another stack, of which there is no copy
};

// What was inlined in the frames of a table.
struct InlinedFunctions {
  std::vector<std::string> names;
  std::vector<std::vector<std::uint32_t>> chains;  // [frame]: of names, outermost first
};

class StackTable {
 public:
  static constexpr std::uint32_t kTop = 0;  // the node above all
  static constexpr std::uint32_t kNoStack = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::uint32_t kTruncated = 0;  // frame above a stack that did not reach its root

  struct Node {
    std::uint32_t parent = kTop;
    std::uint32_t frame = kTruncated;
  };

  StackTable();

  // The numbers of these; the same for the same.
  std::uint32_t add_module(const Module& module);
  // The node of a stack, leaf first; `frames` name modules of this table. kNoStack, once there are
  // too many.
  std::uint32_t add_stack(std::span<const Frame> frames, Ending ending);
  // A stack's parts one by one, for whoever reads a table back: the number of a frame or a node,
  // the same for the same. kNoStack, once there are too many. REQUIRES: this table has what they
  // name.
  std::uint32_t add_frame(const Frame& frame);
  std::uint32_t add_node(const Node& node) { return add_node(node.parent, node.frame); }
  // Takes in all that another table has. Its node n is [n] of what is returned, or kNoStack.
  std::vector<std::uint32_t> absorb(const StackTable& other);
  // The same, where frames in which functions were inlined become several, one calling the next.
  std::vector<std::uint32_t> absorb(const StackTable& other, const InlinedFunctions& inlined);

  // Empty: nobody has told a name.
  const std::string& name(std::uint32_t frame) const { return names_[name_of_[frame]]; }
  void set_name(std::uint32_t frame, std::string_view name);

  const std::vector<Module>& modules() const { return modules_; }
  const std::vector<Frame>& frames() const { return frames_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  // The frames of a node's stack, leaf first.
  std::vector<std::uint32_t> stack(std::uint32_t node) const;

 private:
  struct FrameHash {
    std::size_t operator()(const Frame& frame) const {
      return SeededHash()(frame.offset ^ SeededHash()(std::uint64_t{frame.module} << 32 |
                                                      std::uint64_t{frame.inlined} << 1 |
                                                      std::uint64_t{frame.is_guessed}));
    }
  };

  std::uint32_t add_named(const Frame& frame, const std::string& name);
  std::vector<std::uint32_t> take_modules(const StackTable& other);
  const std::string* find_other_name(const StackTable& other,
                                     const std::vector<std::uint32_t>& frames,
                                     std::uint32_t module) const;
  std::uint32_t add_node(std::uint32_t parent, std::uint32_t frame);
  void take_name(std::uint32_t frame, const std::string& name);

  std::vector<Module> modules_;
  std::vector<Frame> frames_;
  std::vector<Node> nodes_;
  std::vector<std::string> names_;
  std::vector<std::uint32_t> name_of_;  // by frame
  std::unordered_map<std::string, std::uint32_t, SeededHash> module_numbers_;
  std::unordered_map<Frame, std::uint32_t, FrameHash> frame_numbers_;
  std::unordered_map<std::uint64_t, std::uint32_t, SeededHash> node_numbers_;
  std::unordered_map<std::string, std::uint32_t, SeededHash> name_numbers_;
};

}  // namespace ctprof
