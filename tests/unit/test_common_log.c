/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"

static int out[2];

static void
begin(enum log_level level, enum log_format format)
{
    assert_int_equal(pipe(out), 0);
    log_to(out[1]);
    log_setup("tester", 3, level, format);
}

/* What was logged since begin. */
static void
end(char *text, size_t size)
{
    size_t used = 0;
    ssize_t n;

    log_to(STDOUT_FILENO);
    close(out[1]);
    while ((n = read(out[0], text + used, size - 1 - used)) > 0)
        used += (size_t)n;
    text[used] = '\0';
    close(out[0]);
}

static void
test_lines_are_held_and_let_go_in_order_or_dropped(void **state)
{
    char text[1000];

    (void)state;
    begin(LOG_INFO, LOG_PLAIN);
    log_hold();
    log_info("dropped");
    log_drop();
    log_hold();
    log_info("one", F_SOME("none", ""), F_SOME("some", "x"));
    log_error("two", F_SOME("missing", NULL));
    log_let_go();
    log_info("three");
    log_let_go();
    end(text, sizeof(text));
    assert_null(strstr(text, "dropped"));
    assert_null(strstr(text, "none"));
    assert_null(strstr(text, "missing"));
    assert_non_null(strstr(text, "one some=x worker="));
    assert_true(strstr(text, "one") < strstr(text, "two"));
    assert_true(strstr(text, "two") < strstr(text, "three"));
    assert_non_null(strstr(text, "one"));
    assert_null(strstr(strstr(text, "three"), "one"));
}

static void
test_a_line_is_json_with_its_keys_in_order(void **state)
{
    static const char *const keys[] = {"level", "time",   "msg",       "node",
                                       "count", "worker", "generation"};
    char line[1000];
    const char *key;
    json_t *json;
    json_t *value;
    size_t i = 0;

    (void)state;
    begin(LOG_INFO, LOG_JSON);
    log_warn("it \"is\"\n so", F_STR("node", "n<1>"), F_INT("count", -7));
    end(line, sizeof(line));
    assert_int_equal(line[strlen(line) - 1], '\n');
    assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
    json = json_loads(line, 0, NULL);
    assert_non_null(json);
    json_object_foreach(json, key, value) assert_string_equal(key, keys[i++]);
    assert_int_equal(i, nitems(keys));
    assert_string_equal(json_string_value(json_object_get(json, "msg")),
                        "it \"is\"\n so");
    assert_string_equal(json_string_value(json_object_get(json, "node")),
                        "n<1>");
    assert_int_equal(json_integer_value(json_object_get(json, "count")), -7);
    assert_int_equal(json_integer_value(json_object_get(json, "generation")),
                     3);
    json_decref(json);
}

static void
test_time_has_milliseconds_and_ends_in_z(void **state)
{
    char line[1000];
    char time[100];

    (void)state;
    begin(LOG_INFO, LOG_JSON);
    log_info("x");
    end(line, sizeof(line));
    assert_int_equal(
        sscanf(line, "{\"level\":\"info\",\"time\":\"%99[^\"]\"", time), 1);
    assert_int_equal(strlen(time), strlen("2026-01-02T03:04:05.678Z"));
    assert_int_equal(time[19], '.');
    assert_int_equal(time[23], 'Z');
}

static void
test_levels_are_named_and_lower_ones_left_out(void **state)
{
    char text[4000];

    (void)state;
    begin(LOG_WARN, LOG_JSON);
    log_debug("no");
    log_info("no");
    log_warn("yes");
    log_error("yes");
    end(text, sizeof(text));
    assert_null(strstr(text, "\"no\""));
    assert_non_null(strstr(text, "{\"level\":\"warn\","));
    assert_non_null(strstr(text, "{\"level\":\"error\","));
    begin(LOG_DEBUG, LOG_JSON);
    log_debug("yes");
    end(text, sizeof(text));
    assert_non_null(strstr(text, "{\"level\":\"debug\","));
}

static void
test_plain_text_quotes_what_needs_it(void **state)
{
    char line[1000];

    (void)state;
    begin(LOG_INFO, LOG_PLAIN);
    log_info("a message", F_STR("a", "plain"), F_STR("b", "two words"),
             F_STR("c", ""), F_STR("d", NULL), F_INT("e", 5),
             F_STR("f", "x=\"y\""));
    end(line, sizeof(line));
    assert_non_null(strstr(line, "Z info  a message a=plain b=\"two words\" "
                                 "c=\"\" d=\"\" e=5 f=\"x=\\\"y\\\"\" "
                                 "worker=tester generation=3\n"));
}

