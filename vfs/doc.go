// Package vfs owns code and files once they have left the host's disk: read-only
// in-memory trees, bundles made with esbuild, the one resolver of module
// specifiers, and the way back from a generated position to the author's line.
// After a load it never opens a file of the host, and it never goes to the
// network.
package vfs
