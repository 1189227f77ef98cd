// Command edge serves workers. People who add a binding kind of their own copy
// this file and add the kind to the list.
package main

import (
	"os"

	"github.com/edge-runtime/edge/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:], cli.BuiltinKinds()...)) }
