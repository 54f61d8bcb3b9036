// Goroutines over channels, maps, interfaces, garbage collection, panics and
// recover, preemption by SIGURG. args: rounds
package main

import (
	"fmt"
	"hash/fnv"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
)

type node struct{ l, r *node }

func tree(d int) *node {
	if d == 0 {
		return &node{}
	}
	return &node{tree(d - 1), tree(d - 1)}
}
func (n *node) count() int {
	if n.l == nil {
		return 1
	}
	return 1 + n.l.count() + n.r.count()
}

func guarded(i int) (out int) {
	defer func() {
		if recover() != nil {
			out = -i
		}
	}()
	a := []int{1, 2, 3}
	return a[i%4]
}

func work(seed int) uint64 {
	h := fnv.New64a()
	m := map[string]int{}
	s := uint32(seed*2654435 + 1)
	for i := 0; i < 20000; i++ {
		s = s*1664525 + 1013904223
		m["w"+strconv.Itoa(int(s>>16)%700)] += guarded(i)
	}
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	fmt.Fprint(h, strings.Join(keys, ","), m[keys[0]], tree(13).count())
	return h.Sum64()
}

func main() {
	rounds, _ := strconv.Atoi(os.Args[1])
	jobs, res := make(chan int), make(chan uint64)
	var wg sync.WaitGroup
	for w := 0; w < 2; w++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for j := range jobs {
				res <- work(j)
			}
		}()
	}
	go func() {
		for i := 0; i < rounds; i++ {
			jobs <- i
		}
		close(jobs)
		wg.Wait()
		close(res)
	}()
	var sum uint64
	for r := range res {
		sum += r
	}
	fmt.Println("gobench", sum)
}