static void
test_numbers_keep_64_bits(void **state)
{
    char line[1000];

    (void)state;
    begin(LOG_INFO, LOG_JSON);
    log_info("x", F_INT("low", INT64_MIN), F_INT("high", INT64_MAX));
    end(line, sizeof(line));
    assert_non_null(strstr(line, "\"low\":-9223372036854775808,"
                                 "\"high\":9223372036854775807,"));
}

static void
test_names_of_levels_and_formats(void **state)
{
    static const struct {
        const char *text;
        enum log_level level;
    } levels[] = {
        {"debug", LOG_DEBUG}, {"INFO", LOG_INFO},    {"", LOG_INFO},
        {"Warn", LOG_WARN},   {"warning", LOG_WARN}, {"error", LOG_ERROR},
    };
    enum log_level level = LOG_ERROR;
    enum log_format format = LOG_PLAIN;

    (void)state;
    for (size_t i = 0; i < nitems(levels); i++) {
        assert_true(log_level_parse(levels[i].text, &level));
        assert_int_equal(level, levels[i].level);
    }
    assert_false(log_level_parse("fatal", &level));
    assert_int_equal(level, LOG_ERROR);
    assert_true(log_format_parse("", &format));
    assert_int_equal(format, LOG_JSON);
    assert_true(log_format_parse("Plain", &format));
    assert_int_equal(format, LOG_PLAIN);
    assert_true(log_format_parse("JSON", &format));
    assert_false(log_format_parse("xml", &format));
    assert_int_equal(format, LOG_JSON);
}

static void
test_a_reader_that_is_gone_stops_nothing(void **state)
{
    char line[1000];

    (void)state;
    begin(LOG_INFO, LOG_JSON);
    close(out[1]);
    out[1] = open("/dev/full", O_WRONLY);
    log_to(out[1]);
    log_info("lost");
    end(line, sizeof(line));
    assert_string_equal(line, "");
}

/* The text up to now, without waiting. */
static size_t
drink(char *text, size_t size)
{
    size_t used = 0;
    ssize_t n;

    fcntl(out[0], F_SETFL, O_NONBLOCK);
    while ((n = read(out[0], text + used, size - used)) > 0)
        used += (size_t)n;
    return used;
}

static void
test_a_reader_that_stands_still_stops_nothing(void **state)
{
    static char text[1 << 20];
    int64_t began = clock_now();
    size_t used;
    int whole = 0;

    (void)state;
    begin(LOG_INFO, LOG_JSON);
    fcntl(out[1], F_SETFL, O_NONBLOCK);
    for (int i = 0; i < 20000; i++)
        log_info("a line of some length, as lines of a log are");
    assert_true(clock_now() - began < 2 * CLOCK_SECOND);
    log_let_go(); /* nothing: no line is lost by that */
    used = drink(text, sizeof(text));
    log_info("again");
    used += drink(text + used, sizeof(text) - used);
    for (const char *at = text, *end; at < text + used; at = end + 1) {
        json_t *line;

        end = memchr(at, '\n', (size_t)(text + used - at));
        assert_non_null(end);
        line = json_loadb(at, (size_t)(end - at), 0, NULL);
        assert_non_null(line);
        if (json_object_get(line, "lines") != NULL)
            assert_int_equal(
                whole + json_integer_value(json_object_get(line, "lines")),
                20000);
        whole++;
        json_decref(line);
    }
    assert_true(whole > 100);
    assert_non_null(memmem(text, used, "again", 5));
    log_to(STDOUT_FILENO);
    close(out[0]);
    close(out[1]);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_are_held_and_let_go_in_order_or_dropped),
        cmocka_unit_test(test_a_line_is_json_with_its_keys_in_order),
        cmocka_unit_test(test_time_has_milliseconds_and_ends_in_z),
        cmocka_unit_test(test_levels_are_named_and_lower_ones_left_out),
        cmocka_unit_test(test_plain_text_quotes_what_needs_it),
        cmocka_unit_test(test_numbers_keep_64_bits),
        cmocka_unit_test(test_names_of_levels_and_formats),
        cmocka_unit_test(test_a_reader_that_is_gone_stops_nothing),
        cmocka_unit_test(test_a_reader_that_stands_still_stops_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
