"""Frames between a job and its host."""

import json


def test_frames_survive_any_cut():
    from internals import BLOB, PHASE, RESULT, FrameReader, pack, pack_json

    stream = pack(PHASE, b"fit") + pack(BLOB, bytes(1000)) + pack(BLOB, b"") + pack_json(RESULT, {"a": 1})
    for step in (1, 7, 100, len(stream)):
        reader = FrameReader()
        found = [frame for at in range(0, len(stream), step) for frame in reader.feed(stream[at : at + step])]
        assert [tag for tag, _ in found] == [PHASE, BLOB, BLOB, RESULT]
        assert json.loads(found[-1][1]) == {"a": 1}
