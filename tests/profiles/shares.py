"""Say what samples are spent on: `./tollgate python -m tests.profiles.shares FILE [RATE CORES]`.

FILE is what `tests.profiles.sample` wrote. With the rate and the cores that were used it says
core-milliseconds for a thousand observations.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

#: what a stack is spent on: the first that matches, thread's name and frames together
KINDS = (
    ("compiling (JIT)", r"C[12] CompilerThread|CompileBroker|Sweeper"),
    ("collecting garbage", r"G1 |GC Thread|VM Thread|VM Periodic|GangWorker"),
    (
        "checkpoint and commit",
        r"checkpoint|Checkpoint|commitSync|MetadataLog|CommitLog|OffsetSeqLog",
    ),
    (
        "state",
        r"rocksdb|StateStore|HeapMapState|HeapTimer|CopyOnWriteStateMap|InternalTimerService",
    ),
    (
        "reading JSON",
        r"JsonToStructs|JacksonParser|tollgate/flink/Records|from_json|JsonInferSchema",
    ),
    (
        "writing JSON",
        r"StructsToJson|JacksonGenerator|tollgate/flink/Outputs|WriterBasedJson|UTF8JsonGenerator",
    ),
    (
        "Kafka consumer",
        r"kafka/clients/consumer|KafkaConsumer|KafkaSourceReader|KafkaDataConsumer|SplitFetcher"
        r"|Source Data Fetcher",
    ),
    ("Kafka producer", r"kafka/clients/producer|KafkaProducer|kafka-producer-network|KafkaWriter"),
    ("Kafka client, other", r"org/apache/kafka"),
    (
        "exchange between tasks",
        r"netty|shuffle|Shuffle|RecordWriter|ResultPartition|network/partition|InputGate|InputProcessor",
    ),
    (
        "planning, generating code",
        r"catalyst/(analysis|optimizer|planning|rules)|QueryExecution|codegen/CodeGenerator|janino|IncrementalExecution",
    ),
    (
        "operators of the engine",
        r"spark/sql|flink/streaming|flink/runtime|GeneratedClass|tollgate/flink",
    ),
    (
        "remote calls, scheduling",
        r"spark/rpc|spark/scheduler|pekko|akka|dispatcher|metrics|Metrics",
    ),
)


def kind_of(stack: str) -> str:
    """What a stack is spent on."""
    return next((name for name, pattern in _COMPILED if pattern.search(stack)), "other")


_COMPILED = [(name, re.compile(pattern)) for name, pattern in KINDS]


def main(words: list[str]) -> None:
    """A line a kind, the largest first."""
    count: Counter[str] = Counter()
    for line in Path(words[0]).read_text().splitlines():
        stack, _, samples = line.rpartition(" ")
        count[kind_of(stack)] += int(samples)
    total = sum(count.values())
    used = float(words[2]) / float(words[1]) * 1e6 if len(words) == 3 else None
    for name, counted in count.most_common():
        share = counted / total
        spent = f"{share * used:8.1f} core-ms / 1 000" if used is not None else ""
        print(f"{name:28} {share:6.1%} {spent}")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 4):
        sys.exit(__doc__)
    main(sys.argv[1:])
