"""Whether HDFS and InfluxDB answer, asked over their own protocols; judges nothing else."""

from __future__ import annotations

import json
import urllib.request

NAMENODE_PORT, INFLUXDB_PORT = 9870, 8086


def namenode_is_ready(host: str, datanodes: int) -> bool:
    """Whether it is out of safe mode and knows that many DataNodes."""
    told = get(
        f"http://{host}:{NAMENODE_PORT}/jmx?qry=Hadoop:service=NameNode,name=FSNamesystemState"
    )
    try:
        facts = json.loads(told or "")["beans"][0]
    except (ValueError, KeyError, IndexError):
        return False
    live = int(facts.get("NumLiveDataNodes") or 0)
    return bool(facts.get("FSState") == "Operational" and live >= datanodes)


def influxdb_is_ready(host: str) -> bool:
    """Whether it takes writes and questions."""
    return get(f"http://{host}:{INFLUXDB_PORT}/ping") is not None


def get(url: str) -> str | None:
    """What is answered, past any proxy; None where nothing is."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=2) as answer:
            text: str = answer.read().decode("utf-8", "replace")
            return text
    except OSError:
        return None
