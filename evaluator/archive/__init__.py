"""A campaign as one file: packed for publication, and unpacked to be verified."""

from evaluator.archive.pack import archive
from evaluator.archive.unpack import unpacked

__all__ = ["archive", "unpacked"]
