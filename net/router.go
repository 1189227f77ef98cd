package edgenet

import (
	"errors"
	"fmt"
	"strings"

	"github.com/edge-runtime/edge/net/fetch"
)

// Handler picks the service of a request. A Server calls it once per request,
// from many goroutines.
type Handler interface {
	// Match returns the route for a host (lower case, without port) and a path
	// (serialised, without query), nil when there is none.
	Match(host, path string) *Route
}

// Route leads the requests of a host and a path to a service.
type Route struct {
	// Host is a name, "*.name" for every name below it at any depth, or "" or "*"
	// for all. Case does not matter, ports are not compared.
	Host string
	// Path is a prefix in whole segments: "/api" takes "/api" and "/api/x", not
	// "/apix"; "/api/" takes only what is below. "" and "/" take all. A trailing
	// "*" changes nothing.
	Path string
	// Service names the Fetcher in logs.
	Service string
	Fetcher fetch.Fetcher
}

// Router is a Handler over a fixed list of routes: the first that matches takes
// the request. Thousands of hosts cost one look-up each.
type Router struct {
	exact    map[string][]*ranked
	wildcard map[string][]*ranked // by the name below "*."
	any      []*ranked
}

// ranked is a route with its place in the list.
type ranked struct {
	Route
	rank int
}

// NewRouter returns a Router over copies of routes. It refuses bad patterns and
// routes that say the same, all at once.
func NewRouter(routes []Route) (*Router, error) {
	r := &Router{exact: map[string][]*ranked{}, wildcard: map[string][]*ranked{}}
	var errs []error
	seen := map[string]string{}
	for i, route := range routes {
		host, wild, err := cleanHostPattern(route.Host)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		path, err := cleanPathPattern(route.Path)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		key := fmt.Sprint(wild, " ", host, path)
		if other, dup := seen[key]; dup {
			errs = append(errs, fmt.Errorf("route host %q path %q leads to %q and to %q", route.Host, route.Path, other, route.Service))
			continue
		}
		seen[key] = route.Service
		route.Path = path
		entry := &ranked{route, i}
		switch {
		case host == "":
			r.any = append(r.any, entry)
		case wild:
			r.wildcard[host] = append(r.wildcard[host], entry)
		default:
			r.exact[host] = append(r.exact[host], entry)
		}
	}
	return r, errors.Join(errs...)
}

// Match implements Handler.
func (r *Router) Match(host, path string) *Route {
	if len(host) > 1 && host[len(host)-1] == '.' {
		host = host[:len(host)-1]
	}
	var best *ranked
	if len(r.exact) > 0 {
		best = first(best, r.exact[host], path)
	}
	if len(r.wildcard) > 0 {
		for rest := host; ; {
			_, below, ok := strings.Cut(rest, ".")
			if !ok {
				break
			}
			best = first(best, r.wildcard[below], path)
			rest = below
		}
	}
	if best = first(best, r.any, path); best == nil {
		return nil
	}
	return &best.Route
}

// first returns the first route of a list that takes path, or best when that
// stands before it.
func first(best *ranked, list []*ranked, path string) *ranked {
	for _, route := range list {
		if best != nil && best.rank < route.rank {
			return best
		}
		if underPath(route.Path, path) {
			return route
		}
	}
	return best
}

// underPath reports whether path is prefix or lies below it; a prefix that ends
// with a slash takes only what is below.
func underPath(prefix, path string) bool {
	if !strings.HasPrefix(path, prefix) {
		return false
	}
	return len(path) == len(prefix) || strings.HasSuffix(prefix, "/") || prefix == "" || path[len(prefix)] == '/'
}

// cleanHostPattern returns the host of a pattern in lower case, "" for all, and
// whether it stands for the names below it.
func cleanHostPattern(pattern string) (host string, wild bool, err error) {
	if pattern == "" || pattern == "*" {
		return "", false, nil
	}
	name, wild := strings.CutPrefix(pattern, "*.")
	b, port, err := appendHost(nil, []byte(name))
	switch {
	case err != nil || strings.Contains(name, "*") || strings.Trim(name, ".") == "":
		return "", false, fmt.Errorf("route host %q is not valid: write a name, \"*.\" and a name, or \"*\"", pattern)
	case len(port) > 0 || strings.HasSuffix(name, ":"):
		return "", false, fmt.Errorf("route host %q has a port: leave it out, the socket decides", pattern)
	}
	return strings.TrimSuffix(string(b), "."), wild, nil
}

// cleanPathPattern returns a path pattern as a prefix, "" for all.
func cleanPathPattern(pattern string) (string, error) {
	path := strings.TrimSuffix(pattern, "*")
	switch {
	case path == "" || path == "/":
		return "", nil
	case path[0] != '/':
		return "", fmt.Errorf("route path %q does not start with a slash", pattern)
	case strings.ContainsAny(path, "*?#"):
		return "", fmt.Errorf("route path %q holds one of *, ? and #: it is a plain prefix", pattern)
	}
	if clean := string(appendPath(nil, []byte(path))); clean != path {
		return "", fmt.Errorf("route path %q is never the path of a request: write %q", pattern, clean)
	}
	return path, nil
}
