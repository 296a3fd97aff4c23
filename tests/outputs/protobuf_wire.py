"""Decodes the wire format of protobuf, independently of the library that ctprof uses."""

import struct


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    """Returns the fields of a message in their order: (number, value). A nested message or text is bytes; fixed64 is 8 bytes."""
    found, at = [], 0
    while at < len(data):
        tag, at = read_varint(data, at)
        number, kind = tag >> 3, tag & 7
        if kind == 0:
            value, at = read_varint(data, at)
        elif kind == 1:
            value, at = data[at : at + 8], at + 8
        elif kind == 2:
            size, at = read_varint(data, at)
            value, at = data[at : at + size], at + size
        else:
            raise ValueError(f"wire type {kind}")
        if at > len(data):
            raise ValueError("truncated")
        found.append((number, value))
    return found


def values(data, number):
    return [value for field, value in fields(data) if field == number]


def one(data, number):
    (value,) = values(data, number)
    return value


def read_attributes(data, number):
    return {one(item, 1).decode(): one(one(item, 2), 1).decode() for item in values(data, number)}


def read_point(data):
    """Returns the members of a NumberDataPoint."""
    point = {"attributes": read_attributes(data, 7), "time": struct.unpack("<Q", one(data, 3))[0]}
    for start in values(data, 2):
        point["start"] = struct.unpack("<Q", start)[0]
    for value in values(data, 4):
        point["value"] = struct.unpack("<d", value)[0]
    for value in values(data, 6):
        point["value"] = struct.unpack("<q", value)[0]
    return point


def read_metrics(data):
    """Returns the resource's attributes, and the metrics of an ExportMetricsServiceRequest by name."""
    resource_metrics = one(data, 1)
    scope_metrics = one(resource_metrics, 2)
    metrics = {}
    for item in values(scope_metrics, 2):
        metric = {"unit": b"".join(values(item, 3)).decode(), "kind": "gauge"}  # an empty text is not written
        if values(item, 7):
            body = one(item, 7)
            metric["kind"] = ("sum", one(body, 2), one(body, 3))
        else:
            body = one(item, 5)
        metric["points"] = [read_point(point) for point in values(body, 1)]
        metrics[one(item, 1).decode()] = metric
    return read_attributes(one(resource_metrics, 1), 1), metrics
