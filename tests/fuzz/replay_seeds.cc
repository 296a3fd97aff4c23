// Runs each fuzz target once on each of its seeds, so that an ordinary build with sanitizers checks
// every input that fuzzing once found.
//
//   replay_seeds DIRECTORY      DIRECTORY contains a directory of seeds for each target
//
// Prints the name of each target and its number of seeds. A target aborts when it finds a fault.
// Exits with 1 if a directory belongs to no target, or no seed was found.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/fuzz/replay_table.hpp"

// libFuzzer provides this function to targets that change inputs themselves; a replay changes none.
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t*, std::size_t size, std::size_t) {
  return size;
}

namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<fs::path> list(const fs::path& directory) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(directory)) paths.push_back(entry.path());
  std::ranges::sort(paths);
  return paths;
}

// Every target also runs on no bytes at all, as libFuzzer does first.
void replay(const Target& target, const std::vector<fs::path>& seeds) {
  std::printf("%s: %zu seeds\n", target.name, seeds.size());
  target.run(nullptr, 0);
  for (const fs::path& seed : seeds) {
    std::printf("  %s\n", seed.filename().c_str());
    std::fflush(stdout);  // names the seed of a crash
    const std::string bytes = read(seed);
    target.run(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  }
}

bool belongs_to_target(const fs::path& directory) {
  return std::ranges::any_of(
      kTargets, [&](const Target& target) { return directory.filename() == target.name; });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return EXIT_FAILURE;
  const fs::path seeds = argv[1];
  std::size_t replayed = 0;
  for (const Target& target : kTargets) {
    const auto found =
        fs::is_directory(seeds / target.name) ? list(seeds / target.name) : std::vector<fs::path>();
    replay(target, found);
    replayed += found.size();
  }
  for (const fs::path& directory : list(seeds))
    if (!belongs_to_target(directory)) {
      std::printf("%s: no target has this name\n", directory.c_str());
      return EXIT_FAILURE;
    }
  return replayed == 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
