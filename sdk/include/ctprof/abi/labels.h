/* ctprof/abi/labels.h: keys of maps with two labels. Part of ctprof/abi.h, which states the
 * compatibility rules; include ctprof/abi.h instead.
 *
 * The field `labels` of a metric names one or two labels of the keys of its map, such as
 * "device,direction". With one label, a key is the value of that label, and may be any text. With
 * two labels, a key consists of two parts, the values of the labels, joined by a comma:
 *
 *     label device   label direction   key
 *     sda            read              sda,read
 *     a,b            100%              a%2Cb,100%25
 *
 * Within a part, "%2C" represents a comma and "%25" a percent sign; all other bytes represent
 * themselves. Two different pairs therefore have different keys. Keys are stored in files, so this
 * form never changes. ctprof replaces a map by the gap CTPROF_MALFORMED, and reports it, if a key
 * does not have this form. */
#ifndef CTPROF_ABI_LABELS_H
#define CTPROF_ABI_LABELS_H

#include "ctprof/abi/cells.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The maximum number of labels of a metric. */
#define CTPROF_MAX_LABELS 2u

/* Appends one byte at `length`, or only counts it if `out` is full. */
static inline size_t ctprof_append_byte(char byte, size_t length, char* out, size_t out_size) {
  if (length < out_size) out[length] = byte;
  return length + 1;
}

/* Appends a part of a key. Returns the length of the key, which is larger than `out_size` if it
 * does not fit. */
static inline size_t ctprof_append_part(struct ctprof_text part, size_t length, char* out,
                                        size_t out_size) {
  size_t i;
  for (i = 0; i < part.size; ++i) {
    const char byte = part.data[i];
    const int is_escaped = byte == '%' || byte == ',';
    length = ctprof_append_byte(is_escaped ? '%' : byte, length, out, out_size);
    if (!is_escaped) continue;
    length = ctprof_append_byte('2', length, out, out_size);
    length = ctprof_append_byte(byte == '%' ? '5' : 'C', length, out, out_size);
  }
  return length;
}

/* Writes the key of two parts to `out`, without a NUL, and returns its length. If the length is
 * larger than `out_size`, the key is incomplete: do not use it. A buffer of
 * 3 * (first.size + second.size) + 1 bytes always suffices. */
static inline size_t ctprof_join_labels(struct ctprof_text first, struct ctprof_text second,
                                        char* out, size_t out_size) {
  size_t length = ctprof_append_part(first, 0, out, out_size);
  length = ctprof_append_byte(',', length, out, out_size);
  return ctprof_append_part(second, length, out, out_size);
}

#ifdef __cplusplus
}
#endif

#endif
