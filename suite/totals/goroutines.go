// Goroutines on threads that take them over from each other, with stacks that grow, are copied and shrink: each
// activation of deep waits at its innermost for another goroutine, mostly on another thread. And a fault after which the
// function goes on that it was in: a handler made its activation one of what panics.
package main

import "runtime"

//go:noinline
func deep(n int, here, there chan int) int {
	var b [200]byte
	b[n%200] = 1
	if n == 0 {
		there <- 1
		return <-here
	}
	return deep(n-1, here, there) + int(b[3])
}

//go:noinline
func task(n int, here, there chan int) int {
	sum := 0
	for i := 0; i < 20; i++ {
		sum += deep(n*i%700, here, there)
	}
	return sum
}

//go:noinline
func recovering(p *int) {
	defer func() { recover() }()
	*p = 1
}

func main() {
	const pairs = 50
	for i := 0; i < 100; i++ {
		recovering(nil)
	}
	done := make(chan int)
	for i := 0; i < pairs; i++ {
		a, b := make(chan int, 1), make(chan int, 1)
		go func(n int) { done <- task(n, a, b) }(i)
		go func(n int) { done <- task(n+300, b, a) }(i)
	}
	sum := 0
	for i := 0; i < 2*pairs; i++ {
		sum += <-done
		if i%10 == 0 {
			runtime.GC()
		}
	}
	if sum < 2*pairs*20 {
		panic(sum)
	}
}
