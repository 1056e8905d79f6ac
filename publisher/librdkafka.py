"""librdkafka by its own names: what Python's client has no word for; the only such file.

That client hands over one record a call and gives each its own report. At 26 000 records a second
this is four fifths of what sending costs. librdkafka itself takes and reports many at once:
`rd_kafka_produce_batch`, and events. Called here is the library that comes with confluent-kafka,
through ctypes; shapes and numbers are those of its public header (rdkafka.h).
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from ctypes import POINTER, Structure, c_char_p, c_int, c_int32, c_size_t, c_void_p
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from confluent_kafka import cimpl

from contract.errors import ServiceFailed
from publisher.plan import Ints
from publisher.source import Batch, Texts

_PRODUCER = 0
_CONF_OK = 0
_EVENT_REPORTS = 0x1
_FLAG_COPY, _FLAG_PARTITION = 0x2, 0x8
_PURGE_ALL = 0x3
_DESTROY_NO_CLOSE = 0x8
_QUEUE_FULL, _FATAL = -184, -150
_ANY_PARTITION = -1
_ERROR_BYTES = 512

#: rd_kafka_message_t
_MESSAGE = np.dtype(
    {
        "names": ["error", "partition", "value", "size", "key", "key_size", "row"],
        "formats": ["<i4", "<i4", "<u8", "<u8", "<u8", "<u8", "<u8"],
        "offsets": [0, 16, 24, 32, 40, 48, 64],
        "itemsize": 72,
    }
)
_WORD_BYTES = 8
_ROW_WORD = _MESSAGE.fields["row"][1] // _WORD_BYTES  # type: ignore[index]
#: an array's memory cannot begin at 0
_MEMORY_FROM = _WORD_BYTES
_MEMORY_WORDS = (1 << 47) // _WORD_BYTES - 1


class _Topic(Structure):
    """rd_kafka_metadata_topic_t; of its partitions only the number is read."""

    _fields_ = [
        ("name", c_char_p),
        ("partitions", c_int),
        ("partition", c_void_p),
        ("error", c_int),
    ]


class _Metadata(Structure):
    """rd_kafka_metadata_t, as far as it is read."""

    _fields_ = [
        ("brokers", c_int),
        ("broker", c_void_p),
        ("topics", c_int),
        ("topic", POINTER(_Topic)),
    ]


@cache
def _library() -> ctypes.CDLL:
    """Its functions, with what they take and give."""
    library = ctypes.CDLL(cimpl.__file__)
    known: dict[str, tuple[Any, ...]] = {
        "conf_new": (c_void_p,),
        "conf_set": (c_int, c_void_p, c_char_p, c_char_p, c_char_p, c_size_t),
        "conf_set_events": (None, c_void_p, c_int),
        "new": (c_void_p, c_int, c_void_p, c_char_p, c_size_t),
        "destroy_flags": (None, c_void_p, c_int),
        "topic_new": (c_void_p, c_void_p, c_char_p, c_void_p),
        "topic_destroy": (None, c_void_p),
        "metadata": (c_int, c_void_p, c_int, c_void_p, POINTER(POINTER(_Metadata)), c_int),
        "metadata_destroy": (None, POINTER(_Metadata)),
        "produce_batch": (c_int, c_void_p, c_int32, c_int, c_void_p, c_int),
        "outq_len": (c_int, c_void_p),
        "purge": (c_int, c_void_p, c_int),
        "queue_get_main": (c_void_p, c_void_p),
        "queue_destroy": (None, c_void_p),
        "queue_poll": (c_void_p, c_void_p, c_int),
        "event_message_count": (c_size_t, c_void_p),
        "event_message_array": (c_size_t, c_void_p, c_void_p, c_size_t),
        "event_destroy": (None, c_void_p),
        "fatal_error": (c_int, c_void_p, c_char_p, c_size_t),
        "err2str": (c_char_p, c_int),
    }
    for name, (result, *arguments) in known.items():
        function = getattr(library, f"rd_kafka_{name}")
        function.restype, function.argtypes = result, arguments
    return library


def _memory() -> npt.NDArray[np.uint64]:
    """This process's memory as words: many pointers are followed in one step."""
    words = (ctypes.c_uint64 * _MEMORY_WORDS).from_address(_MEMORY_FROM)
    return np.ctypeslib.as_array(words)


class KafkaRefused(Exception):
    """What librdkafka says of a call that it did not do."""


@dataclass(frozen=True, slots=True)
class Report:
    """What became of records that were handed over."""

    #: the numbers that they were given
    rows: Ints
    delivered: npt.NDArray[np.bool_]


class Load:
    """A batch's records of one topic, as librdkafka takes them, by due time."""

    __slots__ = ("_address", "_blocks", "_messages", "_producer", "_topic", "indices")

    def __init__(
        self, producer: c_void_p, topic: c_void_p, batch: Batch, indices: Ints, first_row: int
    ) -> None:
        #: which of the batch's records these are
        self.indices = indices
        self._producer, self._topic = producer, topic
        messages = np.zeros(len(indices), dtype=_MESSAGE)
        messages["partition"] = batch.partitions[indices]
        messages["row"] = first_row + indices
        messages["value"], messages["size"] = _addresses(batch.values, indices)
        messages["key"], messages["key_size"] = _addresses(batch.keys, indices)
        # what the addresses point to lives as long as they do
        self._blocks = (batch.keys.block, batch.values.block)
        self._messages = messages
        self._address = messages.ctypes.data

    def hand_over(self, first: int, end: int) -> tuple[int, Ints]:
        """Give librdkafka those from `first` on: up to where its queue is full, and the refused."""
        asked = end - first
        taken = _library().rd_kafka_produce_batch(
            self._topic,
            _ANY_PARTITION,
            _FLAG_COPY | _FLAG_PARTITION,
            self._address + first * _MESSAGE.itemsize,
            asked,
        )
        if taken == asked:
            return end, _NONE
        errors = self._messages["error"][first:end]
        if (errors == _FATAL).any():
            raise ServiceFailed(f"Kafka ended the producer: {_why_fatal(self._producer)}")
        full = np.flatnonzero(errors == _QUEUE_FULL)
        settled = int(full[0]) if len(full) else asked
        return first + settled, first + np.flatnonzero(errors[:settled])


