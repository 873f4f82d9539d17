# docker build -t tallyd .
# docker run --network host --read-only --cap-drop ALL --security-opt no-new-privileges \
#   -v tallyd-data:/var/lib/tallyd tallyd
#
# --network host, because this version listens on loopback only: a published port could not reach it.
# Another configuration: -v /etc/tallyd:/etc/tallyd:ro, with storage.path = "/var/lib/tallyd".

FROM debian:12-slim AS build
WORKDIR /src
COPY .ci/setup .ci/setup
RUN .ci/setup build
COPY . .
RUN cmake --preset release -DBUILD_TESTING=OFF && ninja -C build tallyd && strip build/tallyd

FROM debian:12-slim
RUN apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends \
    curl libfmt9 libmimalloc2.0 libprometheus-cpp-core1.0 libprotobuf32 libsimdjson14 \
    libsnappy1v5 libspdlog1.10 libssl3 libsystemd0 libtomlplusplus3 libxxhash0 libzstd1 zlib1g \
    && rm -rf /var/lib/apt/lists/* \
    && install -d -m 0700 -o 65532 -g 65532 /var/lib/tallyd
COPY --from=build /src/build/tallyd /usr/bin/tallyd
COPY --from=build /src/systemd/tallyd.toml /etc/tallyd/tallyd.toml
USER 65532:65532
VOLUME /var/lib/tallyd
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s \
    CMD ["curl", "-fsS", "-o", "/dev/null", "http://127.0.0.1:8780/healthz"]
ENTRYPOINT ["/usr/bin/tallyd"]
CMD ["serve", "--config", "/etc/tallyd/tallyd.toml"]
