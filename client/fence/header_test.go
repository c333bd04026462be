package fence

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestHeaderCarriesTheToken(t *testing.T) {
	t.Parallel()
	h := http.Header{"Fencing-Token": {"1", "2"}}
	SetHeader(h, 1928545113132236801)
	if token, err := FromHeader(h); token != 1928545113132236801 || err != nil {
		t.Errorf("got %d, %v", token, err)
	}
}

func TestFromHeaderRefusesNoneAndSeveral(t *testing.T) {
	t.Parallel()
	for _, h := range []http.Header{{}, {"Fencing-Token": {"1", "1"}}, {"Fencing-Token": {""}}} {
		if token, err := FromHeader(h); token != 0 || !errors.Is(err, ErrBadToken) {
			t.Errorf("%v: got %d, %v; want ErrBadToken", h, token, err)
		}
	}
}

// store is what a Handler guards in the tests: it answers with how often it was
// written to.
type store struct{ writes int }

func (s *store) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	s.writes++
	w.WriteHeader(http.StatusNoContent)
}

func byPath(r *http.Request) string { return r.URL.Path }

func put(h http.Handler, path string, tokens ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPut, path, strings.NewReader("data"))
	r.Header[Header] = tokens
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestHandlerAnswers(t *testing.T) {
	t.Parallel()
	const notDecimal = "not a fencing token: not a decimal from 1 to 9223372036854775807\n"
	s := new(store)
	h := Handler(new(Memory), byPath, s)
	for i, step := range []struct {
		path   string
		tokens []string
		status int
		body   string
		writes int
	}{
		{"/a", []string{"34"}, 204, "", 1},
		{"/a", []string{"34"}, 204, "", 2},
		{"/a", []string{"33"}, 412, "stale fencing token: the lock has passed to a later holder\n", 2},
		{"/b", []string{"33"}, 204, "", 3},
		{"/a", nil, 400, "not a fencing token: the request has no Fencing-Token header\n", 3},
		{"/a", []string{"35", "36"}, 400, "not a fencing token: the request has 2 Fencing-Token headers\n", 3},
		{"/a", []string{"0"}, 400, "not a fencing token: 0 is not from 1 to 9223372036854775807\n", 3},
		{"/a", []string{"+35"}, 400, notDecimal, 3},
		{"/a", []string{"35"}, 204, "", 4},
	} {
		w := put(h, step.path, step.tokens...)
		if w.Code != step.status || w.Body.String() != step.body || s.writes != step.writes {
			t.Errorf("step %d: got %d %q, %d writes; want %+v", i, w.Code, w.Body, s.writes, step)
		}
	}
}

func TestHandlerDoesNotTellTheTokenOfAnother(t *testing.T) {
	t.Parallel()
	h := Handler(new(Memory), byPath, new(store))
	put(h, "/a", "987654321")
	if w := put(h, "/a", "1"); w.Code != 412 || strings.Contains(w.Body.String(), "987654321") {
		t.Errorf("got %d %q", w.Code, w.Body)
	}
}

func TestHandlerRunsNextUnderTheGuard(t *testing.T) {
	t.Parallel()
	guard := new(recordingGuard)
	h := Handler(guard, byPath, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		guard.log = append(guard.log, "next")
	}))
	put(h, "/a", "3")
	if got := strings.Join(guard.log, " "); got != "enter next leave" {
		t.Errorf("got %q", got)
	}
}

// recordingGuard admits all, and fails with err afterwards, or with refusal before.
type recordingGuard struct {
	log          []string
	refusal, err error
}

func (g *recordingGuard) Do(_ string, _ uint64, fn func() error) error {
	if g.refusal != nil {
		return g.refusal
	}
	g.log = append(g.log, "enter")
	_ = fn()
	g.log = append(g.log, "leave")
	return g.err
}

func TestHandlerAnswers503WhenTheGuardCannotTell(t *testing.T) {
	t.Parallel()
	s := new(store)
	h := Handler(&recordingGuard{refusal: errors.New("secret detail")}, byPath, s)
	w := put(h, "/a", "3")
	if w.Code != 503 || w.Body.String() != "the fencing token could not be checked\n" || s.writes != 0 {
		t.Errorf("got %d %q, %d writes", w.Code, w.Body, s.writes)
	}
}

func TestHandlerCutsTheResponseOffWhenTheGuardFailsAfterwards(t *testing.T) {
	t.Parallel()
	guard := &recordingGuard{err: errors.New("commit failed")}
	next := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "written") })
	server := httptest.NewServer(Handler(guard, byPath, next))
	defer server.Close()
	r, err := http.NewRequest(http.MethodPut, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	SetHeader(r.Header, 3)
	if w, err := server.Client().Do(r); err == nil {
		_ = w.Body.Close()
		t.Errorf("the caller was told %s", w.Status)
	}
}
