package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/edge-runtime/edge/bindings/data"
	"github.com/edge-runtime/edge/bindings/service"
	"github.com/edge-runtime/edge/isolate"
	"github.com/edge-runtime/edge/isolate/op"
	"github.com/edge-runtime/edge/isolate/v8"
	"github.com/edge-runtime/edge/isolate/webapi"
	"github.com/edge-runtime/edge/isolate/webapi/webapitest"
	"github.com/edge-runtime/edge/net/fetch"
)

const webapiDir = "../isolate/webapi/testdata"

// TestWebAPI runs every isolate/webapi/testdata/*_test.js in V8, as a worker, each
// test of a file as a request of its own.
func TestWebAPI(t *testing.T) {
	exts, err := webapi.Extensions()
	if err != nil {
		t.Fatal(err)
	}
	internals, err := os.ReadFile(filepath.Join(webapiDir, "internals.js"))
	if err != nil {
		t.Fatal(err)
	}
	exts = append(exts, op.Extension{Name: "internals", Source: string(internals)})
	exts = append(append(exts, service.Kind().Extensions...), data.Kind().Extensions...)
	engine, err := v8.New(v8.Options{Extensions: exts, DomainToASCII: webapi.DomainToASCII})
	if err != nil {
		t.Fatal(err)
	}
	rt := isolate.NewRuntime(isolate.Config{Engine: engine, Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := rt.Close(ctx); err != nil {
			t.Error(err)
		}
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	files, err := fs.Glob(os.DirFS(webapiDir), "*_test.js")
	if err != nil || len(files) < 20 {
		t.Fatalf("found %d test files (%v)", len(files), err)
	}
	harness, err := os.ReadFile("testdata/harness.js")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(file, "_test.js"), func(t *testing.T) { runFile(t, rt, harness, file) })
	}
}

func runFile(t *testing.T, rt *isolate.Runtime, harness []byte, file string) {
	source, err := os.ReadFile(filepath.Join(webapiDir, file))
	if err != nil {
		t.Fatal(err)
	}
	main := fmt.Sprintf("export { default } from \"harness.js\";\nimport %q;\n", file)
	w, err := rt.NewWorker(isolate.WorkerConfig{
		Name: file,
		Program: isolate.ProgramSource{Main: "main.js", Modules: []isolate.Module{
			{Key: "main.js", Source: []byte(main)},
			{Key: "harness.js", Source: harness},
			{Key: file, Source: source},
		}, Resolve: func(spec, _, _ string) (string, error) {
			if spec == "cloudflare:workers" {
				spec = "edge:workers"
			}
			return spec, nil
		}},
		Limits: isolate.Limits{CPU: 20 * time.Second, StartupCPU: 5 * time.Second, Subrequests: 1000,
			Memory: 128 << 20, Buffers: 256 << 20, LogBytes: 1 << 20, Queue: 10},
		Grants:  map[string]any{"outbound": webapitest.Origin()},
		Console: func(r isolate.ConsoleRecord) { t.Logf("console.%s: %s", r.Level, r.Text) },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	f := webapi.NewFetcher(w, "", webapi.FetcherOptions{})
	list, err := get(f, "")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	if err := json.Unmarshal([]byte(list), &names); err != nil || len(names) == 0 {
		t.Fatalf("list of tests: %q (%v)", list, err)
	}
	for i, name := range names {
		t.Run(name, func(t *testing.T) {
			got, err := get(f, fmt.Sprint(i))
			switch {
			case err != nil:
				t.Error(err)
			case got != "":
				t.Error(got)
			}
		})
	}
}

// get asks the worker for a path. A test that never ends fails by its deadline.
func get(f fetch.Fetcher, path string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	resp, err := f.Fetch(ctx, &fetch.Request{Method: "GET", URL: "http://tests.example/" + path, ID: "t" + path})
	if err != nil {
		return "", err
	}
	text, err := resp.Body.ReadAll(1 << 20)
	return string(text), err
}
