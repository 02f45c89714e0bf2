# The loader with CPU torch, and the demo's training job. Build from the root: docker build -f docker/trainer.Dockerfile .

FROM python:3.13-slim-bookworm AS wheel
WORKDIR /src
COPY loader/ loader/
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels ./loader

FROM python:3.13-slim-bookworm
# Where pip finds torch; unset, the default registry, whose build for Linux brings CUDA along. PyTorch's own index of
# CPU builds makes a small image.
ARG TORCH_INDEX_URL=
RUN pip install --no-cache-dir ${TORCH_INDEX_URL:+--index-url "$TORCH_INDEX_URL"} "torch>=2.6"
RUN useradd --uid 10001 --user-group --home-dir /var/lib/headrace --create-home --shell /usr/sbin/nologin headrace \
    && install -d -o headrace -g headrace -m 0700 /run/headrace-keys
COPY --from=wheel /wheels/ /tmp/wheels/
RUN pip install --no-cache-dir "$(ls /tmp/wheels/headrace-*.whl)[demo]" && rm -r /tmp/wheels
COPY --chmod=0755 docker/demo-job.sh /usr/local/bin/headrace-demo-job
USER headrace
WORKDIR /var/lib/headrace
ENV HEADRACE_CACHE=/var/lib/headrace/cache \
    OMP_NUM_THREADS=1 \
    PYTHONUNBUFFERED=1
CMD ["headrace-demo-job"]
