// Prints how long Next takes, beside uuids: medians of 5 rounds.  No test runs it:
//
//	CLIENTS=$PWD/clients; export CLIENTS; cd "$(mktemp -d)"
//	"$CLIENTS/go/test/run_go" "$CLIENTS/go/test/bench_next.go"
//
// A partition has 65536 ids each 4 ms, so it allows one in 61 ns.

package main

import (
	"context"
	"fmt"
	"sort"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gofrs/uuid"
	"sno.example/clients/go"
)

func main() {
	partitions := int32(0)
	ids, err := sno.NewGenerator(sno.Loans(func(context.Context, string) ([][]string, error) {
		until := time.Now().Add(time.Hour).UnixMilli()/4 - 315576000000
		partition := atomic.AddInt32(&partitions, 1)
		return [][]string{{fmt.Sprintf(`{"partition": [0, %d], "wallHi": 0, "wallSafe": 0, "sequenceMin": 0, "sequenceMax": 65535}`,
			partition), fmt.Sprint(until)}}, nil
	}))
	must(err)
	kinds := []struct {
		name string
		make func()
	}{
		{"Next", func() { _, err := ids.Next(1); must(err) }},
		{"uuid v4", func() { _, err := uuid.NewV4(); must(err) }},
		{"uuid v7", func() { _, err := uuid.NewV7(); must(err) }},
	}
	took := make([][]float64, len(kinds))
	for round := 0; round < 5; round++ {
		for i, kind := range kinds {
			result := testing.Benchmark(func(b *testing.B) {
				for n := 0; n < b.N; n++ {
					kind.make()
				}
			})
			took[i] = append(took[i], float64(result.T.Nanoseconds())/float64(result.N))
		}
	}
	for i, kind := range kinds {
		sort.Float64s(took[i])
		fmt.Printf("%s %.0f ns  ", kind.name, took[i][2])
	}
	fmt.Println()
}
