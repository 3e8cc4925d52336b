// SPDX-License-Identifier: Apache-2.0

// peer WHO PORT TTL_MS: redsync or bsm/redislock, by the protocol of docs/benchmarks.md.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sys/unix"
)

type acquire func(name string) (release func())

func now() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic(err)
	}
	return t.Nano()
}

// With default options an attempt gives up after some tries; it is then made again.
func byRedsync(client *redis.Client, ttl time.Duration) acquire {
	rs := redsync.New(goredis.NewPool(client))
	return func(name string) func() {
		for {
			mutex := rs.NewMutex(name, redsync.WithExpiry(ttl))
			if mutex.Lock() == nil {
				return func() {
					if ok, err := mutex.Unlock(); !ok || err != nil {
						panic(fmt.Sprint("unlock: ", err))
					}
				}
			}
		}
	}
}

// With the backoff of its documentation's example.
func byRedislock(client *redis.Client, ttl time.Duration) acquire {
	locker := redislock.New(client)
	options := &redislock.Options{RetryStrategy: redislock.LinearBackoff(100 * time.Millisecond)}
	ctx := context.Background()
	return func(name string) func() {
		for {
			lock, err := locker.Obtain(ctx, name, ttl, options)
			if err == nil {
				return func() {
					if err := lock.Release(ctx); err != nil {
						panic(err)
					}
				}
			}
			if !errors.Is(err, redislock.ErrNotObtained) && !errors.Is(err, context.DeadlineExceeded) {
				panic(err)
			}
		}
	}
}

type result struct {
	Took   int64   `json:"took"`
	Counts []int64 `json:"counts"`
	Stamps []int64 `json:"stamps"`
}

func work(take acquire, name string, end int64, stamps *[]int64) (count int64) {
	for d := int64(0); d < end; count++ {
		a := now()
		release := take(name)
		b := now()
		release()
		d = now()
		if stamps != nil {
			*stamps = append(*stamps, a, b, b, d)
		}
	}
	return count
}

func run(take acquire, prefix string, locks, threads int, end int64, stamped bool) result {
	r := result{Counts: make([]int64, threads), Stamps: []int64{}}
	var stamps *[]int64
	if stamped {
		stamps = &r.Stamps
	}
	var all sync.WaitGroup
	start := now()
	for i := 0; i < threads; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			r.Counts[i] = work(take, prefix+strconv.Itoa(i%locks), end, stamps)
		}()
	}
	all.Wait()
	r.Took = now() - start
	return r
}

func main() {
	ms, err := strconv.Atoi(os.Args[3])
	if err != nil {
		panic(err)
	}
	ttl := time.Duration(ms) * time.Millisecond
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + os.Args[2]})
	take := byRedsync(client, ttl)
	if os.Args[1] == "redislock" {
		take = byRedislock(client, ttl)
	}
	out := json.NewEncoder(os.Stdout)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var prefix string
		var locks, threads, stamped int
		var end int64
		if n, _ := fmt.Sscanf(in.Text(), "run %s %d %d %d %d", &prefix, &locks, &threads, &end, &stamped); n == 5 {
			out.Encode(run(take, prefix, locks, threads, end, stamped == 1))
		} else if n, _ := fmt.Sscanf(in.Text(), "hold %s", &prefix); n == 1 {
			take(prefix)
			out.Encode(map[string]int64{"at": now()})
		}
	}
}
