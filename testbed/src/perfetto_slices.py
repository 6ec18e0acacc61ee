"""Reads a Perfetto trace with Perfetto's own protobuf classes and prints its slices as JSON.

perfetto_slices.py FILE. Orders and nests events like Perfetto's trace processor: sorted by time, equal times in the order
of the file, and an end ends the innermost slice that is open on its track.
"""

import json
import math
import sys

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent


def plain(annotation):
    """Returns the value of an annotation."""
    if annotation.dict_entries:
        keys = [entry.name for entry in annotation.dict_entries]
        assert len(set(keys)) == len(keys), keys
        return {entry.name: plain(entry) for entry in annotation.dict_entries}
    if annotation.array_values:
        return [plain(item) for item in annotation.array_values]
    kind = annotation.WhichOneof("value")
    value = getattr(annotation, kind) if kind else None
    if kind == "pointer_value":
        return {"$pointer": hex(value)}
    if kind == "double_value" and not math.isfinite(value):
        return {"$float": str(value)}
    return value


def read(path):
    """Returns the processes, and the slices with the index of the slice around them."""
    trace = Trace()
    with open(path, "rb") as file:
        trace.ParseFromString(file.read())
    assert all(packet.trusted_packet_sequence_id for packet in trace.packet)
    clocks = [packet.clock_snapshot for packet in trace.packet if packet.HasField("clock_snapshot")]
    # The clock of the packets, the time since the boot, is declared to be the Unix time.
    assert len(clocks) == 1 and {clock.clock_id for clock in clocks[0].clocks} == {1, 6}
    assert len({clock.timestamp for clock in clocks[0].clocks}) == 1
    tracks = {}
    for packet in trace.packet:
        if packet.HasField("track_descriptor"):
            assert packet.track_descriptor.uuid not in tracks
            tracks[packet.track_descriptor.uuid] = packet.track_descriptor
    events = [packet for packet in trace.packet if packet.HasField("track_event")]
    events.sort(key=lambda packet: packet.timestamp)
    slices, opened = [], {uuid: [] for uuid in tracks}
    for packet in events:
        event = packet.track_event
        track = tracks[event.track_uuid]
        stack = opened[event.track_uuid]
        if event.type == TrackEvent.TYPE_SLICE_END:
            slices[stack.pop()]["end"] = packet.timestamp
            continue
        parent = tracks.get(track.parent_uuid)
        if parent and track.HasField("thread"):
            assert parent.process.pid == track.thread.pid
        elif parent:
            assert track.name == event.name and not stack
        slices.append({
            "pid": (parent or track).process.pid,
            "process": (parent or track).process.process_name,
            "thread": track.thread.tid,
            "around": stack[-1] if stack else None,
            "depth": len(stack),
            "name": event.name,
            "categories": list(event.categories),
            "start": packet.timestamp,
            "end": None,
            "annotations": {annotation.name: plain(annotation) for annotation in event.debug_annotations},
        })
        assert len(slices[-1]["annotations"]) == len(event.debug_annotations)
        if event.type == TrackEvent.TYPE_SLICE_BEGIN:
            stack.append(len(slices) - 1)
        else:
            assert event.type == TrackEvent.TYPE_INSTANT
    assert not any(opened.values()), "a slice did not end"
    processes = [track.process for track in tracks.values() if track.HasField("process")]
    return {
        "processes": [{"pid": process.pid, "name": process.process_name} for process in processes],
        "slices": slices,
    }


json.dump(read(sys.argv[1]), sys.stdout)
