package wire

import "testing"

// The lines that a busy server reads and writes.
var benchmarked = []struct{ name, request, reply string }{
	{"A/tagged", "A#17 30 5 orders/42", "A#17 1928545113132236801 orders/42"},
	{"A/untagged", "A 30 5 orders/42", "A 1928545113132236801 orders/42"},
	{"R/tagged", "R#18 1928545113132236801 orders/42", "R#18 1928545113132236801 orders/42"},
	{"R/untagged", "R 1928545113132236801 orders/42", "R 1928545113132236801 orders/42"},
}

func BenchmarkParseRequest(b *testing.B) {
	for _, c := range benchmarked {
		b.Run(c.name, func(b *testing.B) {
			line := []byte(c.request)
			var r Request
			b.ReportAllocs()
			for b.Loop() {
				if err := ParseRequest(line, &r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkAppendReply(b *testing.B) {
	for _, c := range benchmarked {
		b.Run(c.name, func(b *testing.B) {
			var r Reply
			if err := ParseReply([]byte(c.reply), &r); err != nil {
				b.Fatal(err)
			}
			buf := make([]byte, 0, MaxLine)
			b.ReportAllocs()
			for b.Loop() {
				buf = AppendReply(buf[:0], &r)
			}
		})
	}
}

func BenchmarkAppendRequest(b *testing.B) {
	for _, c := range benchmarked {
		b.Run(c.name, func(b *testing.B) {
			var r Request
			if err := ParseRequest([]byte(c.request), &r); err != nil {
				b.Fatal(err)
			}
			buf := make([]byte, 0, MaxLine)
			b.ReportAllocs()
			for b.Loop() {
				buf = AppendRequest(buf[:0], &r)
			}
		})
	}
}

func BenchmarkParseReply(b *testing.B) {
	for _, c := range benchmarked {
		b.Run(c.name, func(b *testing.B) {
			line := []byte(c.reply)
			var r Reply
			b.ReportAllocs()
			for b.Loop() {
				if err := ParseReply(line, &r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
