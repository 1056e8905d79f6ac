"""Tables as the oracle's functions on frames are given them."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa


def frame_of(table: pa.Table) -> pd.DataFrame:
    """Whole numbers that may be lacking stay whole numbers."""
    frame: pd.DataFrame = table.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get)
    return frame
