// What the tests of drivers for Go share.

package main

import (
	"fmt"
	"os"
	"reflect"
	"strings"
)

var tests, failures int

func ok(passed bool, name string, seen ...interface{}) {
	tests++
	if passed {
		fmt.Printf("ok %d - %s\n", tests, name)
		return
	}
	failures++
	fmt.Printf("not ok %d - %s\n# %s\n", tests, name,
		strings.ReplaceAll(fmt.Sprint(seen...), "\n", "\n# "))
}

// Equal, and of the same type.
func same(seen, wanted interface{}, name string) {
	ok(reflect.DeepEqual(seen, wanted), name, fmt.Sprintf("%#v, not %#v", seen, wanted))
}

// For what has to work if the tests are to go on.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

func done() {
	fmt.Printf("1..%d\n", tests)
	if failures > 0 {
		os.Exit(1)
	}
}
