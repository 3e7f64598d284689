package httpapi_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/link/linktest"
)

// Case F5: whoever filters a stream is told of what cannot be read, which may be what was asked for; the end of the log is
// reached, and nobody has to come back for ever.
func TestCaseF5_WhatCannotBeReadPassesEveryFilter(t *testing.T) {
	t.Parallel()
	store := memory(t)
	a := serve(t, store)
	view := a.submit()
	w := linktest.Claim(t, store, view.ID)
	w.Warnings(3)
	w.Complete("done")
	store.DamageEvent(view.ID, 4, false)
	store.DamageEvent(view.ID, 6, true)
	address := a.URL + creating + "/" + string(view.ID) + "/events?types=execution_started"
	ids, kinds := openAddress(t, address, "").kinds(t)
	require.Equal(t, []string{"execution_started", "unreadable", "unreadable"}, kinds)
	require.Equal(t, []string{"2", "4", "6"}, ids)
	ids, kinds = openAddress(t, address, "4").kinds(t)
	require.Equal(t, []string{"unreadable"}, kinds)
	require.Equal(t, []string{"6"}, ids)
	again := openAddress(t, address, "6")
	require.Equal(t, http.StatusNoContent, again.response.StatusCode)
}

func TestAnEventThatCannotBeReadHasItsPlaceAndShowsNothing(t *testing.T) {
	t.Parallel()
	store := memory(t)
	a := serve(t, store)
	view := a.submit()
	linktest.Claim(t, store, view.ID).Warnings(1)
	started := linktest.Log(t, store, view.ID)[1].OccurredAtMs
	store.DamageEvent(view.ID, 1, true)
	store.DamageEvent(view.ID, 2, false)
	page := a.do(http.MethodGet, creating+"/"+string(view.ID)+"/events?limit=2", "")
	require.JSONEq(t, fmt.Sprintf(`{"events": [
		{"sequence": 1, "occurredAtMs": 0, "type": "unreadable"},
		{"sequence": 2, "occurredAtMs": %d, "type": "unreadable"}
	], "nextAfter": 2, "hasMore": true}`, started), page.body)
}
