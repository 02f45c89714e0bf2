# The control plane with the dashboard built in. Build from the root: docker build -f docker/server.Dockerfile .

FROM node:20-bookworm-slim AS dashboard
WORKDIR /src/frontend
COPY frontend/package.json frontend/package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY frontend/ ./
# Vite writes to ../backend/headrace_server/static.
RUN npm run build

FROM python:3.13-slim-bookworm AS wheel
WORKDIR /src
COPY migrations/ migrations/
COPY backend/ backend/
COPY --from=dashboard /src/backend/headrace_server/static/ backend/headrace_server/static/
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels ./backend

FROM python:3.13-slim-bookworm
RUN useradd --uid 10001 --user-group --home-dir /var/lib/headrace --create-home --shell /usr/sbin/nologin headrace \
    && install -d -o headrace -g headrace -m 0700 /run/headrace-keys
COPY --from=wheel /wheels/ /tmp/wheels/
RUN pip install --no-cache-dir /tmp/wheels/*.whl && rm -r /tmp/wheels
USER headrace
WORKDIR /var/lib/headrace
# The server refuses to bind 0.0.0.0 until HEADRACE_SERVER_PUBLIC says that TLS, or nobody else, is in front.
ENV HEADRACE_SERVER_DATA_DIR=/var/lib/headrace \
    HEADRACE_SERVER_HOST=0.0.0.0 \
    PYTHONUNBUFFERED=1
EXPOSE 8400
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8400/readyz', timeout=4)"]
ENTRYPOINT ["headrace-server"]
CMD ["serve"]
