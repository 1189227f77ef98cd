// Package edgenet is the room between sockets and services: listeners, routing,
// exchanges and their body streams, the disk service, the admin listener, and
// the services that reach out. It declares the handler that it calls, a
// fetch.Fetcher, and never touches an engine or the configuration.
package edgenet
