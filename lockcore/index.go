package lockcore

import "hash/maphash"

// index finds locks by their keys. It is an open-addressing hash table and not
// a Go map for two reasons: a map keeps every key's header a second time and
// grows by doubling, which costs up to 50 bytes a lock more than this; and it
// never gives memory back, which a table must do after a peak.
//
// The hash is seeded, so that nobody can choose keys that collide. Nothing that
// can be observed depends on it.
type index struct {
	seed maphash.Seed
	// hashes and locks are the slots. A lock stands at the home of its hash or
	// in the unbroken run of slots that follows.
	hashes []uint32
	locks  []*lock
	count  int
}

// An index is at most 7/8 full, and grows and shrinks by half its size: its
// slots cost 14 to 21 bytes a lock.
const minIndexSlots = 64

func newIndex() index {
	return index{
		seed:   maphash.MakeSeed(),
		hashes: make([]uint32, minIndexSlots),
		locks:  make([]*lock, minIndexSlots),
	}
}

// find returns the lock of the key, or nil.
func (x *index) find(key []byte) *lock {
	hash := x.hash(key)
	for i := x.home(hash); x.locks[i] != nil; i = x.after(i) {
		if x.hashes[i] == hash && x.locks[i].key == string(key) {
			return x.locks[i]
		}
	}
	return nil
}

// add puts a lock in whose key is not there.
func (x *index) add(l *lock) {
	if (x.count+1)*8 > len(x.locks)*7 {
		x.resize(len(x.locks) + len(x.locks)/2)
	}
	x.put(x.hash(l.bytes()), l)
	x.count++
}

// remove takes a lock out that is there, and closes the gap: whatever stands
// behind it in the run and may stand there moves up.
func (x *index) remove(l *lock) {
	gap := x.home(x.hash(l.bytes()))
	for x.locks[gap] != l {
		gap = x.after(gap)
	}
	for i := x.after(gap); x.locks[i] != nil; i = x.after(i) {
		if home := x.home(x.hashes[i]); x.distance(home, i) >= x.distance(gap, i) {
			x.hashes[gap], x.locks[gap] = x.hashes[i], x.locks[i]
			gap = i
		}
	}
	x.locks[gap] = nil
	x.count--
	if len(x.locks) > minIndexSlots && x.count*8 < len(x.locks)*3 {
		x.resize(max(minIndexSlots, len(x.locks)-len(x.locks)/3))
	}
}

// put stores the lock in the first free slot of its run.
func (x *index) put(hash uint32, l *lock) {
	i := x.home(hash)
	for x.locks[i] != nil {
		i = x.after(i)
	}
	x.hashes[i], x.locks[i] = hash, l
}

// resize moves every lock to a table of so many slots. It is O(n) and comes
// once in as many changes.
func (x *index) resize(slots int) {
	hashes, locks := x.hashes, x.locks
	x.hashes, x.locks = make([]uint32, slots), make([]*lock, slots)
	for i, l := range locks {
		if l != nil {
			x.put(hashes[i], l)
		}
	}
}

func (x *index) hash(key []byte) uint32 { return uint32(maphash.Bytes(x.seed, key)) }

// home scales a hash to a slot, so that the number of slots may be any.
func (x *index) home(hash uint32) int { return int(uint64(hash) * uint64(len(x.locks)) >> 32) }

func (x *index) after(i int) int {
	if i++; i < len(x.locks) {
		return i
	}
	return 0
}

// distance is how many slots to is behind from.
func (x *index) distance(from, to int) int {
	if to < from {
		to += len(x.locks)
	}
	return to - from
}
