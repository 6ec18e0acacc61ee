// The events of LTTng-UST that calls.c writes: the beginning of a call with its arguments, and its end with its result.
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER redial_bench

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./events.h"

#if !defined(EVENTS_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define EVENTS_H

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(redial_bench, entered, LTTNG_UST_TP_ARGS(int, a, long, b, double, c),
    LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, a, a) lttng_ust_field_integer(long, b, b)
        lttng_ust_field_float(double, c, c)))

LTTNG_UST_TRACEPOINT_EVENT(redial_bench, left, LTTNG_UST_TP_ARGS(int, result),
    LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, result, result)))

#endif

#include <lttng/tracepoint-event.h>