_NONE: Ints = np.zeros(0, dtype=np.int64)


def _addresses(texts: Texts, rows: Ints) -> tuple[Ints, Ints]:
    block = ctypes.cast(c_char_p(texts.block), c_void_p).value or 0
    sizes = texts.sizes[rows]
    if len(sizes) and sizes.min() < 0:
        # no text is told from an empty one by where it is: nowhere
        return np.where(sizes < 0, 0, block + texts.starts[rows]), np.maximum(sizes, 0)
    return block + texts.starts[rows], sizes


class Producer:
    """A client that sends."""

    def __init__(self, settings: Mapping[str, str | int | bool], topics: Sequence[str]) -> None:
        library = _library()
        said = ctypes.create_string_buffer(_ERROR_BYTES)
        conf = library.rd_kafka_conf_new()
        for name, value in settings.items():
            text = str(value).lower() if isinstance(value, bool) else str(value)
            done = library.rd_kafka_conf_set(conf, name.encode(), text.encode(), said, len(said))
            if done != _CONF_OK:
                raise ValueError(said.value.decode())
        library.rd_kafka_conf_set_events(conf, _EVENT_REPORTS)
        self._client = library.rd_kafka_new(_PRODUCER, conf, said, len(said))
        if not self._client:
            raise ServiceFailed(f"no Kafka client: {said.value.decode()}")
        self._queue = library.rd_kafka_queue_get_main(self._client)
        self._names = list(topics)
        self._topics = [library.rd_kafka_topic_new(self._client, n.encode(), None) for n in topics]
        self._memory = _memory()

    def partitions(self, topic: int, wait_s: float) -> int:
        """How many a topic has."""
        library = _library()
        found = POINTER(_Metadata)()
        error = library.rd_kafka_metadata(
            self._client, 0, self._topics[topic], ctypes.byref(found), round(wait_s * 1000)
        )
        if error:
            raise KafkaRefused(_text(error))
        try:
            told = found.contents.topic[0]
            if told.error:
                raise ServiceFailed(
                    f"topic {self._names[topic]} cannot be used: {_text(told.error)}"
                )
            return int(told.partitions)
        finally:
            library.rd_kafka_metadata_destroy(found)

    def loads(self, batch: Batch, first_row: int) -> list[Load]:
        """A batch, topic by topic, whose records are reported with these numbers."""
        parts = [np.flatnonzero(batch.topics == topic) for topic in range(len(self._topics))]
        return [
            Load(self._client, self._topics[topic], batch, rows, first_row)
            for topic, rows in enumerate(parts)
        ]

    def reports(self, wait_s: float) -> Report | None:
        """All that has been reported by now; waits so long for a first one."""
        library = _library()
        event = library.rd_kafka_queue_poll(self._queue, round(wait_s * 1000))
        events = []
        while event:
            events.append(event)
            event = library.rd_kafka_queue_poll(self._queue, 0)
        try:
            return self._read(events)
        finally:
            for event in events:
                library.rd_kafka_event_destroy(event)

    def waiting(self) -> int:
        """How many records have not been reported yet."""
        return int(_library().rd_kafka_outq_len(self._client))

    def give_up(self) -> None:
        """Let all that has not been delivered be reported as failed."""
        _library().rd_kafka_purge(self._client, _PURGE_ALL)

    def close(self) -> None:
        """Let go of all; what is under way is lost."""
        library = _library()
        for topic in self._topics:
            library.rd_kafka_topic_destroy(topic)
        library.rd_kafka_queue_destroy(self._queue)
        library.rd_kafka_destroy_flags(self._client, _DESTROY_NO_CLOSE)

    def _read(self, events: list[int]) -> Report | None:
        library = _library()
        counts = [library.rd_kafka_event_message_count(event) for event in events]
        if not sum(counts):
            # nothing, or errors that no record is told by
            return None
        found = np.empty(sum(counts), dtype=np.uint64)
        address = found.ctypes.data
        for event, count in zip(events, counts, strict=True):
            library.rd_kafka_event_message_array(event, address, count)
            address += count * _WORD_BYTES
        words = ((found - np.uint64(_MEMORY_FROM)) // _WORD_BYTES).astype(np.int64)
        errors = self._memory[words].view("<i4")[::2]
        return Report(self._memory[words + _ROW_WORD].astype(np.int64), errors == 0)


def _text(error: int) -> str:
    return str(_library().rd_kafka_err2str(error).decode())


def _why_fatal(client: c_void_p) -> str:
    said = ctypes.create_string_buffer(_ERROR_BYTES)
    _library().rd_kafka_fatal_error(client, said, len(said))
    return said.value.decode()
