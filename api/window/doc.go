// Package window works out when something may change: calendars of recurring windows,
// and of exclusions, which go before them. It has no clock; every answer is about a
// moment that it is given.
//
// A schedule is of wall clocks, and those jump. Begin at [Recurrence.Next], which has the
// rules: a start in an hour that is skipped happens when that hour is over, one in an
// hour that is repeated happens twice, and a duration is time that passes, whatever the
// clocks show. A [Calendar] puts recurrences together.
package window
