# docker build -t tallyd .
# docker run -p 8780:8780 --read-only --cap-drop ALL --security-opt no-new-privileges --tmpfs /tmp \
#   -v tallyd-data:/var/lib/tallyd -v ./tallyd.toml:/etc/tallyd/tallyd.toml:ro tallyd
#
# The file that is mounted needs listen = "0.0.0.0:8780", tokens, and TLS or plaintext = true
# (docs/operations.md, "As a container"). The one in the image listens on the container's own loopback
# alone: it is good for `docker exec` and --network host.
# BASE: another Debian 12 than the registry's, as one of debootstrap.
ARG BASE=debian:12-slim

FROM ${BASE} AS build
WORKDIR /src
COPY .ci/setup .ci/setup
RUN .ci/setup build
COPY . .
RUN cmake --preset release -DBUILD_TESTING=OFF && ninja -C build tallyd && strip build/tallyd

FROM ${BASE} AS tallyd
RUN apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends \
    libabsl20220623 libfmt9 libgrpc++1.51 libgrpc29 libmimalloc2.0 libprometheus-cpp-core1.0 libprotobuf32 libre2-9 \
    libsimdjson14 libsnappy1v5 libspdlog1.10 libssl3 libsystemd0 libtomlplusplus3 libxxhash0 libzstd1 zlib1g \
    && rm -rf /var/lib/apt/lists/* \
    && install -d -m 0700 -o 65532 -g 65532 /var/lib/tallyd
COPY --from=build /src/build/tallyd /usr/bin/tallyd
COPY --from=build /src/systemd/tallyd.toml /etc/tallyd/tallyd.toml
USER 65532:65532
VOLUME /var/lib/tallyd
HEALTHCHECK --interval=10s --timeout=10s --start-period=60s \
    CMD ["/usr/bin/tallyd", "health", "--config", "/etc/tallyd/tallyd.toml"]
ENTRYPOINT ["/usr/bin/tallyd"]
CMD ["serve", "--config", "/etc/tallyd/tallyd.toml"]
