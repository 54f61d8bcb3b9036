// Allocates and frees, for which Go goes to another stack again and again.
package main

import "runtime"

var kept [64][]byte

//go:noinline
func fill(depth, round int) {
	if depth > 0 {
		fill(depth-1, round)
		return
	}
	kept[round%64] = make([]byte, 40000+round%1000)
}

func main() {
	for round := 0; round < 200000; round++ {
		fill(5, round)
	}
	runtime.GC()
}
