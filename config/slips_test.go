package config

import "testing"

func TestSlip(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		`payments-only: network: {}`:              `a name with a dash stands in quotes: "payments-only"`,
		`services: {a-b-c: worker: main: "a.js"}`: `a name with a dash stands in quotes: "a-b-c"`,
		`limits: cpu: 50ms`:                       `a number with a unit stands in quotes: "50ms"`,
		`limits: {memory: 1.5GiB, queue: 1}`:      `a number with a unit stands in quotes: "1.5GiB"`,
		`http: address: *:8080`:                   `an address stands in quotes: "*:8080"`,
		`address: 10.0.0.7:80`:                    `an address stands in quotes: "10.0.0.7:80"`,
		`path: ./public`:                          `a path stands in quotes: "./public"`,
		`"payments-only": network: {`:             "",
		`x: {a: 1 b: 2} // a-b: 50ms`:             "",
		`text: "say 50ms to a-b: x" y`:            "",
		``:                                        "",
	} {
		if got := slip(line); got != want {
			t.Errorf("slip(%s) = %q, want %q", line, got, want)
		}
	}
}

func TestLineOf(t *testing.T) {
	t.Parallel()
	for n, want := range []string{"", "a", "b", "", "d", ""} {
		if got := lineOf("a\nb\r\n\nd", n); got != want {
			t.Errorf("line %d is %q, want %q", n, got, want)
		}
	}
}
