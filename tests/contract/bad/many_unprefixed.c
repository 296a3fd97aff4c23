/* 501 metrics whose names lack the plugin's prefix.
 */
#include "ctprof/abi.h"

/* clang-format off */
#define ONE(n) {.size = sizeof(struct ctprof_metric), .storage = CTPROF_U64, .name = "value" n, .newtype = "GaugeCount", \
                .rule = "MaxGaugeCount", .description = "A number."}
#define TEN(n) ONE(n "0"), ONE(n "1"), ONE(n "2"), ONE(n "3"), ONE(n "4"), ONE(n "5"), ONE(n "6"), ONE(n "7"), ONE(n "8"), ONE(n "9")
#define HUNDRED(n) TEN(n "0"), TEN(n "1"), TEN(n "2"), TEN(n "3"), TEN(n "4"), TEN(n "5"), TEN(n "6"), TEN(n "7"), TEN(n "8"), TEN(n "9")

static const struct ctprof_metric kMetrics[] = {HUNDRED("0"), HUNDRED("1"), HUNDRED("2"), HUNDRED("3"), HUNDRED("4"), ONE("500")};

const struct ctprof_plugin ctprof_plugin = {
  .abi = CTPROF_ABI, .size = sizeof(struct ctprof_plugin), .name = NAME, .version = "1.0", .description = "For tests.",
  .metrics = CTPROF_ARRAY_OF(kMetrics)};
/* clang-format on */
