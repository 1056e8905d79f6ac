"""Judge a campaign again from its collected topics: no Kafka, no Spark, its own code."""

from evaluator.rebuild.campaign import Again, rebuild_campaign
from evaluator.rebuild.stored import Topics, find_topics, places

__all__ = ["Again", "Topics", "find_topics", "places", "rebuild_campaign"]
