// Writes text files for programs other than ctprof: flame graphs, HTML pages, and call stacks in
// the formats of other tools.

#pragma once

#include <cstdint>

#include "core/base/json_writer.hpp"
#include "core/base/result.hpp"
#include "core/file/write/out_file.hpp"
#include "tools/ctprof/options/common_options.hpp"
#include "tools/ctprof/options/output_options.hpp"
#include "tools/ctprof/runtime/output.hpp"
#include "tools/ctprof/runtime/privileges.hpp"

namespace ctprof::cli {

class FileSink final : public Sink {
 public:
  explicit FileSink(OutFile& file) : file_(&file) {}
  Result<void> write(std::string_view text) override { return file_->write(text); }

 private:
  OutFile* file_;
};

// Calls write(sink) and then gives the file its final name. Returns the file size in bytes.
template <class Write>
Result<std::uint64_t> write_to(const Target& target, const OutputOptions& options,
                               const Write& write) {
  CTPROF_TRY_VALUE(auto file, OutFile::create(target.destination, output_fd()));
  FileSink sink(file);
  CTPROF_TRY(write(sink));
  CTPROF_TRY(file.commit(options.sync));
  return file.bytes();
}

// Prints the name and size of the written file unless --quiet is set. Uses the stream that the file
// itself does not use.
int report_written_file(const CommonOptions& options, const Target& target, std::uint64_t bytes);

}  // namespace ctprof::cli
