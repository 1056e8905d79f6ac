"""The appliance: the same services as embedded, each in a container of its own."""
