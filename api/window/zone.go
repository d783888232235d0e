package window

import (
	"errors"
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // an image without zone files has those of the program; files go before them
)

// MaxZoneLength is how long the name of a zone may be.
const MaxZoneLength = 64

// LoadZone returns the zone of a name of the IANA database. No name is UTC.
func LoadZone(name string) (*time.Location, error) {
	switch {
	case name == "":
		return time.UTC, nil
	case strings.EqualFold(name, "local"):
		return nil, errors.New("must name a zone, such as Europe/Berlin: Local differs from machine to machine")
	case len(name) > MaxZoneLength:
		return nil, fmt.Errorf("has %d characters, and may have no more than %d", len(name), MaxZoneLength)
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, errors.New("is not in the time zone database")
	}
	return zone, nil
}
