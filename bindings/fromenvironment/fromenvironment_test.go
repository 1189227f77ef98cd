package fromenvironment

import (
	"testing"

	"github.com/edge-runtime/edge/bindings/bindingtest"
	"github.com/edge-runtime/edge/isolate/op"
)

func TestFromEnvironment(t *testing.T) {
	env := map[string]string{"API_KEY": "s3cret", "EMPTY": ""}
	bindingtest.Run(t, Kind(), []bindingtest.Case{
		{Name: "a variable", CUE: `fromEnvironment: "API_KEY"`, Env: env, Want: op.String("s3cret")},
		{Name: "an empty variable is set", CUE: `fromEnvironment: "EMPTY"`, Env: env, Want: op.String("")},
		{Name: "an unset variable", CUE: `fromEnvironment: "API_KEE"`, Env: env, Mistake: `environment variable "API_KEE" is not set`},
		{Name: "no name", CUE: `fromEnvironment: ""`, Env: env, Mistake: "is empty"},
		{Name: "a number", CUE: `fromEnvironment: 1`, Env: env, Mistake: "should be a string"},
	})
}
