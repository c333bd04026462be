package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/caddylock/caddylock/client"
	"github.com/caddylock/caddylock/client/fence"
)

// A critical section: whoever is in it is alone.
func ExampleClient_Do() {
	locks, err := client.New([]string{os.Getenv("LOCK_ADDR")}) // host:port
	if err != nil {
		log.Fatal(err)
	}
	defer locks.Close(context.Background())

	// The context ends when the lock is lost: hand it to all that the work calls.
	err = locks.Do(context.Background(), "reports/daily", func(ctx context.Context) error {
		fmt.Println("writing the report")
		return context.Cause(ctx)
	}, client.WithWait(time.Minute))

	switch {
	case errors.Is(err, client.ErrTimeout):
		fmt.Println("somebody else was at it all the time")
	case errors.Is(err, client.ErrLost):
		fmt.Println("others may have been at it, too:", err)
	case err != nil:
		fmt.Println("not written:", err)
	}
	// Output: writing the report
}

// One machine of many does the work; the others do not wait for it.
func ExampleClient_TryAcquire() {
	locks, err := client.New([]string{os.Getenv("LOCK_ADDR")}) // host:port
	if err != nil {
		log.Fatal(err)
	}
	defer locks.Close(context.Background())

	ctx := context.Background()
	lock, err := locks.TryAcquire(ctx, "backup")
	switch {
	case err == nil:
		defer lock.Release(ctx)
		fmt.Println("making the backup")
	case errors.Is(err, client.ErrTimeout):
		fmt.Println("another machine makes it")
	default:
		fmt.Println("nobody can tell who makes it:", err)
	}

	// What the others are told meanwhile:
	_, err = locks.TryAcquire(ctx, "backup")
	fmt.Println(errors.Is(err, client.ErrTimeout))
	// Output:
	// making the backup
	// true
}

// Long work. The lock is renewed in the background for as long as it takes, and
// Context ends if the lock is lost all the same.
func ExampleLock_Context() {
	locks, err := client.New([]string{os.Getenv("LOCK_ADDR")}) // host:port
	if err != nil {
		log.Fatal(err)
	}
	defer locks.Close(context.Background())

	// If this program dies, others have the key after 10 s; a server that cannot
	// be reached for that long costs the lock.
	lock, err := locks.Acquire(context.Background(), "videos/7", client.WithLease(10*time.Second))
	if err != nil {
		log.Fatal(err)
	}
	encode := func(ctx context.Context, part int) error {
		fmt.Println("part", part) // hours may pass here
		return context.Cause(ctx)
	}
	for part := 1; part <= 3; part++ {
		if err := encode(lock.Context(), part); err != nil {
			fmt.Println("stopped:", err)
			break
		}
	}
	if err := lock.Release(context.Background()); errors.Is(err, client.ErrLost) {
		fmt.Println("others may have been at it, too:", err)
	}
	// Output:
	// part 1
	// part 2
	// part 3
}

// A lock that is lost. Whoever knows the token can release it, as an operator does
// here; the next renewal finds out.
func ExampleLock_Done() {
	locks, err := client.New([]string{os.Getenv("LOCK_ADDR")}) // host:port
	if err != nil {
		log.Fatal(err)
	}
	defer locks.Close(context.Background())

	ctx := context.Background()
	lock, err := locks.Acquire(ctx, "videos/8", client.WithLease(time.Second))
	if err != nil {
		log.Fatal(err)
	}
	if err := locks.Release(ctx, lock.Key(), lock.Token()); err != nil {
		log.Fatal(err)
	}

	frames := make(chan string)
	for {
		select {
		case frame := <-frames:
			fmt.Println(frame)
		case <-lock.Done():
			fmt.Println("lost:", errors.Is(lock.Err(), client.ErrLost))
			return
		}
	}
	// Output: lost: true
}

// A fenced write. The lock is lost while its holder stands still, and the next one
// writes; what the first writes afterwards is refused where it arrives.
func Example_fencedWrite() {
	locks, err := client.New([]string{os.Getenv("LOCK_ADDR")}) // host:port
	if err != nil {
		log.Fatal(err)
	}
	defer locks.Close(context.Background())

	// On the side of the resource: for a database see fence.SQL, for an HTTP
	// service fence.Handler.
	var guard fence.Memory
	var status string
	write := func(token uint64, text string) error {
		return guard.Do("orders/42", token, func() error {
			status = text
			return nil
		})
	}

	// A holder that does not renew, as if it were paused from here on.
	ctx := context.Background()
	paused, err := locks.Acquire(ctx, "orders/42", client.WithLease(10*time.Millisecond), client.WithoutRenewal())
	if err != nil {
		log.Fatal(err)
	}
	// The next holder. It gets the lock when the lease of the first is over.
	err = locks.Do(ctx, "orders/42", func(ctx context.Context) error {
		return write(client.TokenFrom(ctx), "shipped")
	})
	fmt.Println("next:", err)
	// The first wakes up.
	err = write(paused.Token(), "cancelled")
	fmt.Println("paused:", errors.Is(err, fence.ErrStale))
	fmt.Println("the order is", status)
	// Output:
	// next: <nil>
	// paused: true
	// the order is shipped
}

// A leader that steps down when it is told to stop, and when it is not the leader
// any more. In the first case the next one leads at once.
func Example_leader() {
	locks, err := client.New([]string{os.Getenv("LOCK_ADDR")}) // host:port
	if err != nil {
		log.Fatal(err)
	}
	defer locks.Close(context.Background())

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	lead := func(ctx context.Context) error {
		fmt.Println("leading")
		stop() // for this example; else the signal does it
		<-ctx.Done()
		fmt.Println("stepping down")
		return nil
	}
	for ctx.Err() == nil {
		err := locks.Do(ctx, "leader/scheduler", lead, client.WithLease(10*time.Second))
		if err != nil && ctx.Err() == nil {
			log.Print("not leading: ", err) // lost, or there is no server to ask
			time.Sleep(time.Second)
		}
	}
	// Output:
	// leading
	// stepping down
}
