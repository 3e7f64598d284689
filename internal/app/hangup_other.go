//go:build !unix

package app

import "os"

// hangup does not exist here.
func hangup() os.Signal { return nil }

func hasTerminal() bool { return false }
