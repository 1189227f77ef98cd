package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/edge-runtime/edge/assemble"
	"github.com/edge-runtime/edge/isolate"
	"github.com/edge-runtime/edge/isolate/outcome"
	edgenet "github.com/edge-runtime/edge/net"
)

// logFlags are the flags of commands that log.
type logFlags struct {
	LogFormat string `help:"How to log: json, text, or auto, which is text on a terminal." enum:"auto,json,text" default:"auto" env:"EDGE_LOG_FORMAT"`
	LogLevel  string `help:"The least that is logged: debug, info, warn or error." enum:"debug,info,warn,error" default:"info" env:"EDGE_LOG_LEVEL"`
	AccessLog string `help:"Which requests are logged: all, failed or none." enum:"all,failed,none" default:"all" env:"EDGE_ACCESS_LOG"`
}

// output is where everything goes that a running server has to say.
type output struct {
	w     *lineWriter
	log   *slog.Logger
	text  bool
	dev   bool
	color bool
	which string // of requests
	// explain finds the source of an exception.
	explain func(service string, err error) assemble.Explanation
}

func newOutput(w io.Writer, flags logFlags, dev bool) (*output, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(flags.LogLevel)); err != nil {
		return nil, err
	}
	o := &output{w: newLineWriter(w), dev: dev, which: flags.AccessLog}
	o.text = flags.LogFormat == "text" || flags.LogFormat == "auto" && (dev || isTerminal(w))
	o.color = o.text && colored(w)
	if o.text {
		o.log = slog.New(&textHandler{w: o.w, level: level, color: o.color})
	} else {
		o.log = slog.New(slog.NewJSONHandler(o.w, &slog.HandlerOptions{Level: level, ReplaceAttr: readable}))
	}
	return o, nil
}

// readable writes durations as people do.
func readable(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	return a
}

func (o *output) close() { o.w.close() }

// request logs one request.
func (o *output) request(r *edgenet.AccessRecord) {
	failed := r.Outcome != outcome.OK && r.Outcome != outcome.Canceled
	if o.which == "none" || o.which == "failed" && !failed {
		return
	}
	level := slog.LevelInfo
	if failed {
		level = slog.LevelWarn
	}
	if r.Outcome == outcome.Exception || r.Outcome == outcome.Fatal || r.Outcome == outcome.BootFailed {
		level = slog.LevelError
	}
	if !o.log.Enabled(context.Background(), level) {
		return
	}
	if o.text {
		o.requestLine(r, failed)
		return
	}
	start := "warm"
	if r.Cold {
		start = "cold"
	}
	attrs := make([]slog.Attr, 0, 18)
	attrs = append(attrs,
		slog.String("outcome", string(r.Outcome)), slog.Int("status", r.Status), slog.String("method", r.Method),
		slog.String("host", r.Host), slog.String("path", r.Path), slog.String("worker", r.Service),
		slog.Float64("cpu_ms", ms(r.CPU)), slog.Float64("wall_ms", ms(r.Wall)), slog.String("start", start),
		slog.String("request", r.RequestID), slog.Int64("bytes_in", r.BytesIn), slog.Int64("bytes_out", r.BytesOut),
		slog.String("client", r.ClientAddr), slog.String("socket", r.Socket))
	if r.Err != nil {
		attrs = append(attrs, slog.String("error", r.Err.Error()))
		if x := o.explain(r.Service, r.Err); x.Stack != "" {
			attrs = append(attrs, slog.String("stack", x.Stack))
		}
	}
	o.log.LogAttrs(context.Background(), level, "request", attrs...)
}

// ms rounds to microseconds.
func ms(d time.Duration) float64 {
	return float64(d.Round(time.Microsecond)) / float64(time.Millisecond)
}

