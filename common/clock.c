/* SPDX-License-Identifier: Apache-2.0 */
#include "common/clock.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/mem.h"

static int64_t
read_clock(clockid_t id)
{
    struct timespec ts;

    if (clock_gettime(id, &ts) != 0)
        fatal("clock_gettime(%d)", (int)id);
    return ts.tv_sec * CLOCK_SECOND + ts.tv_nsec;
}

int64_t
clock_now(void)
{
    return read_clock(CLOCK_BOOTTIME);
}

int64_t
clock_wall(void)
{
    return read_clock(CLOCK_REALTIME);
}

void
clock_format(int64_t ns, enum clock_form form, char text[CLOCK_TEXT])
{
    time_t seconds = (time_t)(ns / CLOCK_SECOND);
    int64_t fraction = ns % CLOCK_SECOND;
    struct tm tm;
    size_t used;

    if (fraction < 0) {
        fraction += CLOCK_SECOND;
        seconds--;
    }
    gmtime_r(&seconds, &tm);
    used = strftime(text, CLOCK_TEXT, "%Y-%m-%dT%H:%M:%S", &tm);
    if (form != CLOCK_SECONDS) {
        char digits[16];

        snprintf(digits, sizeof(digits), "%09d", (int)fraction);
        text[used++] = '.';
        memcpy(text + used, digits, (size_t)form);
        used += (size_t)form;
    }
    memcpy(text + used, "Z", 2);
}

/* Takes exactly n digits from *text. */
static bool
take_digits(struct str *text, size_t n, int *value)
{
    if (text->n < n)
        return false;
    *value = 0;
    for (size_t i = 0; i < n; i++) {
        if (!isdigit((unsigned char)text->s[i]))
            return false;
        *value = *value * 10 + (text->s[i] - '0');
    }
    text->s += n;
    text->n -= n;
    return true;
}

static bool
take_char(struct str *text, const char *one_of)
{
    if (text->n == 0 || text->s[0] == '\0' ||
        strchr(one_of, text->s[0]) == NULL)
        return false;
    text->s++;
    text->n--;
    return true;
}

/* The fraction of a second in nanoseconds; digits beyond the ninth are cut. */
static bool
take_fraction(struct str *text, int64_t *ns)
{
    int64_t unit = CLOCK_SECOND;
    size_t digits = 0;

    *ns = 0;
    if (!take_char(text, "."))
        return true;
    for (; text->n > 0 && isdigit((unsigned char)text->s[0]); digits++) {
        unit /= 10;
        *ns += (text->s[0] - '0') * unit;
        text->s++;
        text->n--;
    }
    return digits > 0;
}

static bool
take_offset(struct str *text, int *minutes)
{
    bool west = text->n > 0 && text->s[0] == '-';
    int hour;
    int minute;

    *minutes = 0;
    if (take_char(text, "Zz"))
        return true;
    if (!take_char(text, "+-") || !take_digits(text, 2, &hour) ||
        !take_char(text, ":") || !take_digits(text, 2, &minute) || hour > 23 ||
        minute > 59)
        return false;
    *minutes = (hour * 60 + minute) * (west ? -1 : 1);
    return true;
}

static int
days_of(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

    return days[month - 1] + (month == 2 && leap);
}

static bool
take_date_time(struct str *text, struct tm *tm)
{
    if (!take_digits(text, 4, &tm->tm_year) || !take_char(text, "-") ||
        !take_digits(text, 2, &tm->tm_mon) || !take_char(text, "-") ||
        !take_digits(text, 2, &tm->tm_mday) || !take_char(text, "Tt") ||
        !take_digits(text, 2, &tm->tm_hour) || !take_char(text, ":") ||
        !take_digits(text, 2, &tm->tm_min) || !take_char(text, ":") ||
        !take_digits(text, 2, &tm->tm_sec))
        return false;
    return tm->tm_year >= 1 && tm->tm_mon >= 1 && tm->tm_mon <= 12 &&
           tm->tm_mday >= 1 && tm->tm_hour <= 23 && tm->tm_min <= 59 &&
           tm->tm_sec <= 60 && tm->tm_mday <= days_of(tm->tm_year, tm->tm_mon);
}

int
clock_parse(struct str text, int64_t *ns, struct err *err)
{
    struct str rest = text;
    struct tm tm = {0};
    int64_t fraction;
    int offset;

    if (!take_date_time(&rest, &tm) || !take_fraction(&rest, &fraction) ||
        !take_offset(&rest, &offset) || rest.n != 0)
        return err_set(err, "\"%.*s\" is not an RFC 3339 time", (int)text.n,
                       text.s);
    tm.tm_year -= 1900;
    tm.tm_mon -= 1;
    if (__builtin_mul_overflow((int64_t)timegm(&tm) - offset * 60, CLOCK_SECOND,
                               ns) ||
        __builtin_add_overflow(*ns, fraction, ns))
        return err_set(err, "time %.*s is out of range", (int)text.n, text.s);
    return 0;
}

static const struct {
    const char *name;
    int64_t ns;
} units[] = {
    {"ns", 1},
    {"us", 1000},
    {"\302\265s", 1000},
    {"\316\274s", 1000},
    {"ms", CLOCK_MS},
    {"s", CLOCK_SECOND},
    {"m", 60 * CLOCK_SECOND},
    {"h", 3600 * CLOCK_SECOND},
};

/* number with one more digit; false and unchanged if that does not fit. */
static bool
append_digit(int64_t *number, char digit)
{
    int64_t grown;

    if (__builtin_mul_overflow(*number, 10, &grown) ||
        __builtin_add_overflow(grown, digit - '0', &grown))
        return false;
    *number = grown;
    return true;
}

/* One number and its unit, "1.5s"; adds it to *ns and moves *text on.  The
 * fraction is reckoned as Go does it, to the same last nanosecond. */
static bool
take_term(const char **text, int64_t *ns)
{
    const char *p = *text;
    int64_t whole = 0;
    int64_t part;
    int64_t fraction = 0;
    double scale = 1;
    size_t n;
    bool digits = false;

    for (; isdigit((unsigned char)*p); p++, digits = true)
        if (!append_digit(&whole, *p))
            return false;
    if (*p == '.')
        for (p++; isdigit((unsigned char)*p); p++, digits = true)
            if (append_digit(&fraction, *p))
                scale *= 10;
    n = strcspn(p, "0123456789.");
    if (!digits)
        return false;
    for (size_t i = 0; i < nitems(units); i++) {
        double unit = (double)units[i].ns;

        if (strlen(units[i].name) != n || strncmp(p, units[i].name, n) != 0)
            continue;
        *text = p + n;
        return !__builtin_mul_overflow(whole, units[i].ns, &part) &&
               !__builtin_add_overflow(*ns, part, ns) &&
               !__builtin_add_overflow(
                   *ns, (int64_t)((double)fraction * (unit / scale)), ns);
    }
    return false;
}

int
duration_parse(const char *text, int64_t *ns, struct err *err)
{
    const char *p = text;
    bool minus = *p == '-';

    *ns = 0;
    if (*p == '-' || *p == '+')
        p++;
    if (strcmp(p, "0") == 0)
        return 0;
    if (*p == '\0')
        goto bad;
    while (*p != '\0')
        if (!take_term(&p, ns))
            goto bad;
    if (minus)
        *ns = -*ns;
    return 0;
bad:
    return err_set(err,
                   "\"%s\" is not a duration (write it like 15s, 100ms or "
                   "1m30s)",
                   text);
}
