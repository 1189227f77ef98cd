package edgenet

import (
	"strconv"
	"strings"

	"github.com/edge-runtime/edge/isolate/outcome"
	"github.com/edge-runtime/edge/net/fetch"
)

// A request that leaves the process carries its hops along, so that a worker that
// asks itself through a network or another server ends as one that asks itself
// through service bindings does: https://www.rfc-editor.org/rfc/rfc8586
//
// The header is ours to write: what a script or a client puts there can only make
// the way shorter.
const (
	loopHeader = "cdn-loop"
	loopID     = "edge"
)

// readHops returns through how many services of this or of other edge servers a
// request has come.
func readHops(header fetch.Header) int {
	hops := 0
	for _, value := range header.Values(loopHeader) {
		for info := range strings.SplitSeq(value, ",") {
			if ours, n := parseLoop(info); ours {
				hops = max(hops, n)
			}
		}
	}
	return hops
}

// parseLoop reads one entry: whether it is one of ours, and its hops. An entry
// that does not say, or says too much, has come a long way.
func parseLoop(info string) (ours bool, hops int) {
	id, params, _ := strings.Cut(info, ";")
	if !strings.EqualFold(strings.Trim(id, " \t"), loopID) {
		return false, 0
	}
	for param := range strings.SplitSeq(params, ";") {
		name, v, _ := strings.Cut(strings.Trim(param, " \t"), "=")
		if n, err := strconv.ParseUint(v, 10, 16); strings.EqualFold(name, "hops") && err == nil {
			return true, int(n)
		}
	}
	return true, fetch.MaxHops
}

// appendLoop appends the header of a request that goes through one service more.
// The entries of others stay.
func appendLoop(dst []byte, req *fetch.Request) []byte {
	dst = append(dst, "Cdn-Loop: "...)
	for _, value := range req.Header.Values(loopHeader) {
		for info := range strings.SplitSeq(value, ",") {
			info = strings.Trim(info, " \t")
			if ours, _ := parseLoop(info); !ours && info != "" {
				dst = append(append(dst, info...), ", "...)
			}
		}
	}
	dst = append(dst, loopID+";hops="...)
	return append(strconv.AppendInt(dst, int64(req.Hops+1), 10), "\r\n"...)
}

// checkHops refuses a request that has come too far. Its sender gets a response
// and hands it back along the way, where an error of its own would be an exception
// of the worker that asked.
func checkHops(req *fetch.Request) *outcome.Failure {
	if req.Hops <= fetch.MaxHops {
		return nil
	}
	return outcome.Failf(outcome.LoopDetected, "the request came through more than %d services", fetch.MaxHops)
}
