"""Write HTML and SVG elements; whatever is not an element already is escaped."""

from __future__ import annotations

import html
import math

Attribute = str | float | int | bool | None
#: elements that have no end tag in HTML
VOID = frozenset({"br", "hr", "meta"})


class Html(str):
    """Text that is markup already. Plain str is never trusted."""

    __slots__ = ()


def text(value: str) -> Html:
    """Text, escaped, without what may not occur in XML."""
    clean = "".join(c for c in value if c >= " " or c in "\n\t")
    return Html(html.escape(clean, quote=True))


def el(name: str, /, *children: str, **attributes: Attribute) -> Html:
    """An element; `class_` is class, `aria_label` is aria-label."""
    inner = "".join(c if isinstance(c, Html) else text(c) for c in children)
    opened = name + "".join(_attribute(k, v) for k, v in attributes.items())
    if name in VOID:
        return Html(f"<{opened}>")
    return Html(f"<{opened}>{inner}</{name}>")


def join(parts: list[Html], between: str = "") -> Html:
    """Several elements as one piece."""
    return Html(str(between if isinstance(between, Html) else text(between)).join(parts))


def _attribute(name: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    key = name.rstrip("_").replace("_", "-") if name != "viewBox" else name
    if value is True:
        return f' {key}=""'
    return f' {key}="{text(value if isinstance(value, str) else px(value))}"'


def px(value: float) -> str:
    """A coordinate, as short as a tenth of a pixel allows."""
    if not math.isfinite(value):
        raise ValueError(f"not a coordinate: {value}")
    return f"{value:.1f}".rstrip("0").rstrip(".") if value % 1 else str(int(value))
