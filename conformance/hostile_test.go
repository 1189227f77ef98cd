package conformance

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/edge-runtime/edge/internal/programtest"
	"github.com/edge-runtime/edge/isolate/outcome"
)

// TestMain lets the test binary be the program under attack.
func TestMain(m *testing.M) { programtest.Main(m) }

// attack is one request that does harm, made of a tenant of its own, and how it
// may end.
type attack struct {
	tenant
	path string
	want []outcome.Outcome
	// cpu bounds what the log says of the request's CPU time, in milliseconds.
	cpu float64
}

// attacks makes a tenant for each name of a group, asked for as /group/name.
func attacks(main, group string, limits map[string]any, names string, want ...outcome.Outcome) []attack {
	var list []attack
	for _, name := range strings.Fields(names) {
		list = append(list, attack{
			tenant: tenant{name: strings.ReplaceAll(group+"-"+name, "_", "-"), main: main, limits: limits},
			path:   "/" + group + "/" + name, want: want,
		})
	}
	return list
}

// The CPU limit of scripts that spin, and how far above it the log may be: some
// stops are late.
const spinLimit, spinSlack = 100, 10

var (
	spinning = map[string]any{"cpu": fmt.Sprintf("%dms", spinLimit), "memory": "64MiB", "buffers": "32MiB"}
	// hoarding leaves time to run into the limits of memory.
	hoarding = map[string]any{"cpu": "20s", "memory": "24MiB", "buffers": "24MiB"}
	// recursing leaves time to unwind.
	recursing = map[string]any{"cpu": "5s", "memory": "64MiB"}
)

// bombs are the attacks of bombs.js.
func bombs() []attack {
	const (
		cpu, memory, fatal = outcome.CPUExceeded, outcome.MemoryExceeded, outcome.Fatal
		thrown, ok         = outcome.Exception, outcome.OK
	)
	spins := attacks("bombs.js", "cpu", spinning, `
		loop loop_of_builtins loop_in_finally loop_that_catches loop_in_getter loop_in_to_string loop_in_comparator
		loop_in_replacer loop_in_reviver loop_in_proxy loop_in_prepare_stack_trace loop_in_error_name
		loop_in_returned_thenable loop_in_header_list loop_after_await await_loop microtasks queued_microtasks thenables
		async_generator endless_stream endless_pipe regexp regexp_backreference regexp_replace wasm_loop timers busy_timers
		event_loop console_loop listeners finalizers
		sort json replace_all bigint normalize index_of url clone base64`, cpu)
	for i := range spins {
		spins[i].cpu = spinLimit * spinSlack
	}
	return slices.Concat(spins,
		attacks("bombs.js", "memory", hoarding, `
			small_objects closures large_arrays arrays_of_132_kb nested_arrays strings joined_string object_keys spread
			promises microtask_flood stream_queue headers form abort_signals wasm_tables`, memory, fatal),
		// There is a bound on their number, or on their size.
		attacks("bombs.js", "memory", hoarding, `timers_flood typed_from flatten`, thrown, memory, fatal),
		// These make V8 give the isolate up.
		attacks("bombs.js", "memory", hoarding, `
			fill map set split from json_doubling regexp_split concat`, fatal, memory),
		attacks("bombs.js", "buffers", hoarding, `
			array_buffers small_array_buffers one_array_buffer resizable resizable_reserve transfer clones encoder blobs
			wasm_memories wasm_grow_js`, thrown, memory),
		// Memory that nobody has touched is address space alone.
		attacks("bombs.js", "buffers", hoarding, `wasm_memory`, thrown, memory, ok),
		// V8 does not look up from a compiled loop of memory.grow for seconds.
		attacks("bombs.js", "buffers", spinning, `wasm_grow`, memory, cpu),
		attacks("bombs.js", "recursion", recursing, `
			plain getter to_string to_json deep_json proxy proxy_chain constructor_of_itself deep_clone clone_getter headers
			request url replace sort async_function regexp flat join wasm error_cause stack_trace`, thrown),
		attacks("bombs.js", "recursion", recursing, `
			deep_json_text dispatch console console_getter regexp_classes bind_chain then_chain`, ok),
	)
}

// oddities are the attacks of weird.js.
func oddities() []attack {
	thrown := `null undefined number nan bigint string empty_string symbol function object_without_prototype array
		revoked_proxy hostile_proxy proxy_of_error stack_getter_throws stack_getter_changes name_getter_throws
		message_getter_throws message_is_object name_is_symbol stack_is_number stack_is_huge huge_message huge_name
		lone_surrogates log_forgery response promise thenable dom_exception aggregate cause_of_itself prepared_stack`
	return slices.Concat(
		attacks("weird.js", "thrown", nil, thrown, outcome.Exception),
		attacks("weird.js", "rejected", nil, thrown, outcome.Exception),
		attacks("weird.js", "returned", nil, `nothing null text object array prototype inherits proxy hostile_proxy
			revoked_proxy error_response request used locked thenable_that_throws promise_with_then promise_of_other_class
			constructor_getter rejects_later class_that_looks`, outcome.Exception),
		attacks("weird.js", "returned", nil, `same_twice`, outcome.OK),
	)
}

