// SPDX-License-Identifier: Apache-2.0

// player PORT: redsync on go-redis, in the words of drive.py.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

var (
	client *redis.Client
	rs     *redsync.Redsync
	locks  = map[string]*redsync.Mutex{}
)

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return n
}

func milliseconds(text string) time.Duration {
	return time.Duration(number(text)) * time.Millisecond
}

// A lock that someone else has, or that has run out: an answer, not a failure.
func isRefusal(err error) bool {
	var taken *redsync.ErrTaken
	return errors.As(err, &taken) || errors.Is(err, redsync.ErrFailed) ||
		errors.Is(err, redsync.ErrExtendFailed) || errors.Is(err, redsync.ErrLockAlreadyExpired)
}

// By its default delays when it waits.
func take(name string, ttl time.Duration, wait bool) *redsync.Mutex {
	tries := 1
	if wait {
		tries = 1 << 30
	}
	mutex := rs.NewMutex(name, redsync.WithExpiry(ttl), redsync.WithTries(tries))
	if err := mutex.Lock(); err == nil {
		return mutex
	} else if !isRefusal(err) {
		panic(err)
	}
	return nil
}

func verdict(ok bool, err error) string {
	if ok {
		return "ok"
	}
	if err != nil && !isRefusal(err) {
		panic(err)
	}
	return "lost"
}

func countUp(name, key string, ttl time.Duration, until time.Time) (n int) {
	ctx := context.Background()
	for time.Now().Before(until) {
		mutex := take(name, ttl, true)
		value, err := client.Get(ctx, key).Int()
		if err != nil && !errors.Is(err, redis.Nil) {
			panic(err)
		}
		if err := client.Set(ctx, key, value+1, 0).Err(); err != nil {
			panic(err)
		}
		n++
		if ok, err := mutex.Unlock(); !ok {
			panic(fmt.Sprint("a lock was lost while counting: ", err))
		}
	}
	return n
}

func count(name, key string, ttl time.Duration, threads int, ms time.Duration) string {
	var crew sync.WaitGroup
	counts := make([]int, threads)
	until := time.Now().Add(ms)
	for i := range counts {
		crew.Add(1)
		go func() {
			defer crew.Done()
			counts[i] = countUp(name, key, ttl, until)
		}()
	}
	crew.Wait()
	sum := 0
	for _, n := range counts {
		sum += n
	}
	return fmt.Sprint("ok ", sum)
}

func act(word []string) string {
	switch word[0] {
	case "take":
		mutex := take(word[1], milliseconds(word[2]), word[3] != "0")
		if mutex == nil {
			return "busy"
		}
		locks[word[1]] = mutex
		return "ok"
	case "give":
		return verdict(locks[word[1]].Unlock())
	case "extend":
		return verdict(locks[word[1]].Extend())
	default:
		return count(word[1], word[2], milliseconds(word[3]), number(word[4]), milliseconds(word[5]))
	}
}

func main() {
	client = redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + os.Args[1]})
	rs = redsync.New(goredis.NewPool(client))
	fmt.Println("ok")
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		fmt.Println(act(strings.Fields(lines.Text())))
	}
}
