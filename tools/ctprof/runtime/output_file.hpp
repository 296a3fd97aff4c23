// Files for other programs than ctprof that a verb writes as text: pictures, pages, stacks in other
// tools' formats.

#pragma once

#include <cstdint>

#include "core/base/json_writer.hpp"
#include "core/base/result.hpp"
#include "core/file/write/out_file.hpp"
#include "tools/ctprof/options/options.hpp"
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

// Calls write(sink), and gives the file its name. Returns its size.
template <class Write>
Result<std::uint64_t> write_to(const Target& target, const Options& options, const Write& write) {
  auto file = OutFile::create(target.destination, output_fd());
  if (!file) return file.error();
  FileSink sink(*file);
  if (auto written = write(sink); !written) return written.error();
  if (auto done = file->commit(options.sync); !done) return done.error();
  return file->bytes();
}

// Tells, unless --quiet, what was written, on the stream that the file itself does not use.
int tell_written(const Options& options, const Target& target, std::uint64_t bytes);

}  // namespace ctprof::cli
