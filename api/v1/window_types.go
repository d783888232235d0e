package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Window is a time in which something may change, and that comes again and again.
type Window struct {
	// schedule is when the window opens: five fields of cron (minute, hour, day of month,
	// month, day of week), or one of @hourly, @daily, @weekly, @monthly and @yearly. At least
	// one of the day of month and the day of week must be *. A start that clocks skip
	// happens when the skipped hour is over; one that they repeat happens twice.
	// +required
	Schedule Schedule `json:"schedule"`

	// timeZone is a name of the IANA database, such as Europe/Berlin; UTC where it is left
	// out. Where the controller does not know the zone, the window stays closed.
	// +optional
	TimeZone TimeZone `json:"timeZone,omitempty"`

	// duration is how long the window stays open, by time that passes, from 1m to 744h
	// (31 days).
	// +required
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]{1,5}(\.[0-9]{1,3})?(ms|s|m|h)){1,4}$`
	Duration metav1.Duration `json:"duration"`
}

// Exclusion is a time in which nothing may change: once, from a start to an end; or
// again and again, as a window does.
//
// +kubebuilder:validation:XValidation:rule="has(self.schedule) ? has(self.duration) && !has(self.start) && !has(self.end) : has(self.start) && has(self.end) && !has(self.timeZone) && !has(self.duration)",message="an exclusion must have either a schedule and a duration, or a start and an end"
type Exclusion struct {
	// schedule is when the exclusion begins, as that of a window.
	// +optional
	Schedule Schedule `json:"schedule,omitempty"`

	// timeZone of the schedule; UTC where it is left out. Where the controller does not know
	// the zone, the exclusion is in force for ever.
	// +optional
	TimeZone TimeZone `json:"timeZone,omitempty"`

	// duration of the exclusion, from 1m to 744h (31 days).
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]{1,5}(\.[0-9]{1,3})?(ms|s|m|h)){1,4}$`
	Duration *metav1.Duration `json:"duration,omitempty"`

	// start of an exclusion that happens once, as RFC 3339 writes it:
	// 2026-12-18T00:00:00+01:00.
	// +optional
	Start *metav1.Time `json:"start,omitempty"`

	// end of an exclusion that happens once; it is not part of it.
	// +optional
	End *metav1.Time `json:"end,omitempty"`

	// reason is reported while the exclusion is in force.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Reason string `json:"reason,omitempty"`
}

// Schedule is five fields of cron, or the name of a schedule that has one.
//
// +kubebuilder:validation:MaxLength=128
type Schedule string

// TimeZone is the name of a zone in the IANA database.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=64
// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$`
type TimeZone string
