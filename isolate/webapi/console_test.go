package webapi

import (
	"strings"
	"testing"

	"github.com/edge-runtime/edge/isolate/op"
)

func TestLogGoesToTheHost(t *testing.T) {
	t.Parallel()
	h := &recordingHost{}
	log := consoleOps()[0]
	call := op.NewCall(h, nil, 7, 0, []op.Value{op.String("warn"), op.String("h\u00e9llo")})
	if err := log.Func(call); err != nil {
		t.Fatal(err)
	}
	if got, want := h.lines, []logLine{{"warn", 7, "h\u00e9llo"}}; len(got) != 1 || got[0] != want[0] {
		t.Errorf("host got %v, want %v", got, want)
	}
}

func TestLogRefusesUnknownLevels(t *testing.T) {
	t.Parallel()
	h := &recordingHost{}
	err := consoleOps()[0].Func(op.NewCall(h, nil, 0, 0, []op.Value{op.String("loud"), op.String("x")}))
	if err == nil || !strings.Contains(err.Error(), `unknown level "loud"`) {
		t.Errorf("error is %v, want one that names the level", err)
	}
	if len(h.lines) != 0 {
		t.Errorf("host got %v, want nothing", h.lines)
	}
}

func TestClipLog(t *testing.T) {
	t.Parallel()
	fits := strings.Repeat("a", maxLogBytes)
	tests := []struct{ name, text, want string }{
		{"short text stays", "abc", "abc"},
		{"text at the limit stays", fits, fits},
		{"longer text is cut and counted", fits + "bcd", fits + "... 3 more bytes"},
		{"no character is cut in two", fits[1:] + "\u20ac!", fits[1:] + "... 4 more bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := clipLog(tt.text); got != tt.want {
				t.Errorf("got %d bytes ending in %q, want %d ending in %q", len(got), tail(got), len(tt.want), tail(tt.want))
			}
		})
	}
}

func tail(s string) string { return s[max(0, len(s)-24):] }
