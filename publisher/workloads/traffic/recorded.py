"""stub"""
from publisher.order import Order
from publisher.source import Share
from pathlib import Path
class RecordedSource:
    def __init__(self, order: Order, share: Share, path: Path) -> None: ...
