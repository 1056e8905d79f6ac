"""What a Docker engine refuses, as sentences of this project."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import requests
from docker.errors import DockerException

from contract.errors import EnvironmentLacking, ServiceFailed


@contextmanager
def said(trouble: str) -> Iterator[None]:
    """What the engine refuses becomes a sentence."""
    try:
        yield
    except (DockerException, requests.RequestException) as error:
        raise ServiceFailed(f"{trouble}: {brief(error)}") from None


def no_image(tag: str) -> EnvironmentLacking:
    """Of an image that was asked for by its tag."""
    return EnvironmentLacking(f"the Docker engine has no image {tag}")


def brief(error: Exception) -> str:
    """The one line that says why."""
    explanation = getattr(error, "explanation", None)
    text = str(explanation or error)
    return text.splitlines()[0][:200] if text else type(error).__name__