// requestLine shows a request to people: one line, and the source of what it
// threw.
func (o *output) requestLine(r *edgenet.AccessRecord, failed bool) {
	var b strings.Builder
	b.WriteString(o.paint(dim, time.Now().Format(clock)))
	status := fmt.Sprint(r.Status)
	switch {
	case failed || r.Status >= 500:
		status = o.paint(red, status)
	case r.Status >= 400:
		status = o.paint(yellow, status)
	default:
		status = o.paint(green, status)
	}
	fmt.Fprintf(&b, " %s %-4s %s%s", status, printable(r.Method), printable(r.Host), printable(r.Path))
	detail := fmt.Sprintf(" %s %s", r.Service, duration(r.Wall))
	if r.CPU > 0 {
		detail += " cpu " + duration(r.CPU)
	}
	if r.Cold {
		detail += " cold"
	}
	b.WriteString(o.paint(dim, detail))
	if r.Outcome != outcome.OK {
		b.WriteString(" " + o.paint(red, string(r.Outcome)))
	}
	if !o.dev {
		b.WriteString(o.paint(dim, " "+r.RequestID))
	}
	b.WriteByte('\n')
	if r.Err != nil && r.Outcome != outcome.Canceled {
		b.WriteString(indent(o.cause(r.Service, r.Err)))
	}
	o.w.WriteString(b.String())
}

// cause words the error of a request, with its source when a worker threw.
func (o *output) cause(service string, err error) string {
	x := o.explain(service, err)
	if x.Stack == "" {
		return err.Error()
	}
	return x.Render(o.color)
}

// console logs one call of console.
func (o *output) console(r isolate.ConsoleRecord) {
	level := slog.LevelInfo
	switch r.Level {
	case "debug", "trace":
		level = slog.LevelDebug
	case "warn":
		level = slog.LevelWarn
	case "error", "assert":
		level = slog.LevelError
	}
	if !o.text {
		if o.log.Enabled(context.Background(), level) {
			o.log.LogAttrs(context.Background(), level, "console", slog.String("worker", r.Worker), slog.String("level", r.Level),
				slog.String("text", r.Text), slog.String("request", r.Request))
		}
		return
	}
	if !o.dev && !o.log.Enabled(context.Background(), level) {
		return
	}
	head := o.paint(dim, r.Time.Format(clock)) + " " + o.paint(cyan, "["+r.Worker+"]") + " "
	switch level {
	case slog.LevelError:
		head += o.paint(red, r.Level) + " "
	case slog.LevelWarn:
		head += o.paint(yellow, r.Level) + " "
	}
	o.w.WriteString(head + strings.ReplaceAll(strings.TrimRight(harmless(r.Text), "\n"), "\n", "\n    ") + "\n")
}

// loaded reports a load that worked.
func (o *output) loaded(r *assemble.Report, path string, first bool) {
	for _, w := range r.Warnings {
		o.log.Warn(w)
	}
	if first {
		o.log.Info("loaded", "config", path, "services", r.Services, "workers", r.Started, "took", duration(r.Took))
	} else {
		level := slog.LevelInfo
		if r.Unchanged {
			level = slog.LevelDebug
		}
		o.log.Log(context.Background(), level, "reloaded", "config", path, "started", r.Started, "kept", r.Kept, "took", duration(r.Took))
	}
	if first && r.AdminSubstituted {
		o.log.Warn("the default admin address is in use, another took its place", "address", r.Admin, "hint", "admin: address: \"127.0.0.1:9091\" or \"off\" in the configuration")
	}
	if first && r.Admin != "" {
		o.log.Info("admin", "health", "http://"+r.Admin+"/healthz", "ready", "http://"+r.Admin+"/readyz")
	}
	for _, a := range r.Addresses {
		if !a.New {
			continue
		}
		o.log.Info("listening", "socket", a.Socket, "url", "http://"+browsable(a.Address)+"/")
	}
}

// browsable makes an address that listens everywhere one that a browser opens.
func browsable(address string) string {
	if port, ok := strings.CutPrefix(address, "[::]:"); ok {
		return "localhost:" + port
	}
	if port, ok := strings.CutPrefix(address, "0.0.0.0:"); ok {
		return "localhost:" + port
	}
	return address
}

// loadFailed reports a load that did not work.
func (o *output) loadFailed(err error, serving, dev bool) {
	if errors.Is(err, context.Canceled) {
		return // the server stops
	}
	text, n := mistakes(err, o.color)
	then := "the configuration is not served"
	switch {
	case serving:
		then = "what was served before serves on"
	case dev:
		then = "waiting for a change"
	}
	if o.text {
		o.w.WriteString(text + "\n")
		o.log.Error(plural(n, "mistake") + ": " + then)
		return
	}
	o.log.Error("load configuration", "mistakes", n, "then", then, "error", text)
}
