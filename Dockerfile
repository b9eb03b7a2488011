# Pinned by the digest of the index of all platforms; the tag is for people. A release takes the newest
# digests: docker buildx imagetools inspect node:20-bookworm
ARG BUILD_IMAGE=node:20.20.2-bookworm@sha256:8f693eaa7e0a8e71560c9a82b55fd54c2ae920a2ba5d2cde28bac7d1c01c9ba5
ARG RUNTIME_IMAGE=node:20.20.2-bookworm-slim@sha256:2cf067cfed83d5ea958367df9f966191a942351a2df77d6f0193e162b5febfc0

FROM ${BUILD_IMAGE} AS build
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY tsconfig.json tsconfig.build.json ./
COPY scripts ./scripts
COPY schemas ./schemas
COPY examples/platform ./examples/platform
COPY src ./src
COPY LICENSE ./
# The image has what the package has: the bundles, and beside them the libraries that fit one platform.
RUN npm run build \
  && npm prune --omit=dev --ignore-scripts \
  && mkdir /app \
  && tar -xzf "$(npm pack --silent --ignore-scripts)" -C /app --strip-components=1 \
  && mv node_modules /app/node_modules

FROM ${RUNTIME_IMAGE}
RUN apt-get update \
  && apt-get install --yes --no-install-recommends git gpg openssh-client ca-certificates tini \
  && rm -rf /var/lib/apt/lists/* \
  && install -d -o node -g node /data
WORKDIR /app
# Memory of glibc: few arenas, and freed buffers from 128 KiB on go back to the system (docs/operations.md).
ENV NODE_ENV=production \
    MALLOC_ARENA_MAX=2 \
    MALLOC_MMAP_THRESHOLD_=131072 \
    MALLOC_TRIM_THRESHOLD_=131072 \
    GITPLANE_DATA_DIR=/data \
    GITPLANE_LISTEN=0.0.0.0:8443
COPY --from=build /app ./
USER node
VOLUME /data
# Clients, and other replicas.
EXPOSE 8443 8444
# /livez answers from the first second; /healthz and /readyz wait for a long first start.
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
  CMD ["node", "dist/cli/probe.js", "https://127.0.0.1:8443/livez"]
ENTRYPOINT ["tini", "--", "node", "dist/main.js"]
CMD ["serve"]
