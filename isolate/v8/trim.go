package v8

import "github.com/edge-runtime/edge/isolate"

var _ isolate.Trimmer = (*Engine)(nil)

// Trim implements isolate.Trimmer.
func (e *Engine) Trim() { Trim() }
