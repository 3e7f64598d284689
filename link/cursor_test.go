package link

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// FuzzCursor: whatever comes as a cursor, reading it never panics, and what is read is a mark that a page could have given.
func FuzzCursor(f *testing.F) {
	listing := journal.Listing{Caller: execution.LocalCaller(), State: execution.Failed, Metadata: map[string]string{"a": "b"}}
	mark := journal.ListMark{CreatedAtMs: 1_764_420_000_000, ID: "exec_0701JDXR4N5Q8ZT7V2M3K4P5W6X7"}
	f.Add(newCursor(listing, mark))
	f.Add("")
	f.Add("AAAA")
	f.Fuzz(func(t *testing.T, cursor string) {
		mark, err := readCursor(listing, cursor)
		if err != nil {
			require.ErrorIs(t, err, execution.ErrInvalid)
			return
		}
		again, err := readCursor(listing, newCursor(listing, mark))
		require.NoError(t, err)
		require.Equal(t, mark, again)
		listing := listing
		listing.After, listing.Limit, listing.Own = &mark, 1, true
		require.NoError(t, journal.CheckListing(listing))
		_, err = readCursor(listing, cursor)
		require.ErrorIs(t, err, execution.ErrInvalid, "it belongs to its listing")
	})
}

func TestACursorHoldsNothingButItsMark(t *testing.T) {
	t.Parallel()
	listing := journal.Listing{Caller: execution.LocalCaller(), Limit: 1}
	mark := journal.ListMark{CreatedAtMs: 1_764_420_000_000, ID: "exec_0701JDXR4N5Q8ZT7V2M3K4P5W6X7"}
	cursor := newCursor(listing, mark)
	listing.Limit, listing.After = 7, &mark
	require.Equal(t, cursor, newCursor(listing, mark), "neither size nor place of a page are part of it")
	back, err := readCursor(listing, cursor)
	require.NoError(t, err)
	require.Equal(t, mark, back)
}
