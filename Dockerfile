# One image for every program of Fairlead; the command chooses which one runs.
# Helm installs add-ons. Go verifies the module against its checksum database.
FROM golang:1.25-bookworm@sha256:3b4a11519ad929d1e1d261a12cff056f0c85b735253d7d861346b9c6f8b36437 AS helm
RUN CGO_ENABLED=0 GOFLAGS=-mod=mod go install -trimpath -ldflags "-s -w -X helm.sh/helm/v3/internal/version.version=v3.19.5" helm.sh/helm/v3/cmd/helm@v3.19.5

FROM node:24-bookworm-slim@sha256:6f7b03f7c2c8e2e784dcf9295400527b9b1270fd37b7e9a7285cf83b6951452d AS build
WORKDIR /fairlead
COPY package.json package-lock.json .npmrc nx.json tsconfig.json tsconfig.base.json ./
COPY apps/ apps/
COPY libs/ libs/
COPY tools/ tools/
COPY docs/openapi.json docs/
RUN npm ci --ignore-scripts && node tools/generate/client.mjs && npx tsc -b && node tools/bundle.mjs && node tools/page.mjs
# What only `fairlead up` needs, PostgreSQL's programs above all, is optional to npm: here it has a container of its own.
RUN npm prune --omit=dev --omit=optional --ignore-scripts

FROM node:24-bookworm-slim@sha256:6f7b03f7c2c8e2e784dcf9295400527b9b1270fd37b7e9a7285cf83b6951452d
# The volumes get their owner and their mode from these folders when they are new.
RUN useradd --system --uid 10001 --create-home --home-dir /home/fairlead fairlead \
 && install -d -m 0755 -o fairlead -g fairlead /nats /bundles \
 && install -d -m 0700 -o fairlead -g fairlead /data /secrets/gateway /secrets/gateway-token /secrets/infra-svc /secrets/bootstrap-svc /secrets/upgrade-svc /secrets/revoker /secrets/tunnel /secrets/nats /secrets/postgres
WORKDIR /fairlead
COPY --from=build /fairlead ./
COPY --from=helm /go/bin/helm /usr/local/bin/helm
USER fairlead
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8080 PAGE_DIR=/fairlead/apps/web/dist/page HELM_PROGRAM=/usr/local/bin/helm
# Less memory for each service (docs/adr/0085-services-and-nats-run-with-memory-saving-settings.md).
ENV NODE_OPTIONS="--v8-pool-size=2 --max-semi-space-size=4" MALLOC_MMAP_THRESHOLD_=262144 MALLOC_TRIM_THRESHOLD_=262144
EXPOSE 8080
ENTRYPOINT ["node"]
CMD ["apps/gateway/dist/bundle.mjs"]
