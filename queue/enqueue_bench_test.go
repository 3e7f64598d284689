package queue

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

func BenchmarkEnqueue(b *testing.B) {
	for name, run := range map[string]func(*testing.B, func() error){
		"alone": func(b *testing.B, enqueue func() error) {
			b.Helper()
			for b.Loop() {
				require.NoError(b, enqueue())
			}
		},
		"many at once": func(b *testing.B, enqueue func() error) {
			b.Helper()
			b.SetParallelism(32)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					require.NoError(b, enqueue())
				}
			})
		},
	} {
		b.Run(name, func(b *testing.B) {
			w := sharedWorld(b)
			c := w.client(b)
			b.ReportAllocs()
			run(b, func() error { return c.Enqueue(context.Background(), w.task(1)) })
		})
	}
}
