package main

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(start())
	}
	os.Exit(m.Run())
}
