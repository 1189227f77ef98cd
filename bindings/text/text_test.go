package text

import (
	"testing"

	"github.com/edge-runtime/edge/bindings/bindingtest"
	"github.com/edge-runtime/edge/isolate/op"
)

func TestText(t *testing.T) {
	bindingtest.Run(t, Kind(), []bindingtest.Case{
		{Name: "a string", CUE: `text: "hello"`, Want: op.String("hello")},
		{Name: "the empty string", CUE: `text: ""`, Want: op.String("")},
		{Name: "beyond ASCII, with a NUL", CUE: `text: "gr\u00fc\u00df \U0001F600 \u0000"`, Want: op.String("gr\u00fc\u00df \U0001F600 \x00")},
		{Name: "computed by CUE", CUE: `text: "a" + "b"`, Want: op.String("ab")},
		{Name: "a number", CUE: `text: 5`, Mistake: `is 5, should be a string (such as "hello")`},
		{Name: "no value", CUE: `text: string`, Mistake: "has no value yet"},
	})
}
