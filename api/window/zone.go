package window

import (
	"errors"
	"fmt"
	"slices"
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
	case isOfMachine(strings.ToLower(name)):
		return nil, fmt.Errorf("must name a zone, such as Europe/Berlin: %s differs from machine to machine", name)
	case len(name) > MaxZoneLength:
		return nil, fmt.Errorf("has %d characters, and may have no more than %d", len(name), MaxZoneLength)
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, errors.New("is not in the time zone database")
	}
	return zone, nil
}

// isOfMachine reports whether a name stands for what some machine was set up with, or a
// copy of the database that only some have: right has leap seconds in its times.
func isOfMachine(name string) bool {
	folder, _, below := strings.Cut(name, "/")
	return slices.Contains([]string{"local", "localtime", "posixrules"}, name) ||
		below && (folder == "posix" || folder == "right")
}
