package budget

// The proleptic Gregorian calendar in integers: days count from 1970-01-01,
// seconds likewise, on a wall clock that knows no zone.

const secondsPerDay = 24 * 60 * 60

// split cuts a count of seconds into a day and the second of that day.
func split(second int64) (day, ofDay int64) {
	day = second / secondsPerDay
	if ofDay = second % secondsPerDay; ofDay < 0 {
		return day - 1, ofDay + secondsPerDay
	}
	return day, ofDay
}

// dayOf counts the days to the given date.
func dayOf(year, month, date int64) int64 {
	if month <= 2 {
		year--
		month += 12
	}
	era := floorDiv(year, 400)
	yearOfEra := year - era*400
	dayOfYear := (153*(month-3)+2)/5 + date - 1
	return era*146097 + yearOfEra*365 + yearOfEra/4 - yearOfEra/100 + dayOfYear - 719468
}

// civil is the date of a day: the inverse of dayOf.
func civil(day int64) (year, month, date int64) {
	day += 719468
	era := floorDiv(day, 146097)
	dayOfEra := day - era*146097
	yearOfEra := (dayOfEra - dayOfEra/1460 + dayOfEra/36524 - dayOfEra/146096) / 365
	dayOfYear := dayOfEra - (365*yearOfEra + yearOfEra/4 - yearOfEra/100)
	shifted := (5*dayOfYear + 2) / 153 // months from March on
	year, month, date = yearOfEra+era*400, shifted+3, dayOfYear-(153*shifted+2)/5+1
	if month > 12 {
		return year + 1, month - 12, date
	}
	return year, month, date
}

// weekday of a day, 0 for Sunday.
func weekday(day int64) int64 {
	w := (day + 4) % 7
	if w < 0 {
		return w + 7
	}
	return w
}

// nextMonth is the month after the given one.
func nextMonth(year, month int64) (int64, int64) {
	if month == 12 {
		return year + 1, 1
	}
	return year, month + 1
}

// monthLength in days.
func monthLength(year, month int64) int64 {
	switch month {
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
