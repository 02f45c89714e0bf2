"""The control plane of Headrace: REST, events and the served dashboard."""

__version__ = "0.1.0"
