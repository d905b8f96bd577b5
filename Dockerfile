ARG VERSION=0.1.0

FROM --platform=$BUILDPLATFORM docker.io/library/golang:1.26.8-bookworm AS build
WORKDIR /src
COPY . .
ARG TARGETOS TARGETARCH VERSION
ENV GOCACHE=/cache/build GOMODCACHE=/cache/modules
RUN --mount=type=cache,target=/cache \
    CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -buildvcs=false -ldflags "-s -w -buildid= -X main.version=$VERSION" -o /out/reroll ./cmd/reroll \
 && mkdir /out/data /out/licenses \
 && cp LICENSE api/ui/dist/NOTICE.txt /out/licenses

FROM scratch
ARG VERSION REVISION
LABEL org.opencontainers.image.title="reroll" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION" \
      org.opencontainers.image.source="https://github.com/reroll-dev/reroll" \
      org.opencontainers.image.licenses="Apache-2.0"
# Authorities for an external NATS with a public certificate.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /out/reroll /reroll
COPY --from=build /out/licenses /licenses
# An empty folder of the right owner: a new volume mounted here takes its owner over.
COPY --from=build --chown=65532:65532 /out/data /var/lib/reroll
USER 65532:65532
EXPOSE 8080 9090 9443 9444
ENTRYPOINT ["/reroll"]
CMD ["serve", "--data-dir=/var/lib/reroll"]
