"""Whether the appliance can be had on this machine, and what an engine's image says of itself."""

from __future__ import annotations

from conductor.appliance.compose import compose_command
from conductor.appliance.docker_engine import DockerEngine
from contract.engine import EngineSpec
from contract.errors import EnvironmentLacking, UsageError

#: the appliance's own, as its services know it
HDFS = "hdfs://namenode:8020/tollgate"
ENGINE_TOML = "/engine.toml"


def what_docker_lacks() -> str | None:
    """Why containers cannot be had here, in a sentence; None if they can."""
    try:
        engine = DockerEngine()
        elsewhere = engine.why_not_here()
        engine.close()
        if elsewhere is not None:
            return f"{elsewhere}: its containers cannot be measured from here; say RUNTIME=embedded"
        compose_command()
    except EnvironmentLacking as error:
        return str(error)
    return None


def spec_of_image(image: str) -> EngineSpec:
    """What an engine's image declares; one that declares nothing is refused."""
    engine = DockerEngine()
    try:
        written = engine.file_of_image(image, ENGINE_TOML)
    finally:
        engine.close()
    if written is None:
        raise UsageError(
            f"image {image} has no {ENGINE_TOML}, which says what an engine does: "
            f"see docs/new-engine.md"
        )
    return EngineSpec.parse(written, f"{ENGINE_TOML} of {image}")
