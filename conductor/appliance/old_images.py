"""Take away images of this project that the checkout does not use any more."""

from __future__ import annotations

from conductor.appliance.docker_engine import DockerEngine
from conductor.appliance.images import DEBIAN, PREFIX, Tags, read_images
from conductor.home import Home

MB = 1000**2


def remove_old_images(home: Home) -> list[str]:
    """What was taken away, a line each; other checkouts build theirs anew when they need them."""
    engine = DockerEngine()
    try:
        images = read_images(home)
        tags = Tags(images, home.artifacts_lock)
        used = {tags.of(image) for image in images.values()} | {tags.of_parent(DEBIAN)}
        said = []
        for tag in engine.own_images(PREFIX):
            if tag not in used:
                size = engine.image_size(tag) // MB
                gone = engine.remove_image(tag)
                how = "took away" if gone else "could not take away (something uses it)"
                said.append(f"{how} image {tag} ({size} MB with what it is based on)")
        return said
    finally:
        engine.close()
