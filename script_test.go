package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/edge-runtime/edge/internal/programtest"
)

func TestMain(m *testing.M) { programtest.Main(m) }

// TestScripts runs testdata/script/*.txtar. Beside the commands of testscript
// they have:
//
//	edge args...            runs the program to its end
//	start name args...      starts the program in the background
//	log name pattern [n]    waits for the n-th line (1) of its output that matches
//	signal name SIG...      sends a signal
//	exit name code          waits for its end and compares the exit code
//	http [-H h] [-d body] [-until pattern] [-status n] method url [pattern...]
//	                        asks a server, which may just be starting, and looks
//	                        for patterns in status line, headers and body; with
//	                        -until it asks until that pattern is there, with !
//	                        until nobody answers
//	freeport name           sets a variable to a port that nobody listens on
//	listen name             the same, and listens on it
//	cmp-code n              compares the exit code of the last edge
//	start-request name url  asks in the background
//	finish-request name pattern
//	                        waits for the answer
//	setport file port       puts a port in the place of PORT in a file
//	replace file old new    edits a file the way editors do: write, then rename
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Values["programs"] = map[string]*programtest.Process{}
			env.Values["requests"] = map[string]chan string{}
			env.Setenv("EDGE_ADMIN_ADDR", "off")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"edge": runProgram, "start": start, "log": waitForLog, "signal": sendSignal, "exit": waitForExit,
			"http": askServer, "freeport": freePort, "listen": listen, "replace": replace,
			"cmp-code": compareCode, "start-request": startRequest, "finish-request": finishRequest, "setport": setPort,
		},
	})
}

// usage fails a script whose command is not used as it should be.
func usage(ts *testscript.TestScript, ok bool, text string) {
	if !ok {
		ts.Fatalf("usage: %s", text)
	}
}

func runProgram(ts *testscript.TestScript, neg bool, args []string) {
	ctx, cancel := context.WithTimeout(context.Background(), programtest.Patience)
	defer cancel()
	cmd := programtest.Command(ctx, args...)
	cmd.Dir = ts.Getenv("WORK")
	cmd.Env = append(cmd.Env, "EDGE_ADMIN_ADDR=off")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	_, _ = ts.Stdout().Write(stdout.Bytes()) // into the script's memory
	_, _ = ts.Stderr().Write(stderr.Bytes())
	code := cmd.ProcessState.ExitCode()
	if neg != (err != nil) {
		ts.Fatalf("edge %s ended with %d\n%s%s", strings.Join(args, " "), code, &stdout, &stderr)
	}
	ts.Setenv("code", strconv.Itoa(code))
}

func program(ts *testscript.TestScript, name string) *programtest.Process {
	p := ts.Value("programs").(map[string]*programtest.Process)[name]
	if p == nil {
		ts.Fatalf("no program was started as %q", name)
	}
	return p
}

func start(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) > 1, "start name args...")
	p, err := programtest.Start(context.Background(), ts.Getenv("WORK"), []string{"EDGE_ADMIN_ADDR=" + ts.Getenv("EDGE_ADMIN_ADDR")}, args[1:]...)
	ts.Check(err)
	ts.Value("programs").(map[string]*programtest.Process)[args[0]] = p
	ts.Defer(func() {
		p.Kill()
		ts.Logf("[output of %s]\n%s", args[0], p.Output())
	})
}

func waitForLog(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) == 2 || len(args) == 3, "[!] log name pattern [n]")
	n := 1
	if len(args) == 3 {
		var err error
		n, err = strconv.Atoi(args[2])
		ts.Check(err)
	}
	p := program(ts, args[0])
	if neg {
		if found, err := regexp.MatchString("(?m)"+args[1], p.Output()); err != nil || found {
			ts.Fatalf("the output has a line like %q (%v)", args[1], err)
		}
		return
	}
	_, err := p.WaitFor(args[1], n)
	ts.Check(err)
}

func sendSignal(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) > 1, "signal name SIG...")
	for _, name := range args[1:] {
		sig, ok := map[string]syscall.Signal{"SIGHUP": syscall.SIGHUP, "SIGTERM": syscall.SIGTERM, "SIGINT": syscall.SIGINT}[name]
		usage(ts, ok, "SIGHUP, SIGTERM or SIGINT")
		ts.Check(program(ts, args[0]).Signal(sig))
	}
}

func waitForExit(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 2, "exit name code")
	code, err := program(ts, args[0]).Wait()
	ts.Check(err)
	if strconv.Itoa(code) != args[1] {
		ts.Fatalf("the program ended with %d, want %s\n%s", code, args[1], program(ts, args[0]).Output())
	}
}

// query is the arguments of http.
type query struct {
	headers     []string
	body, until string
	status      int
	method, url string
	patterns    []string
}

