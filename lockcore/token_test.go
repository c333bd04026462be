package lockcore

import (
	"math"
	"testing"
)

func TestATokenFitsASignedColumn(t *testing.T) {
	t.Parallel()
	if bits := GenerationBits + PlaceBits + CounterBits; bits != 63 {
		t.Fatalf("a token has %d bits", bits)
	}
	if got := Token(MaxGeneration, MaxPlaces-1, 1<<CounterBits-1); got != math.MaxInt64 {
		t.Errorf("the greatest token is %d, want %d", got, int64(math.MaxInt64))
	}
}

func TestTokensAreOrderedByGenerationThenPlaceThenCounter(t *testing.T) {
	t.Parallel()
	const full = 1<<CounterBits - 1
	tokens := []uint64{
		Token(0, 0, 0), Token(0, 0, 1), Token(0, 0, full),
		Token(0, 1, 0), Token(0, MaxPlaces-1, full),
		Token(1, 0, 0), Token(1, 0, 1), Token(2, 0, 0),
		Token(MaxGeneration, 0, 0), Token(MaxGeneration, MaxPlaces-1, full),
	}
	for i, token := range tokens[1:] {
		if token <= tokens[i] {
			t.Errorf("token %d is %d, not greater than %d", i+1, token, tokens[i])
		}
	}
}

func TestATokenTellsItsGeneration(t *testing.T) {
	t.Parallel()
	for _, generation := range []uint64{0, 1, 1_796_097_600, MaxGeneration} {
		if got := TokenGeneration(Token(generation, MaxPlaces-1, 1<<CounterBits-1)); got != generation {
			t.Errorf("generation %d is read as %d", generation, got)
		}
	}
}

func TestTheFirstTokenOfAGeneration(t *testing.T) {
	t.Parallel()
	// The second 1796097600, its millisecond 400, the first grant.
	if got := Token(1_796_097_600, 0, 400<<16+1); got != 1928545113132236801 {
		t.Errorf("got %d", got)
	}
}
