# SPDX-License-Identifier: Apache-2.0
"""Makes wrong frames, and other wrong things, out of right ones."""

import copy

from driver import HEADER, NAMES, frame, pack, unpack


def name_of(data):
    return NAMES[HEADER.unpack_from(data)[1]]


def body_of(data):
    return unpack(data[HEADER.size:])


# What a field may turn into.
ODD = [None, True, False, 0, 1, -1, 2, 127, 1 << 31, (1 << 63) - 1, -(1 << 63),
       (1 << 64) - 1, 0.5, "", "a", "a\nb", "A" * 300, "ÿ", "\U0001f600", b"bytes",
       "-1", "99999999999999999999999999", "{}", "[", '{"a":1}', [], {}, [[]], [{}],
       {"": ""}, {"a": "b", "b": "c"}, {1: 2}, [1, 2, 3], ["a", "a"],
       [None] * 50, {"kind": {"spec": [{}]}}]


def places(value, path=()):
    """Every place in a tree."""
    yield path
    items = (enumerate(value) if isinstance(value, list)
             else value.items() if isinstance(value, dict) else ())
    for key, inner in items:
        yield from places(inner, path + (key,))


def changed(value, path, change):
    """A copy with change() of what is at that place."""
    if not path:
        return change(value)
    value = copy.copy(value)
    value[path[0]] = changed(value[path[0]], path[1:], change)
    return value


def mutate(body, dice):
    """A tree with one thing, or a few, that are wrong."""
    for _ in range(dice.choice((1, 1, 1, 2, 4))):
        path = dice.choice(list(places(body)))
        way = dice.randrange(9)

        def change(value):
            if way == 0 and isinstance(value, list) and value:
                return value[:dice.randrange(len(value))]
            if way == 1 and isinstance(value, list) and value:
                return value + [dice.choice(value)] * dice.choice((1, 2, 40))
            if way == 2 and isinstance(value, dict) and value:
                return {k: v for k, v in value.items() if dice.random() < 0.6}
            if way == 3 and isinstance(value, str) and value:
                return value[:dice.randrange(len(value))] + dice.choice("\0/.-ÿ0")
            if way == 4 and isinstance(value, int) and abs(value) < 1 << 62:
                return value + dice.choice((-1, 1, 1 << 32))
            if way > 5:  # of the right kind, so that more than the kind is looked at
                return dice.choice([v for v in ODD if type(v) is type(value)] or ODD)
            return dice.choice(ODD)
        body = changed(body, path, change)
    return body


def spoil(body, dice):
    """The same as bytes: some are others."""
    body = bytearray(body)
    for _ in range(dice.choice((1, 2, 8))):
        body[dice.randrange(len(body))] = dice.choice((0, 0xff, 0xc0, 0xdd, 0x7f,
                                                       dice.randrange(256)))
    return bytes(body)


def falsify(data, dice, id=0):
    """A frame like that one, but wrong."""
    if dice.random() < 0.7:
        fields = mutate(body_of(data), dice)
        body = pack(*fields) if isinstance(fields, list) else pack(fields)[1:]
    else:
        body = spoil(data[HEADER.size:], dice)
    return frame(name_of(data), body=body, id=id)
