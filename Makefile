# make run     build bin/edge and serve samples/hello on http://127.0.0.1:8080/
# make test    everything that is tested
# make lint    gofmt, go vet, staticcheck, generated lists
# make gen     write the generated lists
# make bench   the benchmarks

GO ?= go
# Pinned: 0.8.2 is the release 2026.2.2.
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
# The rooms with concurrency of their own, tested again with the race detector.
RACE = ./assemble ./isolate ./isolate/webapi ./net/... ./vfs

.PHONY: run build test gen lint bench headers tools

run: build
	./bin/edge serve samples/hello/config.cue

build: headers
	$(GO) build -trimpath -o bin/edge .

test: headers
	$(GO) vet ./...
	$(GO) test -timeout 20m ./...
	$(GO) test -race -short -timeout 20m $(RACE)

gen:
	$(GO) run ./internal/gen

lint: headers
	@files=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$files" ]; then echo "gofmt -w $$files"; exit 1; fi
	$(GO) vet ./...
	$(GO) run ./internal/gen -check
	$(GO) run $(STATICCHECK) ./...

bench: build
	$(GO) run ./bench

# The headers of V8 are in a Go module; this links them into isolate/v8.
headers: tools
	@$(GO) generate ./isolate/v8

tools:
	@command -v $(GO) >/dev/null || { echo "Go is missing: install Go 1.26 or newer from https://go.dev/dl/"; exit 1; }
	@command -v $${CXX:-g++} >/dev/null || { echo "a C++ compiler is missing: apt-get install g++"; exit 1; }
	@command -v git >/dev/null || { echo "git is missing: apt-get install git"; exit 1; }
