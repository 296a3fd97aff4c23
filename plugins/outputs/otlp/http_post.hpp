// One HTTP request with a body of protobuf, by libcurl.
//
// Only http and https are used, redirections are not followed, and the answer is discarded. The
// connection stays open for the next request.

#pragma once

#include <curl/curl.h>

#include <array>
#include <memory>
#include <string>

namespace ctprof::otlp {

class HttpPost {
 public:
  struct Options {
    std::string endpoint;      // URL
    std::string header;        // an additional header, "Name: value"; empty: none
    long timeout_ms = 10'000;  // of a whole request
  };

  // Returns "" or why the options are invalid.
  std::string open(const Options& options);
  // Returns "" or why the server did not accept the message.
  std::string send(const std::string& message);

 private:
  void set_options(const Options& options);

  struct Close {
    void operator()(CURL* handle) const { ::curl_easy_cleanup(handle); }
    void operator()(curl_slist* list) const { ::curl_slist_free_all(list); }
  };
  std::string endpoint_;
  std::array<char, CURL_ERROR_SIZE> error_{};
  std::unique_ptr<curl_slist, Close> headers_;
  std::unique_ptr<CURL, Close> handle_;
};

}  // namespace ctprof::otlp
