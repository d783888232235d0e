package window

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// MaxScheduleLength is how long the text of a schedule may be.
const MaxScheduleLength = 128

// A Schedule says at which minutes of the wall clock something starts. It knows no zone.
type Schedule struct {
	text string
	cron cron.SpecSchedule
	// intraday is the longest time between two starts of one day that follow each other;
	// zero where a day has one start at most.
	intraday time.Duration
}

// String returns the schedule as it was written.
func (s *Schedule) String() string { return s.text }

// ErrNeverStarts means that the days of a schedule do not exist, such as February 30.
var ErrNeverStarts = errors.New("never starts: none of its months has any of its days")

// Descriptors are the names of schedules that have one.
var Descriptors = []string{"@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually"}

// beforeALeapYear is where the search for a first start begins. The parser's search ends
// after five years, and whatever day there is comes in the first of them.
var beforeALeapYear = time.Date(2023, time.December, 31, 23, 59, 59, 0, time.UTC)

// ParseSchedule parses five fields of cron, or one of [Descriptors]. Anything that the
// parser behind it takes for something else than what it says is refused here, before
// it is parsed: see the cases of the test.
func ParseSchedule(text string) (*Schedule, error) {
	if err := checkForm(text); err != nil {
		return nil, err
	}
	parsed, err := parse(text)
	if err != nil {
		return nil, err
	}
	s := &Schedule{text: text, cron: *parsed}
	s.cron.Location = time.UTC
	if s.cron.Next(beforeALeapYear).IsZero() {
		return nil, ErrNeverStarts
	}
	s.intraday = s.longestGap()
	return s, nil
}

// parse is behind a recover, as the parser has panicked at texts that it should refuse.
func parse(text string) (schedule *cron.SpecSchedule, err error) {
	defer func() {
		if recovered := recover(); recovered != nil {
			schedule, err = nil, errors.New("cannot be parsed")
		}
	}()
	parsed, err := cron.ParseStandard(text)
	if err != nil {
		return nil, err
	}
	schedule, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return nil, errors.New("is no schedule of wall clocks")
	}
	return schedule, nil
}

func checkForm(text string) error {
	if len(text) > MaxScheduleLength {
		return fmt.Errorf("has %d characters, and may have no more than %d", len(text), MaxScheduleLength)
	}
	if strings.HasPrefix(text, "@") {
		if slices.Contains(Descriptors, text) {
			return nil
		}
		return fmt.Errorf("must be five fields or one of %s", strings.Join(Descriptors, ", "))
	}
	if strings.Contains(text, "=") {
		return errors.New("must not have a time zone in it: that is for timeZone to say")
	}
	parts := strings.Split(text, " ")
	if len(parts) != len(fields) {
		return fmt.Errorf("must be five fields with one blank between them: minute, hour, day of month, month, day of week; or one of %s", strings.Join(Descriptors, ", "))
	}
	for i, part := range parts {
		if err := fields[i].check(part); err != nil {
			return err
		}
	}
	if parts[2] != "*" && parts[4] != "*" {
		return errors.New("must not restrict both the day of month and the day of week: cron starts on days that are either")
	}
	return nil
}

// A fieldOf is one of the five fields of a schedule.
type fieldOf struct {
	name     string
	min, max int
	names    []string // of the values from min on
}

var fields = []fieldOf{
	{name: "minute", max: 59},
	{name: "hour", max: 23},
	{name: "day of month", min: 1, max: 31},
	{name: "month", min: 1, max: 12, names: []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
	{name: "day of week", max: 6, names: []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
}

// check accepts a list of *, of values and of ranges, each with a step or without one.
func (f fieldOf) check(text string) error {
	for _, item := range strings.Split(text, ",") {
		if err := f.checkItem(item); err != nil {
			return fmt.Errorf("%s %q: %w", f.name, text, err)
		}
	}
	return nil
}

func (f fieldOf) checkItem(item string) error {
	values, step, stepped := strings.Cut(item, "/")
	if stepped {
		if err := f.checkStep(step); err != nil {
			return err
		}
	}
	if values == "*" {
		return nil
	}
	from, to, isRange := strings.Cut(values, "-")
	first, err := f.value(from)
	if err != nil || !isRange {
		return err
	}
	last, err := f.value(to)
	if err == nil && strings.Trim(from, digits) == "" != (strings.Trim(to, digits) == "") {
		return fmt.Errorf("the range %s must have two numbers or two names", values)
	}
	if err == nil && last < first {
		return fmt.Errorf("the range %s ends before it begins; write two of them, as in %s-%s,%s-%s", values, from, f.word(f.max), f.word(f.min), to)
	}
	return err
}

// checkStep refuses steps that leave one value alone, as */90 of the minutes would be
// every hour.
func (f fieldOf) checkStep(text string) error {
	if step, err := number(text); err != nil || step < 1 || step > f.max-f.min {
		return fmt.Errorf("the step %q must be a number from 1 to %d", text, f.max-f.min)
	}
	return nil
}

func (f fieldOf) value(text string) (int, error) {
	if i := slices.Index(f.names, strings.ToLower(text)); i >= 0 {
		return f.min + i, nil
	}
	value, err := number(text)
	if err != nil || value < f.min || value > f.max {
		allowed := fmt.Sprintf("a number from %d to %d", f.min, f.max)
		if f.names != nil {
			allowed += fmt.Sprintf(", or %s to %s", f.word(f.min), f.word(f.max))
		}
		if f.names != nil && f.max == 6 && value == 7 {
			allowed += "; Sunday is 0"
		}
		return 0, fmt.Errorf("%q must be %s", text, allowed)
	}
	return value, nil
}

// word is how a value is written.
func (f fieldOf) word(value int) string {
	if f.names == nil {
		return strconv.Itoa(value)
	}
	return f.names[value-f.min]
}

const digits = "0123456789"

// number parses one or two digits, and neither a sign nor blanks.
func number(text string) (int, error) {
	if len(text) < 1 || len(text) > 2 || strings.Trim(text, digits) != "" {
		return 0, errors.New("is no number of one or two digits")
	}
	return strconv.Atoi(text)
}

// longestGap is the longest time between starts of one day.
func (s *Schedule) longestGap() time.Duration {
	var longest time.Duration
	last := -1
	for minute := range 24 * 60 {
		if s.cron.Hour&(1<<(minute/60)) == 0 || s.cron.Minute&(1<<(minute%60)) == 0 {
			continue
		}
		if last >= 0 {
			longest = max(longest, time.Duration(minute-last)*time.Minute)
		}
		last = minute
	}
	return longest
}

// next returns the first start after t on a clock that is offset seconds ahead of UTC
// for ever; zero where none is found.
func (s *Schedule) next(t time.Time, offset int) time.Time {
	fixed := s.cron
	fixed.Location = time.FixedZone("", offset)
	return fixed.Next(t)
}
