"""An engine in one file: reads the topics, passes records on (ingest) or parses them (parse).

It knows nothing of Tollgate but the environment it is started with, and needs nothing but a Kafka
client. What it cannot do it refuses with exit code 64 before it consumes anything.
"""

import json
import math
import os
import re
import signal
import sys

from confluent_kafka import Consumer, Producer

REFUSES = 64
TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z")
INTEGERS = {"flow": ("flow", "period", "accuracy", "num_lanes"), "speed": ("accuracy", "num_lanes")}
NUMBERS = {"flow": ("lat", "long"), "speed": ("lat", "long", "speed")}


def is_number(value):
    """A JSON number; true and false are none, though Python thinks so."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def parse(kind, key, value):
    """The output's key and value for a record, or None where the record is malformed."""
    location, slash, lane = (key or b"").decode().rpartition("/")
    try:
        record = json.loads(value or b"")
    except ValueError:
        return None
    if not (location and slash and lane and isinstance(record, dict)):
        return None
    for name in INTEGERS[kind]:
        if not is_number(record.get(name)) or not isinstance(record[name], int):
            return None
    if not all(is_number(record.get(name)) for name in NUMBERS[kind]):
        return None
    if not isinstance(record.get("internalId"), str):
        return None
    if not TIMESTAMP.fullmatch(str(record.get("timestamp"))):
        return None
    kept = ("timestamp", *NUMBERS[kind], *INTEGERS[kind])
    output = {"location": location, "lane": lane, **{name: record[name] for name in kept}}
    return key, json.dumps(output).encode()


def ingest(_kind, key, value):
    """What came, as it came."""
    return key, value


STAGES = {"ingest": ingest, "parse": parse}


def main():
    env = os.environ
    known = {
        "WORKLOAD": ["traffic"],
        "STAGE": list(STAGES),
        "MODE": ["streaming"],
        "DIALECT": ["eager"],
    }
    for name, values in known.items():
        if env[name] not in values:
            print(f"example engine: no such {name}: {env[name]}", file=sys.stderr)
            return REFUSES
    stopping = []
    signal.signal(signal.SIGTERM, lambda *_: stopping.append(True))
    run(env, STAGES[env["STAGE"]], stopping)
    return 0


def run(env, stage, stopping):
    kinds = {topic: kind for kind, topic in (p.split("=") for p in env["INPUT_TOPICS"].split(","))}
    servers = env["BOOTSTRAP_SERVERS"]
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": env["RUN_ID"],
            "auto.offset.reset": "earliest",
            "fetch.wait.max.ms": 10,
        }
    )
    linger_ms = json.loads(env["ENGINE_SETTINGS"])["linger_ms"]
    producer = Producer({"bootstrap.servers": servers, "linger.ms": linger_ms})
    consumer.subscribe(list(kinds))
    while not stopping:
        message = consumer.poll(0.2)
        producer.poll(0)
        if message is None or message.error():
            continue
        output = stage(kinds[message.topic()], message.key(), message.value())
        if output is not None:
            producer.produce(env["OUTPUT_TOPIC"], key=output[0], value=output[1])
    producer.flush(20)
    consumer.close()


sys.exit(main())
