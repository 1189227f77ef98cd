package fetch

import "context"

// Abandoner can answer a request in the place of a Fetcher that does not
// return.
type Abandoner interface {
	// Abandon answers with err at once, from any goroutine, and reports whether
	// it did: false when there was an answer already. What the Fetcher returns
	// later is closed unseen.
	Abandon(err error) bool
}

// AbandonerKey is the key under which a context holds an Abandoner, for contexts
// that bring their own.
type AbandonerKey struct{}

// WithAbandoner returns a context whose Fetch can be abandoned through a.
//
// A Fetcher that calls another Fetcher for a script shields itself with an
// Abandoner of its own, or nil, or else the failure of the inner service would
// answer the outer request.
func WithAbandoner(ctx context.Context, a Abandoner) context.Context {
	return context.WithValue(ctx, AbandonerKey{}, a)
}

// Abandon answers the request that ctx belongs to with err and reports whether
// it did. It serves those who learn, on another goroutine, that a Fetch cannot
// return: its thread is inside code that nothing interrupts.
func Abandon(ctx context.Context, err error) bool {
	a, _ := ctx.Value(AbandonerKey{}).(Abandoner)
	return a != nil && a.Abandon(err)
}
