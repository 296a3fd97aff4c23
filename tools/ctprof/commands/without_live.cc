// The live command of a ctprof that was built without ncurses.

#include "tools/ctprof/commands/live_command.hpp"
#include "tools/ctprof/runtime/output.hpp"

namespace ctprof::cli {

int run_live(const LiveOptions&) {
  return fail(
      "this ctprof was built without ncurses, which live requires; install libncurses-dev and "
      "build it again, or use `ctprof record -d 10s`");
}

}  // namespace ctprof::cli
