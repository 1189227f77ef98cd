// Package conformance runs suites against the real engine and the built binary:
// the project's own tests of the web platform, and public suites with lists of
// expectations.
package conformance
