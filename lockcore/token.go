package lockcore

// A fencing token is 63 bits, so that it fits a signed database column:
//
//	generation (33 bits) | place of the node in the peers list (4) | counter (26)
//
// The generation grows with every change of the active role, also over
// restarts; the place keeps two nodes that are active at once from issuing the
// same token; the counter grows with every grant. A counter that is full moves
// on to the next generation.
const (
	CounterBits    = 26
	PlaceBits      = 4
	GenerationBits = 33

	// MaxPlaces is how many nodes a cluster can have.
	MaxPlaces = 1 << PlaceBits
	// MaxGeneration is the greatest generation that fits a token.
	MaxGeneration = 1<<GenerationBits - 1
)

// Token composes a fencing token. The arguments must fit their bits.
func Token(generation uint64, place int, counter uint64) uint64 {
	return generation<<(PlaceBits+CounterBits) | uint64(place)<<CounterBits | counter
}

// TokenGeneration returns the generation that a token was issued in.
func TokenGeneration(token uint64) uint64 {
	return token >> (PlaceBits + CounterBits)
}
