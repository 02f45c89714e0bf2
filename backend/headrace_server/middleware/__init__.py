"""What every request passes, outermost first: context, hosts, authentication, bodies. Plain ASGI, streaming-safe."""
