// All sources of plugins/outputs/otlp except the plugin's table, which are compiled as one.

#include "plugins/outputs/otlp/http_post.cc"
#include "plugins/outputs/otlp/metrics_message.cc"
#include "plugins/outputs/otlp/totals.cc"
