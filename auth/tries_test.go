package auth_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
)

func TestManyBadCredentialsAreToldToWaitAndAGoodOneIsNot(t *testing.T) {
	t.Parallel()
	in := install(t)
	_, text := in.key(t)
	try := func(remote, credential string) error {
		r := request(t, http.MethodGet, credential)
		r.RemoteAddr = remote
		_, err := in.Enter(r)
		return err
	}
	for i := range 20 {
		refused(t, try(fmt.Sprintf("10.1.2.3:%d", 1000+i), "pawl_aaaaaaaaaaaa_b"), execution.Unauthenticated)
	}
	for range 5 {
		api := refused(t, try("10.1.2.3:1", "pawl_aaaaaaaaaaaa_b"), execution.Overloaded)
		require.Positive(t, api.retryAfter)
		require.LessOrEqual(t, api.retryAfter, time.Minute)
		require.NoError(t, try("10.1.2.3:1", text), "nobody is locked out by a neighbor")
	}
	refused(t, try("10.1.2.4:1", "pawl_aaaaaaaaaaaa_b"), execution.Unauthenticated)
	refused(t, try("10.1.2.3:1", ""), execution.Unauthenticated) // it has tried nothing
	for i := range 25 {                                          // one host has a /64
		err := try(fmt.Sprintf("[2001:db8::%x]:1", i+1), "x")
		if i < 20 {
			refused(t, err, execution.Unauthenticated)
		} else {
			refused(t, err, execution.Overloaded)
		}
	}
	r := request(t, http.MethodPost, "")
	r.RemoteAddr = "10.1.2.3:1"
	_, _, err := in.Login(r, "pawl_aaaaaaaaaaaa_b")
	refused(t, err, execution.Overloaded)
	_, err = in.Stream(r, "pawlstream_x", execution.NewID(1))
	refused(t, err, execution.Overloaded)
}
