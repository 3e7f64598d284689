# The programs of Pawl in one small image: api, worker, reaper and pawl in /usr/local/bin.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -o /out/ ./cmd/...

FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /out/ /usr/local/bin/
CMD ["/usr/local/bin/pawl", "--help"]
