// Decompresses gzip files of tests.

#pragma once

#include <boost/test/unit_test.hpp>

#include <zlib.h>

#include <string>

namespace ctprof::tests {

// REQUIRES: the decompressed text has at most 64 KiB.
inline std::string decompress_gzip(const std::string& file) {
  constexpr int kGzip = 16 + MAX_WBITS;
  std::string text(1 << 16, '\0');
  z_stream stream{};
  BOOST_REQUIRE(inflateInit2(&stream, kGzip) == Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(file.data()));
  stream.avail_in = static_cast<uInt>(file.size());
  stream.next_out = reinterpret_cast<Bytef*>(text.data());
  stream.avail_out = static_cast<uInt>(text.size());
  BOOST_REQUIRE(inflate(&stream, Z_FINISH) == Z_STREAM_END);
  text.resize(stream.total_out);
  inflateEnd(&stream);
  return text;
}

}  // namespace ctprof::tests
