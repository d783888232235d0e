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
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1m') && duration(self) <= duration('744h')",message="duration must be between 1m and 744h, which is 31 days"
	Duration metav1.Duration `json:"duration"`
}

// Exclusion is a time in which nothing may change: once, from a start to an end; or
// again and again, as a window does.
//
// +kubebuilder:validation:XValidation:rule="has(self.schedule) ? has(self.duration) && !has(self.start) && !has(self.end) : has(self.start) && has(self.end) && !has(self.timeZone) && !has(self.duration)",message="an exclusion must have either a schedule and a duration, or a start and an end"
// +kubebuilder:validation:XValidation:rule="!has(self.start) || !has(self.end) || self.start < self.end",message="end must be after start"
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
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1m') && duration(self) <= duration('744h')",message="duration must be between 1m and 744h, which is 31 days"
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
// +kubebuilder:validation:XValidation:rule=`self.matches(r'^(@(hourly|daily|midnight|weekly|monthly|yearly|annually)|(\*|[0-5]?[0-9](-[0-5]?[0-9])?)(/(0?[1-9]|[1-5][0-9]))?(,(\*|[0-5]?[0-9](-[0-5]?[0-9])?)(/(0?[1-9]|[1-5][0-9]))?)* (\*|([01]?[0-9]|2[0-3])(-([01]?[0-9]|2[0-3]))?)(/(0?[1-9]|1[0-9]|2[0-3]))?(,(\*|([01]?[0-9]|2[0-3])(-([01]?[0-9]|2[0-3]))?)(/(0?[1-9]|1[0-9]|2[0-3]))?)* (\*|(0?[1-9]|[12][0-9]|3[01])(-(0?[1-9]|[12][0-9]|3[01]))?)(/(0?[1-9]|[12][0-9]|30))?(,(\*|(0?[1-9]|[12][0-9]|3[01])(-(0?[1-9]|[12][0-9]|3[01]))?)(/(0?[1-9]|[12][0-9]|30))?)* (\*|(0?[1-9]|1[0-2])(-(0?[1-9]|1[0-2]))?|([Jj][Aa][Nn]|[Ff][Ee][Bb]|[Mm][Aa][Rr]|[Aa][Pp][Rr]|[Mm][Aa][Yy]|[Jj][Uu][Nn]|[Jj][Uu][Ll]|[Aa][Uu][Gg]|[Ss][Ee][Pp]|[Oo][Cc][Tt]|[Nn][Oo][Vv]|[Dd][Ee][Cc])(-([Jj][Aa][Nn]|[Ff][Ee][Bb]|[Mm][Aa][Rr]|[Aa][Pp][Rr]|[Mm][Aa][Yy]|[Jj][Uu][Nn]|[Jj][Uu][Ll]|[Aa][Uu][Gg]|[Ss][Ee][Pp]|[Oo][Cc][Tt]|[Nn][Oo][Vv]|[Dd][Ee][Cc]))?)(/(0?[1-9]|1[01]))?(,(\*|(0?[1-9]|1[0-2])(-(0?[1-9]|1[0-2]))?|([Jj][Aa][Nn]|[Ff][Ee][Bb]|[Mm][Aa][Rr]|[Aa][Pp][Rr]|[Mm][Aa][Yy]|[Jj][Uu][Nn]|[Jj][Uu][Ll]|[Aa][Uu][Gg]|[Ss][Ee][Pp]|[Oo][Cc][Tt]|[Nn][Oo][Vv]|[Dd][Ee][Cc])(-([Jj][Aa][Nn]|[Ff][Ee][Bb]|[Mm][Aa][Rr]|[Aa][Pp][Rr]|[Mm][Aa][Yy]|[Jj][Uu][Nn]|[Jj][Uu][Ll]|[Aa][Uu][Gg]|[Ss][Ee][Pp]|[Oo][Cc][Tt]|[Nn][Oo][Vv]|[Dd][Ee][Cc]))?)(/(0?[1-9]|1[01]))?)* (\*|0?[0-6](-0?[0-6])?|([Ss][Uu][Nn]|[Mm][Oo][Nn]|[Tt][Uu][Ee]|[Ww][Ee][Dd]|[Tt][Hh][Uu]|[Ff][Rr][Ii]|[Ss][Aa][Tt])(-([Ss][Uu][Nn]|[Mm][Oo][Nn]|[Tt][Uu][Ee]|[Ww][Ee][Dd]|[Tt][Hh][Uu]|[Ff][Rr][Ii]|[Ss][Aa][Tt]))?)(/0?[1-6])?(,(\*|0?[0-6](-0?[0-6])?|([Ss][Uu][Nn]|[Mm][Oo][Nn]|[Tt][Uu][Ee]|[Ww][Ee][Dd]|[Tt][Hh][Uu]|[Ff][Rr][Ii]|[Ss][Aa][Tt])(-([Ss][Uu][Nn]|[Mm][Oo][Nn]|[Tt][Uu][Ee]|[Ww][Ee][Dd]|[Tt][Hh][Uu]|[Ff][Rr][Ii]|[Ss][Aa][Tt]))?)(/0?[1-6])?)*)$')`,message="schedule must be five fields with one blank between them (minute, hour, day of month, month, day of week), of *, values, ranges and steps that leave more than one value, without a time zone; or one of @hourly, @daily, @midnight, @weekly, @monthly, @yearly, @annually"
// +kubebuilder:validation:XValidation:rule=`self.startsWith('@') || self.matches(r'^[^ ]+ [^ ]+ [*] ') || self.endsWith(' *')`,message="schedule must not restrict both the day of month and the day of week: cron starts on days that are either"
// +kubebuilder:validation:XValidation:rule=`!self.matches(r'(^|[ ,])(0?1-0?0|0?2-0?[0-1]|0?3-0?[0-2]|0?4-0?[0-3]|0?5-0?[0-4]|0?6-0?[0-5]|0?7-0?[0-6]|0?8-0?[0-7]|0?9-0?[0-8]|[1-5][0-9]-0?[0-9]|2[0-9]-1[0-9]|3[0-9]-[1-2][0-9]|4[0-9]-[1-3][0-9]|5[0-9]-[1-4][0-9]|11-10|12-1[0-1]|13-1[0-2]|14-1[0-3]|15-1[0-4]|16-1[0-5]|17-1[0-6]|18-1[0-7]|19-1[0-8]|21-20|22-2[0-1]|23-2[0-2]|24-2[0-3]|25-2[0-4]|26-2[0-5]|27-2[0-6]|28-2[0-7]|29-2[0-8]|31-30|32-3[0-1]|33-3[0-2]|34-3[0-3]|35-3[0-4]|36-3[0-5]|37-3[0-6]|38-3[0-7]|39-3[0-8]|41-40|42-4[0-1]|43-4[0-2]|44-4[0-3]|45-4[0-4]|46-4[0-5]|47-4[0-6]|48-4[0-7]|49-4[0-8]|51-50|52-5[0-1]|53-5[0-2]|54-5[0-3]|55-5[0-4]|56-5[0-5]|57-5[0-6]|58-5[0-7]|59-5[0-8]|[Ff][Ee][Bb]-([Jj][Aa][Nn])|[Mm][Aa][Rr]-([Jj][Aa][Nn]|[Ff][Ee][Bb])|[Aa][Pp][Rr]-([Jj][Aa][Nn]|[Ff][Ee][Bb]|[Mm][Aa][Rr])|[Mm][Aa][Yy]-([Jj][Aa][Nn]|[Ff][Ee][Bb]|[Mm][Aa][Rr]|[Aa][Pp][Rr])|[Jj][Uu][Nn]-([Jj][Aa][Nn]|[Ff][Ee][Bb]|[Mm][Aa][Rr]|[Aa][Pp][Rr]|[Mm][Aa][Yy])|[Jj][Uu][Ll]-([Jj][Aa][Nn]|[Ff][Ee][Bb]|[Mm][Aa][Rr]|[Aa][Pp][Rr]|[Mm][Aa][Yy]|[Jj][Uu][Nn])|[Aa][Uu][Gg]-([Jj][Aa][Nn]|[Ff][Ee][Bb]|[Mm][Aa][Rr]|[Aa][Pp][Rr]|[Mm][Aa][Yy]|[Jj][Uu][Nn]|[Jj][Uu][Ll])|[Ss][Ee][Pp]-([Jj][Aa][Nn]|[Ff][Ee][Bb]|[Mm][Aa][Rr]|[Aa][Pp][Rr]|[Mm][Aa][Yy]|[Jj][Uu][Nn]|[Jj][Uu][Ll]|[Aa][Uu][Gg])|[Oo][Cc][Tt]-([Jj][Aa][Nn]|[Ff][Ee][Bb]|[Mm][Aa][Rr]|[Aa][Pp][Rr]|[Mm][Aa][Yy]|[Jj][Uu][Nn]|[Jj][Uu][Ll]|[Aa][Uu][Gg]|[Ss][Ee][Pp])|[Nn][Oo][Vv]-([Jj][Aa][Nn]|[Ff][Ee][Bb]|[Mm][Aa][Rr]|[Aa][Pp][Rr]|[Mm][Aa][Yy]|[Jj][Uu][Nn]|[Jj][Uu][Ll]|[Aa][Uu][Gg]|[Ss][Ee][Pp]|[Oo][Cc][Tt])|[Dd][Ee][Cc]-([Jj][Aa][Nn]|[Ff][Ee][Bb]|[Mm][Aa][Rr]|[Aa][Pp][Rr]|[Mm][Aa][Yy]|[Jj][Uu][Nn]|[Jj][Uu][Ll]|[Aa][Uu][Gg]|[Ss][Ee][Pp]|[Oo][Cc][Tt]|[Nn][Oo][Vv])|[Mm][Oo][Nn]-([Ss][Uu][Nn])|[Tt][Uu][Ee]-([Ss][Uu][Nn]|[Mm][Oo][Nn])|[Ww][Ee][Dd]-([Ss][Uu][Nn]|[Mm][Oo][Nn]|[Tt][Uu][Ee])|[Tt][Hh][Uu]-([Ss][Uu][Nn]|[Mm][Oo][Nn]|[Tt][Uu][Ee]|[Ww][Ee][Dd])|[Ff][Rr][Ii]-([Ss][Uu][Nn]|[Mm][Oo][Nn]|[Tt][Uu][Ee]|[Ww][Ee][Dd]|[Tt][Hh][Uu])|[Ss][Aa][Tt]-([Ss][Uu][Nn]|[Mm][Oo][Nn]|[Tt][Uu][Ee]|[Ww][Ee][Dd]|[Tt][Hh][Uu]|[Ff][Rr][Ii]))([ ,/]|$)')`,message="a range of a schedule must not end before it begins"
type Schedule string

// TimeZone is the name of a zone in the IANA database.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=64
// +kubebuilder:validation:Pattern=`^[A-Za-z0-9][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$`
// +kubebuilder:validation:XValidation:rule="!self.lowerAscii().matches('^(local|localtime|posixrules|(posix|right)/.*)$')",message="timeZone must name a zone, such as Europe/Berlin: local, localtime, posixrules, posix/ and right/ differ from machine to machine"
type TimeZone string
