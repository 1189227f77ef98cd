package assemble

import (
	"maps"
	"slices"

	"github.com/edge-runtime/edge/config"
)

// Checked is what Check found in a configuration without mistakes.
type Checked struct {
	Services, Workers int
	// Warnings of the bundler, which are no mistakes.
	Warnings []string
}

// Check does what Load does short of running anything: it reads the
// configuration, bundles the workers and reads the folders. It needs no engine.
func Check(path string, opts Options) (*Checked, error) {
	cfg, err := config.Load(path, config.Options{Kinds: opts.Kinds, LookupEnv: opts.LookupEnv})
	if err != nil {
		return nil, err
	}
	a := New(opts)
	defer a.builder.Close()
	var next built
	if err := a.read(cfg, &next); err != nil {
		return nil, err
	}
	c := &Checked{Services: len(cfg.Services)}
	for _, name := range slices.Sorted(maps.Keys(next.bundles)) {
		c.Workers++
		for _, w := range next.bundles[name].Warnings {
			c.Warnings = append(c.Warnings, w.String())
		}
	}
	return c, nil
}
