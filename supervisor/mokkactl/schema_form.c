/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/mokkactl/schema_form.h"

#include <ctype.h>

#include "common/clock.h"
#include "placer/label.h"

static bool
is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool
is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f');
}

static bool
is_lower(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z');
}

static bool
is_alpha(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Byte by byte as in the model, in which x stands for a hex digit in lower
 * case and o for an octal one. */
static bool
is_like(struct str text, const char *model)
{
    if (text.n != strlen(model))
        return false;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.s[i];

        if (model[i] == 'x'
                ? !is_hex(c)
                : (model[i] == 'o' ? c < '0' || c > '7' : c != model[i]))
            return false;
    }
    return true;
}

static bool
is_pci_address(struct str text)
{
    return is_like(text, "xxxx:xx:xx.o");
}

static bool
is_root_complex(struct str text)
{
    return is_like(text, "pcixxxx:xx");
}

static bool
is_gpu_uuid(struct str text)
{
    return is_like(text, "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx");
}

static bool
is_revision(struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        if (!is_hex(text.s[i]))
            return false;
    return text.n == 64;
}

/* Each of the four hyphens may be missing. */
static bool
is_uuid(struct str text)
{
    static const int groups[] = {8, 4, 4, 4, 12};
    size_t at = 0;

    for (size_t g = 0; g < sizeof(groups) / sizeof(groups[0]); g++) {
        if (g > 0 && at < text.n && text.s[at] == '-')
            at++;
        for (int i = 0; i < groups[g]; i++, at++)
            if (at >= text.n || !is_hex((char)(text.s[at] | 0x20)))
                return false;
    }
    return at == text.n;
}

static bool
is_performance(struct str text)
{
    for (size_t i = 1; i < text.n; i++)
        if (!is_digit(text.s[i]))
            return false;
    return text.n >= 2 && text.s[0] == 'P';
}

static bool
is_time(struct str text)
{
    int64_t ns;

    return clock_parse(text, &ns, NULL) == 0;
}

/* Labels of lower-case letters, digits and inner hyphens, joined by dots. */
static bool
is_subdomain(struct str text)
{
    bool inside = false; /* a label has begun */

    for (size_t i = 0; i < text.n; i++) {
        char c = text.s[i];
        bool last = i + 1 == text.n || text.s[i + 1] == '.';

        if (c == '.' ? !inside : !is_lower(c) && (c != '-' || !inside || last))
            return false;
        inside = c != '.';
    }
    return inside;
}

static bool
is_name(struct str text)
{
    for (size_t i = 0; i < text.n; i++) {
        bool edge = i == 0 || i + 1 == text.n;
        char c = text.s[i];

        if (!is_alpha(c) && !is_digit(c) &&
            (edge || (c != '-' && c != '_' && c != '.')))
            return false;
    }
    return text.n > 0;
}

/* As a label's key, but of any length. */
static bool
is_condition_type(struct str text)
{
    const char *slash = memchr(text.s, '/', text.n);
    size_t n = slash == NULL ? 0 : (size_t)(slash - text.s);

    if (slash == NULL)
        return is_name(text);
    return is_subdomain((struct str){text.s, n}) &&
           is_name((struct str){slash + 1, text.n - n - 1});
}

static bool
is_reason(struct str text)
{
    for (size_t i = 0; i < text.n; i++) {
        bool last = i + 1 == text.n;
        char c = text.s[i];

        if (!is_alpha(c) && (i == 0 || (!is_digit(c) && c != '_' &&
                                        (last || (c != ',' && c != ':')))))
            return false;
    }
    return text.n > 0;
}

static bool
is_object_name(struct str text)
{
    return text.n <= 253 && is_subdomain(text);
}

static bool
is_annotation_key(struct str text)
{
    char lower[512];

    if (text.n > sizeof(lower))
        return false;
    for (size_t i = 0; i < text.n; i++)
        lower[i] = (char)tolower((unsigned char)text.s[i]);
    return label_key((struct str){lower, text.n});
}

static bool
is_version(struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        if (!is_digit(text.s[i]))
            return false;
    return text.n >= 1 && text.n <= 18;
}

static bool
is_nothing(struct str text)
{
    return text.n == 0;
}

/* Digits with at most one dot among them, at least one digit: how many bytes,
 * or 0. */
static size_t
decimal(struct str text)
{
    size_t i = 0, digits = 0, dots = 0;

    for (; i < text.n; i++) {
        if (is_digit(text.s[i]))
            digits++;
        else if (text.s[i] != '.' || dots++ > 0)
            break;
    }
    return digits == 0 ? 0 : i;
}

static struct str
after(struct str text, size_t n)
{
    return (struct str){text.s + n, text.n - n};
}

static size_t
sign(struct str text)
{
    return text.n > 0 && (text.s[0] == '+' || text.s[0] == '-');
}

static bool
is_suffix(struct str text)
{
    size_t n;

    if (text.n == 0)
        return true;
    if (text.n == 1 && strchr("numkMGTPE", text.s[0]) != NULL)
        return true;
    if (text.n == 2 && strchr("KMGTPE", text.s[0]) != NULL && text.s[1] == 'i')
        return true;
    if (text.s[0] != 'e' && text.s[0] != 'E')
        return false;
    text = after(text, 1);
    text = after(text, sign(text));
    n = decimal(text);
    return n > 0 && n == text.n;
}

static bool
is_quantity(struct str text)
{
    size_t n;

    text = after(text, sign(text));
    n = decimal(text);
    return n > 0 && is_suffix(after(text, n));
}

const struct form form_pci_address = {
    is_pci_address, "must be a PCI address such as 0000:1b:00.0 (hex digits in "
                    "lower case)"};
const struct form form_root_complex = {
    is_root_complex,
    "must be a root complex such as pci0000:15 (hex digits in lower case)"};
const struct form form_gpu_uuid = {is_gpu_uuid,
                                   "must be GPU- and a UUID in lower case"};
const struct form form_uuid = {is_uuid, "must be a UUID"};
const struct form form_revision = {is_revision,
                                   "must be 64 hex digits in lower case"};
const struct form form_performance = {is_performance, "must be P and a number"};
const struct form form_time = {
    is_time, "must be a time such as 2026-01-02T03:04:05Z (RFC 3339)"};
const struct form form_condition_type = {
    is_condition_type,
    "must be a name of letters, digits and inner '-', '_', '.', with an "
    "optional DNS prefix and '/'"};
const struct form form_reason = {
    is_reason, "must begin with a letter, go on with letters, digits, '_', "
               "',', ':' and not end with ',' or ':'"};
const struct form form_quantity = {is_quantity,
                                   "must be a quantity such as 80Gi or 1.5k"};
const struct form form_object_name = {
    is_object_name, "must be a DNS name: labels of lower-case letters, digits "
                    "and inner hyphens joined by dots, 253 bytes at most"};
const struct form form_label_key = {
    label_key, "must be a label key: an optional DNS prefix and '/', then 1 to "
               "63 letters, digits and inner '-', '_', '.'"};
const struct form form_label_value = {
    label_value, "must be empty or 1 to 63 letters, digits and inner '-', "
                 "'_', '.'"};
const struct form form_annotation_key = {
    is_annotation_key, "must be an optional DNS prefix and '/', then 1 to 63 "
                       "letters, digits and inner '-', '_', '.'"};
const struct form form_version = {is_version,
                                  "must be a decimal number of 18 digits at "
                                  "most"};
const struct form form_nothing = {
    is_nothing, "must be left out: the kind is not in a namespace"};
