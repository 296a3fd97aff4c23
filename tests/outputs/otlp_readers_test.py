#!/usr/bin/python3
"""The requests of `otlp` are messages of opentelemetry-proto without unknown fields, and contain what the decoder of the other tests reads.

    CTPROF=... PYTHON_MODULE=sdk/python otlp_readers_test.py
"""
import sys
import unittest

import otlp_test
from protobuf_wire import read_metrics
from receiver import Receiver

try:
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
except ImportError:
    ExportMetricsServiceRequest = None


def read_point(point, is_sum):
    read = {"attributes": {item.key: item.value.string_value for item in point.attributes}, "time": point.time_unix_nano,
            "value": getattr(point, point.WhichOneof("value"))}
    return read | ({"start": point.start_time_unix_nano} if is_sum else {})


def read_metric(metric):
    kind = metric.WhichOneof("data")
    data = getattr(metric, kind)
    return {"unit": metric.unit, "kind": ("sum", data.aggregation_temporality, int(data.is_monotonic)) if kind == "sum" else "gauge",
            "points": [read_point(point, kind == "sum") for point in data.data_points]}


class Readers(otlp_test.Export):
    def read(self, file, *more):
        with Receiver() as receiver:
            self.assertEqual(self.export(receiver.endpoint, file=file, more=more).returncode, 0)
            ((_, _, body),) = receiver.requests
        request = ExportMetricsServiceRequest.FromString(body)
        # Known fields are written in the order of their numbers, so a message without unknown fields is equal.
        self.assertEqual(len(request.SerializeToString(deterministic=True)), len(body))
        (resource,) = request.resource_metrics
        (scope,) = resource.scope_metrics
        metrics = {metric.name: read_metric(metric) for metric in scope.metrics}
        read = {item.key: item.value.string_value for item in resource.resource.attributes}, metrics
        self.assertEqual(read, read_metrics(body))
        return read


if __name__ == "__main__":
    if ExportMetricsServiceRequest is None:
        print("skipped: no opentelemetry-proto (tools/dev fetches it)", file=sys.stderr)
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
