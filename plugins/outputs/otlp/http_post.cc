#include "plugins/outputs/otlp/http_post.hpp"

namespace ctprof::otlp {
namespace {

constexpr const char* kProtocols = "http,https";
// "Expect:" suppresses a header for which servers may wait.
constexpr std::array kHeaders{"Content-Type: application/x-protobuf",
                              "Expect:", "User-Agent: ctprof"};

std::size_t discard(char*, std::size_t size, std::size_t count, void*) { return size * count; }

}  // namespace

std::string HttpPost::open(const Options& options) {
  endpoint_ = options.endpoint;
  if (!endpoint_.starts_with("http://") && !endpoint_.starts_with("https://"))
    return "endpoint '" + endpoint_ +
           "' is not the URL of a server: use --set otlp.endpoint=http://127.0.0.1:4318/v1/metrics";
  if (options.header.find_first_of("\r\n") != std::string::npos)
    return "header: it contains a line break";
  handle_.reset(::curl_easy_init());
  if (!handle_) return "libcurl cannot be initialized";
  for (const char* header : kHeaders)
    headers_.reset(::curl_slist_append(headers_.release(), header));
  if (!options.header.empty())
    headers_.reset(::curl_slist_append(headers_.release(), options.header.c_str()));
  set_options(options);
  return "";
}

void HttpPost::set_options(const Options& options) {
  CURL* const handle = handle_.get();
  ::curl_easy_setopt(handle, CURLOPT_URL, endpoint_.c_str());
  ::curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, kProtocols);
  ::curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers_.get());
  ::curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, options.timeout_ms);
  ::curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  ::curl_easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 0L);
  ::curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, &discard);
  ::curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, error_.data());
}

std::string HttpPost::send(const std::string& message) {
  CURL* const handle = handle_.get();
  ::curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(message.size()));
  ::curl_easy_setopt(handle, CURLOPT_POSTFIELDS, message.data());
  error_[0] = '\0';
  const CURLcode code = ::curl_easy_perform(handle);
  const std::string activity = "posting to '" + endpoint_ + "': ";
  if (code != CURLE_OK)
    return activity + (error_[0] != '\0' ? error_.data() : ::curl_easy_strerror(code));
  long status = 0;
  ::curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
  constexpr long kFirstSuccess = 200, kLastSuccess = 299;
  if (status >= kFirstSuccess && status <= kLastSuccess) return "";
  return activity + "the server answers with status " + std::to_string(status);
}

}  // namespace ctprof::otlp
