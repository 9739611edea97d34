// make_ids FILE SECONDS: makes ids in 4 goroutines, up to 4,000 a second, and appends to
// FILE a line for each loan, before its first id, and for each id:
//
//	loan PID PARTITION FLOOR FIRST LAST UNTIL
//	id PID TEXT
//	made PID TEXT           an id of a block
//
// MAKE_IDS_DURATION is how many ms a loan lasts, and MAKE_IDS_SEQUENCES how many sequences
// it has.  If the machine is so busy that a loan comes too late, later ones are longer.  MAKE_IDS_CLOCK is a file that begins with the ns by which the clock is ahead,
// because Go reads the clock without libc.  To run it beside other programs, as run_go builds it:
//
//	CLIENTS=$PWD/clients; export CLIENTS; cd "$(mktemp -d)"
//	"$CLIENTS/go/test/run_go" "$CLIENTS/go/test/make_ids.go" FILE SECONDS

package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	_ "github.com/lib/pq"
	"sno.example/clients/go"
)

// setting is a number of the environment.
func setting(name string, otherwise int) int {
	text, given := os.LookupEnv(name)
	if !given {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	must(err)
	return n
}

// clock is that of MAKE_IDS_CLOCK.
func clock() time.Time {
	now := time.Now()
	if file := os.Getenv("MAKE_IDS_CLOCK"); file != "" {
		ahead, err := os.ReadFile(file)
		must(err)
		now = now.Add(time.Duration(binary.LittleEndian.Uint64(ahead)))
	}
	return now
}

func timer(d time.Duration) (<-chan time.Time, func() bool) {
	t := time.NewTimer(d)
	return t.C, t.Stop
}

func main() {
	file, err := os.OpenFile(os.Args[1], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	must(err)
	seconds, err := strconv.ParseFloat(os.Args[2], 64)
	must(err)
	end := time.Now().Add(time.Duration(seconds * float64(time.Second)))
	db, err := sql.Open("postgres", "")
	must(err)
	pid := os.Getpid()
	duration := time.Duration(setting("MAKE_IDS_DURATION", 100)) * time.Millisecond
	sequences := setting("MAKE_IDS_SEQUENCES", 64)

	write := func(lines []byte) {
		_, err := file.Write(lines)
		must(err)
	}
	noting := func(ctx context.Context, statement string) ([][]string, error) {
		rows, err := sno.DB(db)(ctx, statement)
		if err != nil {
			return nil, err
		}
		var s struct {
			Partition                        []int
			WallHi, SequenceMin, SequenceMax int64
		}
		must(json.Unmarshal([]byte(rows[0][0]), &s))
		write([]byte(fmt.Sprintf("loan %d %d %d %d %d %s\n", pid, s.Partition[0]<<8|s.Partition[1], s.WallHi,
			s.SequenceMin, s.SequenceMax, rows[0][1])))
		return rows, nil
	}

	var issued, out, loans, blocks int64
	// A generator a second.  Each tenth takes blocks.
	for number := pid; time.Now().Before(end); number++ {
		source, kind := sno.Loans(noting, sno.WithDuration(duration), sno.WithSequences(sequences)), "id"
		taken := &loans
		if number%10 == 0 {
			source, kind, taken = sno.Blocks(sno.DB(db), sno.WithCount(200)), "made", &blocks
		}
		ids, err := sno.NewGenerator(source)
		must(err)
		ids.SetClock(clock, timer)
		var late int32
		until := time.Now().Add(time.Second)
		var group sync.WaitGroup
		for i := 0; i < 4; i++ {
			group.Add(1)
			go func() {
				defer group.Done()
				for now := time.Now(); now.Before(until) && now.Before(end); now = time.Now() {
					var lines bytes.Buffer
					for i := 0; i < 50; i++ {
						id, err := ids.Next(0)
						if errors.As(err, new(*sno.OutOfIDsError)) {
							atomic.AddInt64(&out, 1)
							if strings.Contains(err.Error(), "came too late") {
								atomic.StoreInt32(&late, 1)
							}
							break
						}
						must(err)
						atomic.AddInt64(&issued, 1)
						fmt.Fprintf(&lines, "%s %d %v\n", kind, pid, id)
					}
					write(lines.Bytes())
					time.Sleep(50 * time.Millisecond)
				}
			}()
		}
		group.Wait()
		ids.Close()
		if late == 1 && duration < 24*time.Hour {
			duration *= 2
		}
		*taken += int64(ids.Stats().Taken)
	}
	fmt.Printf("%d ids, %d loans, %d blocks, out of ids %d times\n", issued, loans, blocks, out)
}
