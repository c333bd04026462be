package load

// A key is a prefix, then the number of a lane, a round and a slot:
// "007/00000042/063". A slot's first round is 0; plans that need ever new keys
// count it up.
const (
	laneDigits, roundDigits, slotDigits = 3, 8, 3

	suffixLength = laneDigits + 1 + roundDigits + 1 + slotDigits

	// MaxLanes is how many lanes have keys of their own.
	MaxLanes = 1000
	// MaxSlots is how many slots of a lane have keys.
	MaxSlots = 1000
)

func newKey(prefix string, lane, slot int) []byte {
	key := make([]byte, len(prefix)+suffixLength)
	suffix := key[copy(key, prefix):]
	suffix[laneDigits], suffix[suffixLength-slotDigits-1] = '/', '/'
	putDecimal(suffix[:laneDigits], lane)
	setRound(key, 0)
	putDecimal(suffix[suffixLength-slotDigits:], slot)
	return key
}

func setRound(key []byte, round int) {
	end := len(key) - slotDigits - 1
	putDecimal(key[end-roundDigits:end], round)
}

// slotOfKey returns something that is no slot for what is no key.
func slotOfKey(key []byte) int {
	slot := 0
	for _, c := range key[len(key)-slotDigits:] {
		slot = 10*slot + int(c) - '0'
	}
	return slot
}

// putDecimal fills digits with the last ones of n.
func putDecimal(digits []byte, n int) {
	for i := len(digits) - 1; i >= 0; i-- {
		digits[i] = byte('0' + n%10)
		n /= 10
	}
}
