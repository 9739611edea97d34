// Ids of the Go package sno, as peers.py asks for them.  With an argument, the generator has
// that partition, and its snapshot is saved when the program ends and restored when it begins,
// as the package's README advises.  Without, it is the package's own generator.

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strconv"

	"github.com/muyo/sno"
)

func main() {
	next, save := sno.New, func() {}
	if len(os.Args) > 1 {
		node, _ := strconv.Atoi(os.Args[1])
		file := os.Getenv("STATE") + "/snapshot." + os.Args[1]
		snapshot := sno.GeneratorSnapshot{Partition: sno.Partition{0, byte(node)}}
		if saved, err := os.ReadFile(file); err == nil {
			json.Unmarshal(saved, &snapshot)
		}
		generator, err := sno.NewGenerator(&snapshot, nil)
		if err != nil {
			panic(err)
		}
		next = generator.New
		save = func() {
			saved, _ := json.Marshal(generator.Snapshot())
			os.WriteFile(file, saved, 0o600)
		}
	}
	out := bufio.NewWriter(os.Stdout)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); out.Flush() {
		n, _ := strconv.Atoi(in.Text())
		ids := make([]sno.ID, n)
		for i := range ids {
			ids[i] = next(0)
		}
		for _, id := range ids {
			fmt.Fprintln(out, id)
		}
		fmt.Fprintln(out, ".")
	}
	save()
}
