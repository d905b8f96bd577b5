FROM --platform=$BUILDPLATFORM docker.io/library/golang:1.26.8-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG TARGETOS TARGETARCH VERSION=0.1.0
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -buildvcs=false -ldflags "-s -w -buildid= -X main.version=$VERSION" -o /out/reroll ./cmd/reroll \
 && mkdir /out/data /out/licenses \
 && cp LICENSE /out/licenses \
 && go run ./tests/licenses /out/reroll > /out/licenses/THIRD_PARTY_LICENSES

FROM scratch
LABEL org.opencontainers.image.title="reroll" \
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
