# The programs of Pawl in one small image: api, worker, reaper and pawl in /usr/local/bin. VERSION is what they say of themselves:
#
#   docker build --build-arg VERSION="$(git describe --always --dirty)" -t pawl .
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-X github.com/pawl-run/pawl/internal/version.release=$VERSION" -o /out/ ./cmd/...

FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /out/ /usr/local/bin/
CMD ["/usr/local/bin/pawl", "--help"]
