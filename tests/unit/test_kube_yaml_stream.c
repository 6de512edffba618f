/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "common/buf.h"
#include "common/kube/yaml_stream.h"
#include "common/mem.h"

/* Text that is given out in pieces of so many bytes; then filler follows. */
struct source {
    struct str rest;
    size_t piece;
    size_t filler; /* so many '9' */
    bool fails;
};

static ssize_t
give(void *arg, char *room, size_t n)
{
    struct source *s = arg;

    if (s->rest.n == 0 && s->fails)
        return -1;
    if (s->rest.n == 0) {
        n = n < s->filler ? n : s->filler;
        memset(room, '9', n);
        s->filler -= n;
        return (ssize_t)n;
    }
    n = n < s->piece ? n : s->piece;
    n = n < s->rest.n ? n : s->rest.n;
    memcpy(room, s->rest.s, n);
    s->rest.s += n;
    s->rest.n -= n;
    return (ssize_t)n;
}

/* The steps as text, one a line: kind, line, text. */
static char *
steps_of(struct source *s)
{
    static const char *const names[] = {
        [KUBE_YAML_DOCUMENT] = "document",
        [KUBE_YAML_DOCUMENT_END] = "complete",
        [KUBE_YAML_MAP_BEGIN] = "map",
        [KUBE_YAML_LIST_BEGIN] = "list",
        [KUBE_YAML_END] = "end",
        [KUBE_YAML_VALUE] = "value",
        [KUBE_YAML_ALIAS] = "alias",
        [KUBE_YAML_STREAM_END] = "over",
    };
    struct kube_yaml_stream *stream = kube_yaml_stream_new(give, s);
    struct kube_yaml_step step;
    struct buf out = {0};
    struct err err;

    do {
        if (kube_yaml_stream_next(stream, &step, &err) != 0) {
            buf_printf(&out, "%zu failed: %s\n", step.line, err.text);
            break;
        }
        buf_printf(&out, "%s %zu%s%.*s%s%.*s%s\n", names[step.kind], step.line,
                   step.text.n > 0 ? " " : "", (int)step.text.n, step.text.s,
                   step.tag.n > 0 ? " " : "", (int)step.tag.n, step.tag.s,
                   step.plain ? " plain" : "");
    } while (step.kind != KUBE_YAML_STREAM_END);
    kube_yaml_stream_free(stream);
    return buf_take(&out);
}

static void
expect(const char *text, const char *wanted)
{
    for (size_t piece = 1; piece <= 64; piece += 21) {
        struct source s = {.rest = str_of(text), .piece = piece};
        char *steps = steps_of(&s);

        assert_string_equal(steps, wanted);
        free(steps);
    }
}

static void
test_steps_and_lines(void **state)
{
    (void)state;
    expect("a: 1\nb:\n- x\n- \"y\"\n---\n*z\n", "document 1\n"
                                                "map 1\n"
                                                "value 1 a plain\n"
                                                "value 1 1 plain\n"
                                                "value 2 b plain\n"
                                                "list 3\n"
                                                "value 3 x plain\n"
                                                "value 4 y\n"
                                                "end 5\n"
                                                "end 5\n"
                                                "complete 5\n"
                                                "document 5\n"
                                                "alias 6 z\n"
                                                "complete 7\n"
                                                "over 7\n");
    expect("", "over 1\n");
    expect("!!str 1\n", "document 1\n"
                        "value 1 1 tag:yaml.org,2002:str plain\n"
                        "complete 2\n"
                        "over 2\n");
}

static void
test_what_is_no_yaml_is_told_with_its_line(void **state)
{
    (void)state;
    expect("a:\n\tb: 2\n",
           "document 1\n"
           "map 1\n"
           "value 1 a plain\n"
           "2 failed: not YAML: while scanning for the next token: found "
           "character that cannot start any token\n");
}

static void
test_bytes_that_are_no_utf8(void **state)
{
    struct source s = {.rest = STR("a: 1\nb: \xff\n"), .piece = 64};
    char *steps = steps_of(&s);

    (void)state;
    assert_non_null(strstr(steps, "2 failed: not YAML in UTF-8: invalid "
                                  "leading UTF-8 octet (0xff at byte 8)"));
    free(steps);
}

/* Memory is bounded: a value without an end is not waited for. */
static void
test_a_value_beyond_the_limit(void **state)
{
    struct source s = {
        .rest = STR("a: "), .piece = 64, .filler = (size_t)1 << 40};
    char *steps = steps_of(&s);

    (void)state;
    assert_non_null(strstr(steps, "more than 16777216 bytes in one value"));
    free(steps);
}

static void
test_a_failed_read(void **state)
{
    struct source s = {.rest = STR("a: "), .piece = 64, .fails = true};
    char *steps = steps_of(&s);

    (void)state;
    assert_non_null(strstr(steps, "failed: not YAML in UTF-8: input error"));
    free(steps);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps_and_lines),
        cmocka_unit_test(test_what_is_no_yaml_is_told_with_its_line),
        cmocka_unit_test(test_bytes_that_are_no_utf8),
        cmocka_unit_test(test_a_value_beyond_the_limit),
        cmocka_unit_test(test_a_failed_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
