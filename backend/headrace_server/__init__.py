"""The control plane of Headrace: REST, events and the served dashboard."""