func parseQuery(ts *testscript.TestScript, args []string) query {
	const text = "http [-H header] [-d body] [-until pattern] [-status n] method url [pattern...]"
	var q query
	for len(args) > 1 && strings.HasPrefix(args[0], "-") {
		switch args[0] {
		case "-H":
			q.headers = append(q.headers, args[1])
		case "-d":
			q.body = args[1]
		case "-until":
			q.until = args[1]
		case "-status":
			n, err := strconv.Atoi(args[1])
			ts.Check(err)
			q.status = n
		default:
			usage(ts, false, text)
		}
		args = args[2:]
	}
	usage(ts, len(args) >= 2, text)
	q.method, q.url, q.patterns = args[0], args[1], args[2:]
	return q
}

func askServer(ts *testscript.TestScript, neg bool, args []string) {
	q := parseQuery(ts, args)
	deadline := time.Now().Add(programtest.Patience)
	for {
		text, status, err := q.ask()
		switch {
		case neg && err != nil:
			return
		case neg && time.Now().Before(deadline):
			time.Sleep(5 * time.Millisecond) // it is just stopping
			continue
		case neg:
			ts.Fatalf("%s answers:\n%s", q.url, text)
		case err == nil && q.until != "" && time.Now().Before(deadline):
			if found, err := regexp.MatchString("(?m)"+q.until, text); err != nil || !found {
				ts.Check(err)
				time.Sleep(5 * time.Millisecond) // between two questions
				continue
			}
			return
		case err != nil && strings.Contains(err.Error(), "connection refused") && time.Now().Before(deadline):
			time.Sleep(5 * time.Millisecond) // it is just starting
			continue
		}
		ts.Check(err)
		_, _ = io.WriteString(ts.Stdout(), text) // into the script's memory
		if q.status != 0 && status != q.status {
			ts.Fatalf("status %d, want %d\n%s", status, q.status, text)
		}
		for _, pattern := range append(q.patterns, q.until) {
			if found, err := regexp.MatchString("(?m)"+pattern, text); err != nil || !found {
				ts.Fatalf("%s does not answer %q (%v) but:\n%s", q.url, pattern, err, text)
			}
		}
		return
	}
}

// ask returns status, headers and body as one text.
func (q query) ask() (string, int, error) {
	req, err := http.NewRequest(q.method, q.url, strings.NewReader(q.body))
	if err != nil {
		return "", 0, err
	}
	for _, h := range q.headers {
		name, value, _ := strings.Cut(h, ":")
		req.Header.Add(name, strings.TrimSpace(value))
		if strings.EqualFold(name, "host") {
			req.Host = strings.TrimSpace(value)
		}
	}
	client := http.Client{Timeout: programtest.Patience, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return "", 0, err
	}
	defer resp.Body.Close()
	var out strings.Builder
	fmt.Fprintf(&out, "%s\n", resp.Status)
	if err := resp.Header.Write(&out); err != nil {
		return "", 0, err
	}
	body, err := io.ReadAll(resp.Body)
	return out.String() + "\n" + string(body), resp.StatusCode, err
}

func freePort(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 1, "freeport name")
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Setenv(args[0], fmt.Sprint(ln.Addr().(*net.TCPAddr).Port))
	ts.Check(ln.Close())
}

func listen(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 1, "listen name")
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { _ = ln.Close() }) // nothing was accepted
	ts.Setenv(args[0], fmt.Sprint(ln.Addr().(*net.TCPAddr).Port))
}

func replace(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 3, "replace file old new")
	path := ts.MkAbs(args[0])
	text, err := os.ReadFile(path)
	ts.Check(err)
	if !strings.Contains(string(text), args[1]) {
		ts.Fatalf("%s holds no %q", args[0], args[1])
	}
	next := filepath.Join(filepath.Dir(path), ".next-"+filepath.Base(path))
	ts.Check(os.WriteFile(next, []byte(strings.Replace(string(text), args[1], args[2], 1)), 0o644))
	ts.Check(os.Rename(next, path))
}

func compareCode(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 1, "cmp-code n")
	if got := ts.Getenv("code"); got != args[0] {
		ts.Fatalf("the exit code is %s, want %s", got, args[0])
	}
}

func startRequest(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 2, "start-request name url")
	answer := make(chan string, 1)
	ts.Value("requests").(map[string]chan string)[args[0]] = answer
	go func() {
		text, _, err := query{method: "GET", url: args[1]}.ask()
		answer <- fmt.Sprint(text, err)
	}()
}

func finishRequest(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 2, "finish-request name pattern")
	text := <-ts.Value("requests").(map[string]chan string)[args[0]]
	if found, err := regexp.MatchString("(?m)"+args[1], text); err != nil || !found {
		ts.Fatalf("the answer has no %q (%v):\n%s", args[1], err, text)
	}
}

func setPort(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 2, "setport file port")
	path := ts.MkAbs(args[0])
	text, err := os.ReadFile(path)
	ts.Check(err)
	ts.Check(os.WriteFile(path, []byte(strings.ReplaceAll(string(text), ":PORT", ":"+args[1])), 0o644))
}
