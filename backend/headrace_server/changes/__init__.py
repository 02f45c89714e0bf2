"""Changes of the mix that wait: for a step, for a time, for somebody's approval."""
