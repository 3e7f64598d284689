//go:build peers

package peers_test

import (
	"testing"

	"github.com/pawl-run/pawl/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
