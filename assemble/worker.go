package assemble

import (
	"path/filepath"

	"github.com/edge-runtime/edge/config"
	"github.com/edge-runtime/edge/isolate"
	"github.com/edge-runtime/edge/isolate/webapi"
	"github.com/edge-runtime/edge/net/fetch"
	"github.com/edge-runtime/edge/vfs"
)

// worker is a service that runs code.
type worker struct {
	name     string
	field    string
	bundle   *vfs.Bundle
	isolate  *isolate.Worker
	resolver *resolver
}

// buildOptions says what a worker's bundle is made from. The configuration's own
// files are nothing that its workers may read, unless a binding hands them out.
func buildOptions(cfg *config.Config, w *config.Worker, dev bool) vfs.BuildOptions {
	opts := vfs.BuildOptions{Root: cfg.Dir, Main: relative(cfg, w.Main), Dev: dev}
	for _, file := range cfg.Files {
		switch filepath.Ext(file) {
		case ".cue":
			opts.Private = append(opts.Private, file)
		}
	}
	if len(w.Modules) > 0 {
		opts.Main = w.Main
	}
	for _, m := range w.Modules {
		opts.Modules = append(opts.Modules, vfs.ModuleSpec{Name: m.Name, Type: moduleTypes[m.Type], File: relative(cfg, m.File)})
	}
	return opts
}

var moduleTypes = map[config.ModuleType]vfs.ModuleType{
	config.ESModule: vfs.ESModule, config.JSONModule: vfs.JSON, config.TextModule: vfs.Text,
	config.DataModule: vfs.Data, config.WasmModule: vfs.Wasm,
}

// relative makes an absolute path relative to the configuration's folder.
func relative(cfg *config.Config, path string) string {
	if rel, err := filepath.Rel(cfg.Dir, path); err == nil {
		return rel
	}
	return path
}

// program is a bundle as the engine wants it. The runtime's own module, vfs.RuntimeKey,
// is the engine's.
func program(b *vfs.Bundle) isolate.ProgramSource {
	src := isolate.ProgramSource{Main: b.Main, Resolve: b.Resolve}
	for _, m := range b.Modules {
		src.Modules = append(src.Modules, isolate.Module{Key: m.Key, Type: isolate.ModuleType(m.Type), Source: m.Source})
	}
	return src
}

// newWorker prepares a worker; it starts with boot or with its first request.
func (a *App) newWorker(s *config.Service, bundle *vfs.Bundle, env []isolate.EnvEntry, r *resolver) (*unit, error) {
	w := &worker{name: s.Name, field: s.Field, bundle: bundle, resolver: r}
	grants := map[string]any{}
	if out := s.Worker.GlobalOutbound; out != "" {
		grants["outbound"] = r.late(out, "")
	}
	var err error
	w.isolate, err = a.runtime.NewWorker(isolate.WorkerConfig{
		Name: s.Name, Program: program(bundle), Env: env, Limits: limits(s.Worker.Limits), Grants: grants,
		Fields:   map[string]string{"outbound": s.Field + ".worker.globalOutbound"},
		Console:  w.console(a.opts.Console),
		MapStack: bundle.MapStack,
	})
	if err != nil {
		return nil, err
	}
	return &unit{
		worker: w,
		fetcher: func(entrypoint string) (fetch.Fetcher, error) {
			f := webapi.NewFetcher(w.isolate, entrypoint, webapi.FetcherOptions{Service: s.Name})
			return idleLimit(f, s.Worker.Limits.Idle), nil
		},
		close: func() error {
			w.isolate.Close()
			return nil
		},
	}, nil
}

// bind is bindings.Env.Service. The loader has checked that the service exists.
func (r *resolver) bind(name, entrypoint string) (fetch.Fetcher, error) {
	return r.late(name, entrypoint), nil
}
