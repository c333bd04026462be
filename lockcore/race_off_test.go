//go:build !race

package lockcore

const raceEnabled = false
