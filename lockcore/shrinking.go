package lockcore

// shrinking is a map that gives its memory back after a peak, which a Go map
// does not: once it is emptied to an eighth, it is made anew. That is O(1)
// amortised.
type shrinking[K comparable, V any] struct {
	m map[K]V
	// most is the greatest size since the map was made.
	most int
}

// minShrinking is the size up to which a map is not worth making anew.
const minShrinking = 1024

func newShrinking[K comparable, V any]() shrinking[K, V] {
	return shrinking[K, V]{m: make(map[K]V)}
}

func (s *shrinking[K, V]) set(key K, value V) {
	s.m[key] = value
	s.most = max(s.most, len(s.m))
}

func (s *shrinking[K, V]) remove(key K) {
	delete(s.m, key)
	if s.most < minShrinking || len(s.m) > s.most/8 {
		return
	}
	smaller := make(map[K]V, len(s.m))
	for k, v := range s.m {
		smaller[k] = v
	}
	s.m, s.most = smaller, len(smaller)
}
