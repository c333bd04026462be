package fence_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/caddylock/caddylock/client/fence"
)

// State of one process, written by callers that send a token along.
func ExampleMemory() {
	var guard fence.Memory
	balance := 100
	withdraw := func(token uint64, amount int) error {
		return guard.Do("account/7", token, func() error {
			balance -= amount
			return nil
		})
	}

	fmt.Println(withdraw(33, 10)) // the first holder
	fmt.Println(withdraw(34, 20)) // its lease ran out, the next one came
	fmt.Println(withdraw(33, 10)) // the first wakes up
	fmt.Println(balance)
	// Output:
	// <nil>
	// <nil>
	// stale fencing token 33 for "account/7": it has seen 34
	// 70
}

// A service whose callers hold a lock on what they write. The token comes from
// the Lock of the caller: fence.SetHeader(request.Header, lock.Token()).
func ExampleHandler() {
	var guard fence.Memory
	order := "new"
	write := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		order = string(body)
	})
	mux := http.NewServeMux()
	mux.Handle("PUT /orders/{id}", fence.Handler(&guard, func(r *http.Request) string {
		return "orders/" + r.PathValue("id")
	}, write))

	put := func(token uint64, status string) {
		request := httptest.NewRequest(http.MethodPut, "/orders/42", strings.NewReader(status))
		fence.SetHeader(request.Header, token)
		response := httptest.NewRecorder()
		mux.ServeHTTP(response, request)
		fmt.Printf("%d %q\n", response.Code, response.Body)
	}
	put(33, "paid")
	put(34, "shipped")
	put(33, "cancelled")
	fmt.Println(order)
	// Output:
	// 200 ""
	// 200 ""
	// 412 "stale fencing token: the lock has passed to a later holder\n"
	// shipped
}

// A row of a database. The table was created by the statement that Schema
// returns.
func ExampleSQL() {
	guard, err := fence.NewSQL(fence.SQLConfig{Dialect: fence.Postgres})
	if err != nil {
		panic(err)
	}

	ship := func(ctx context.Context, db *sql.DB, order string, token uint64) error {
		return guard.Do(ctx, db, "orders/"+order, token, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "UPDATE orders SET status = 'shipped' WHERE id = $1", order)
			return err
		})
	}

	handle := func(ctx context.Context, db *sql.DB, token uint64) {
		err := ship(ctx, db, "42", token)
		if errors.Is(err, fence.ErrStale) {
			fmt.Println("somebody else holds the lock now: stop")
		}
	}
	_ = handle
}