// oneTenant merges the tenants of attacks that do no lasting harm.
func oneTenant(list []attack, name string) []attack {
	for i := range list {
		list[i].tenant.name = name
	}
	return list
}

// startUps are tenants that do not start. They are the last by name, so that they
// start with their first request.
func startUps() []attack {
	limits := map[string]any{"startupCpu": "100ms", "startupWall": "2s", "memory": "24MiB"}
	wait := map[string]any{"startupCpu": "10s", "startupWall": "300ms"}
	last := func(main string, limits map[string]any, want ...outcome.Outcome) attack {
		name, _, _ := strings.Cut(main, ".")
		return attack{tenant: tenant{name: "zz-" + strings.ReplaceAll(name, "_", "-"), main: main, limits: limits}, path: "/", want: want}
	}
	return []attack{
		last("boot_loop.js", limits, outcome.BootLimit),
		last("boot_await_loop.js", limits, outcome.BootLimit),
		last("boot_then.js", limits, outcome.BootLimit),
		last("boot_slow.js", wait, outcome.BootLimit),
		last("boot_throw.js", limits, outcome.BootFailed),
		last("boot_throw_null.js", limits, outcome.BootFailed),
		last("boot_never.js", limits, outcome.BootFailed),
		last("boot_memory.js", map[string]any{"startupCpu": "10s", "memory": "24MiB"}, outcome.MemoryExceeded, outcome.Fatal),
		last("boot_fatal.js", map[string]any{"startupCpu": "20s", "memory": "24MiB"}, outcome.Fatal, outcome.MemoryExceeded),
	}
}

// TestHostile serves many hostile tenants beside innocent ones, lets each do its
// worst, and looks at how each request ends, at whether the process lives and
// gives back what it took, and at every request of the innocent.
func TestHostile(t *testing.T) {
	bombs, odd, starts := bombs(), oneTenant(oddities(), "weird"), startUps()
	warm := tenant{name: "innocent", main: "innocent.js"}
	var cold, tenants []tenant
	for i := range 25 {
		cold = append(cold, tenant{name: fmt.Sprintf("zy-cold-%02d", i), main: "innocent.js"})
	}
	s := newSuite()
	tenants = append(append(tenants, warm, odd[0].tenant), cold...)
	for _, a := range slices.Concat(bombs, starts) {
		tenants = append(tenants, a.tenant)
	}
	tenants = append(tenants, s.tenants()...)
	s.relay = startRelay(t)
	s.victim = startVictim(t, tenants, s.services(), map[string]any{
		"http": map[string]any{},
		"big":  map[string]any{"bodySize": "1GiB"},
	}, map[string]any{"drainTimeout": "1s"})
	s.relay.to.Store(&s.victim.address)
	v := s.victim
	v.complete(t, "bombs.js", bombs[0].tenant, bombs)
	v.complete(t, "weird.js", odd[0].tenant, odd)
	v.ask(t, warm, "/?n=1")
	before := v.usage(t)
	b := v.watch(warm, cold)

	for group, list := range map[string][]attack{"bombs": bombs, "start-ups": starts, "oddities": odd} {
		t.Run(group, func(t *testing.T) { v.runAll(t, list) })
	}
	t.Run("others", s.run)
	b.finish(t)
	v.alive(t)
	close(s.relay.stop)
	v.aftermath(t, before)
}

// complete checks that each attack that a file knows is made.
func (v *victim) complete(t *testing.T, file string, tt tenant, list []attack) {
	t.Helper()
	var groups map[string][]string
	if err := json.Unmarshal([]byte(v.ask(t, tt, "/list").body), &groups); err != nil {
		t.Fatal(err)
	}
	made := map[string]bool{}
	for _, a := range list {
		made[a.path] = true
	}
	for group, names := range groups {
		for _, name := range names {
			if path := "/" + group + "/" + name; !made[path] {
				t.Errorf("%s has %s, and nobody asks for it", file, path)
			}
		}
	}
}

func (v *victim) runAll(t *testing.T, list []attack) {
	for _, a := range list {
		t.Run(strings.TrimPrefix(a.path, "/")+" of "+a.name, func(t *testing.T) {
			t.Parallel()
			v.runOne(t, a)
		})
	}
}

func (v *victim) runOne(t *testing.T, a attack) {
	got := v.ask(t, a.tenant, a.path)
	got.checkFailure(t, v.dir, a.want...)
	if a.cpu > 0 {
		r := v.await(t, "the request's record", func(r *logRecord) bool { return r.Msg == "request" && r.Host == a.host() && r.Path == a.path })
		if r.CPU > a.cpu || r.CPU < spinLimit*0.9 {
			t.Errorf("the request took %v ms of CPU time, with a limit of %d ms", r.CPU, spinLimit)
		}
	}
	if strings.HasPrefix(a.name, "zz-boot") {
		return
	}
	v.healthy(t, a.tenant)
}

func readAll(resp *http.Response) (string, error) {
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}
