// A window as an ExportMetricsServiceRequest of OTLP.
//
// Field numbers are those of opentelemetry-proto 1.x, collector/metrics/v1/metrics_service.proto
// and metrics/v1/metrics.proto; they never change.

#pragma once

#include <string>

#include "ctprof/output.h"
#include "plugins/outputs/otlp/totals.hpp"

namespace ctprof::otlp {

// Adds the window to the totals and returns the message.
std::string make_metrics_message(const ctprof_output_window& window, Totals& totals);

}  // namespace ctprof::otlp
