package bench

// A key is a lane's number, a round and a slot: "007/00000042/063". A slot's
// first round is 0; plans that need ever new keys count it up.
const (
	keyLength = 16

	laneDigits, roundDigits, slotDigits = 3, 8, 3

	roundAt = laneDigits + 1
	slotAt  = roundAt + roundDigits + 1

	// maxSlots is how many slots of a lane have keys.
	maxSlots = 1000
)

func newKey(lane, slot int) [keyLength]byte {
	key := [keyLength]byte{laneDigits: '/', slotAt - 1: '/'}
	putDecimal(key[:laneDigits], lane)
	putDecimal(key[roundAt:slotAt-1], 0)
	putDecimal(key[slotAt:], slot)
	return key
}

func setRound(key *[keyLength]byte, round int) {
	putDecimal(key[roundAt:roundAt+roundDigits], round)
}

// slotOfKey returns something that is no slot for what is no key.
func slotOfKey(key []byte) int {
	slot := 0
	for _, c := range key[slotAt:] {
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
