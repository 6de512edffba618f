// SPDX-License-Identifier: Apache-2.0

// The etcd server, as its own project starts it.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
