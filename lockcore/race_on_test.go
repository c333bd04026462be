//go:build race

package lockcore

const raceEnabled = true
