"""What the loader tells the control plane, and what it hears back.

The loader knows only the shapes and the protocol in `telemetry.port`; it is handed something that fulfils it, or None.
"""
