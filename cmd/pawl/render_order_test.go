package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Who answers at a terminal reads the characters in the order that they are in; marks of languages that are written from right to
// left stay.
func TestNothingIsShownInAnotherOrderThanItIsIn(t *testing.T) {
	t.Parallel()
	require.Equal(t, `{"to":"moc.live","note":"שלום`+"\u200f"+`!"}`,
		oneLine(`{"to":"`+"\u202emoc.live\u202c\u2066\u2069"+`","note":"שלום`+"\u200f"+`!"}`))
}
