package executor

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A field that the state has learnt and its stored form has not is lost with the worker, and fails here.
func TestEveryFieldOfTheStateIsStored(t *testing.T) {
	t.Parallel()
	var state RunState
	fill(t, reflect.ValueOf(&state).Elem())
	state.Status = StatusFailed
	data, err := json.Marshal(storeState(state))
	require.NoError(t, err)
	var stored storedState
	require.NoError(t, json.Unmarshal(data, &stored))
	want, err := json.Marshal(state)
	require.NoError(t, err)
	got, err := json.Marshal(stored.state())
	require.NoError(t, err)
	require.JSONEq(t, string(want), string(got))
	clone := state.Clone()
	require.Equal(t, state, clone)
}

// fill gives every field a value that is not zero.
func fill(t *testing.T, v reflect.Value) {
	t.Helper()
	switch {
	case v.Type() == reflect.TypeFor[json.RawMessage]():
		v.SetBytes([]byte(`{"a":1}`))
		return
	case v.Type() == reflect.TypeFor[time.Duration]():
		v.SetInt(int64(time.Second))
		return
	case v.Type() == reflect.TypeFor[Metadata]():
		v.Set(reflect.ValueOf(Metadata{"k": "v"}))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(t, v.Index(0))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		value := reflect.New(v.Type().Elem()).Elem()
		fill(t, value)
		v.SetMapIndex(reflect.ValueOf("k").Convert(v.Type().Key()), value)
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint64, reflect.Uint8:
		v.SetUint(7)
	default:
		require.Fail(t, "no value", "%s", v.Type())
	}
}
