/* SPDX-License-Identifier: Apache-2.0 */
#include "placer/label.h"

#include <stddef.h>

#define DNS_LABEL_MAX 63
#define DNS_SUBDOMAIN_MAX 253
#define LABEL_NAME_MAX 63

static bool
lower_or_digit(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool
letter_or_digit(char c)
{
    return lower_or_digit(c) || (c >= 'A' && c <= 'Z');
}

/* One label of any length. */
static bool
dns_part(struct str text)
{
    if (text.n == 0 || text.s[0] == '-' || text.s[text.n - 1] == '-')
        return false;
    for (size_t i = 0; i < text.n; i++)
        if (!lower_or_digit(text.s[i]) && text.s[i] != '-')
            return false;
    return true;
}

bool
label_dns(struct str text)
{
    return text.n <= DNS_LABEL_MAX && dns_part(text);
}

/* Labels joined by dots. */
static bool
subdomain(struct str text)
{
    size_t start = 0;

    if (text.n > DNS_SUBDOMAIN_MAX)
        return false;
    for (size_t i = 0; i <= text.n; i++) {
        if (i < text.n && text.s[i] != '.')
            continue;
        if (!dns_part((struct str){text.s + start, i - start}))
            return false;
        start = i + 1;
    }
    return true;
}

static bool
name(struct str text)
{
    if (text.n == 0 || text.n > LABEL_NAME_MAX || !letter_or_digit(text.s[0]) ||
        !letter_or_digit(text.s[text.n - 1]))
        return false;
    for (size_t i = 0; i < text.n; i++)
        if (!letter_or_digit(text.s[i]) && text.s[i] != '-' &&
            text.s[i] != '_' && text.s[i] != '.')
            return false;
    return true;
}

bool
label_key(struct str text)
{
    const char *slash = text.n == 0 ? NULL : memchr(text.s, '/', text.n);
    size_t prefix;

    if (slash == NULL)
        return name(text);
    prefix = (size_t)(slash - text.s);
    return subdomain((struct str){text.s, prefix}) &&
           name((struct str){slash + 1, text.n - prefix - 1});
}

bool
label_value(struct str text)
{
    return text.n == 0 || name(text);
}
