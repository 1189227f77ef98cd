package json

import (
	"testing"

	"github.com/edge-runtime/edge/bindings/bindingtest"
	"github.com/edge-runtime/edge/isolate/op"
)

func TestJSON(t *testing.T) {
	bindingtest.Run(t, Kind(), []bindingtest.Case{
		{Name: "a struct", CUE: `json: {a: [1, 2.5, null, true], "b c": "x"}`, Want: op.JSON([]byte(`{"a":[1,2.5,null,true],"b c":"x"}`))},
		{Name: "null", CUE: `json: null`, Want: op.JSON([]byte(`null`))},
		{Name: "a string", CUE: `json: "x"`, Want: op.JSON([]byte(`"x"`))},
		{Name: "an empty list", CUE: `json: []`, Want: op.JSON([]byte(`[]`))},
		{Name: "a field without a value", CUE: `json: a: b: int`, Mistake: "services.worker.worker.bindings.BOUND.json.a.b: has no value yet, only the constraint int"},
		{Name: "a conflict", CUE: `json: a: 1, json: a: 2`, Mistake: "conflicting values"},
	})
}
