/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "common/mem.h"
#include "informer/json_items.h"
#include "informer/page.h"
#include "tests/fake/wire.h"

static void
on_object(void *arg, const struct wire_object *object)
{
    struct identity id = extract_identity(object);

    buf_printf(arg, "%.*s@%.*s ", (int)id.name.n, id.name.s, (int)id.version.n,
               id.version.s);
}

static void
on_bad(void *arg, const struct err *err)
{
    (void)err;

    buf_addz(arg, "bad ");
}

/* Reads bytes in pieces; what came out as text, then version and token, or
 * "broken", "incomplete". To be freed. */
static char *
read_page(enum encoding encoding, struct str bytes, size_t piece)
{
    struct buf out = {0};
    struct page_calls calls = {on_object, on_bad, &out};
    struct page *page = page_new(encoding, &calls);
    struct page_end end;
    struct err err;
    int rc = 0;

    while (bytes.n > 0 && rc == 0) {
        size_t n = piece < bytes.n ? piece : bytes.n;

        rc = page_feed(page, (struct str){bytes.s, n}, &err);
        bytes.s += n;
        bytes.n -= n;
    }
    if (rc != 0)
        buf_addz(&out, "broken");
    else if (page_finish(page, &end, &err) != 0)
        buf_addz(&out, "incomplete");
    else
        buf_printf(&out, "= %.*s %.*s", (int)end.version.n, end.version.s,
                   (int)end.more.n, end.more.s);
    page_free(page);
    return buf_take(&out);
}

static void
expect(enum encoding encoding, struct str bytes, size_t piece,
       const char *expected)
{
    char *text = read_page(encoding, bytes, piece);

    assert_string_equal(text, expected);
    free(text);
}

#define ITEM(name)                                                             \
    "{\"metadata\":{\"name\":\"" name "\",\"resourceVersion\":\"1\"},"         \
    "\"spec\":{\"t\":\"]}\\\"{[,\",\"items\":[1,{\"a\":[]}]}}"

static void
test_json_list_in_pieces_of_any_size(void **state)
{
    static const char list[] =
        "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"metadata\":{\"continue\":"
        "\"abc\",\"resourceVersion\":\"12\",\"remainingItemCount\":3},"
        "\"items\":[" ITEM("a") "," ITEM("b") "]}\n";

    (void)state;
    for (size_t piece = 1; piece < sizeof(list); piece++)
        expect(ENCODING_JSON, str_of(list), piece, "a@1 b@1 = 12 abc");
}

static void
test_json_members_in_any_order_and_spacing(void **state)
{
    (void)state;
    expect(ENCODING_JSON,
           STR(" { \"items\" : [ " ITEM("a") " ,\n " ITEM(
               "b") " ] , \"other\" : [ 1 , { \"items\" : [ 2 ] } ] ,"
                    " \"metadata\" : { \"resourceVersion\" : \"3\" } } "),
           1, "a@1 b@1 = 3 ");
}

static void
test_json_empty_lists(void **state)
{
    (void)state;
    expect(ENCODING_JSON,
           STR("{\"metadata\":{\"resourceVersion\":\"3\"},\"items\":[]}"), 1,
           "= 3 ");
    expect(ENCODING_JSON,
           STR("{\"metadata\":{\"resourceVersion\":\"3\"},\"items\":null}"), 1,
           "= 3 ");
}

static void
test_A10_list_that_breaks_off_is_not_complete(void **state)
{
    static const char list[] = "{\"metadata\":{\"resourceVersion\":\"12\"},"
                               "\"items\":[" ITEM("a") "," ITEM("b") "]}";

    (void)state;
    for (size_t n = 0; n < sizeof(list) - 1; n++) {
        char *text = read_page(ENCODING_JSON, (struct str){list, n}, 1000);

        assert_non_null(strstr(text, "incomplete"));
        free(text);
    }
}

static void
test_json_that_is_no_list(void **state)
{
    static const char *const broken[] = {
        "[]", "\"x\"",  "junk",           "{}{}", "{\"items\":{\"a\":1}}",
        "}",  "<html>", "{\"items\":[1}]"};

    (void)state;
    for (size_t i = 0; i < nitems(broken); i++)
        expect(ENCODING_JSON, str_of(broken[i]), 1000, "broken");
    expect(ENCODING_JSON, STR("{}"), 1000, "incomplete");
    expect(ENCODING_JSON, STR("{\"kind\":\"Status\"}"), 1000, "incomplete");
    expect(ENCODING_JSON, STR("{\"items\":[]}"), 1000, "incomplete");
    expect(ENCODING_JSON, STR("{\"items\":[],\"metadata\":{}}"), 1000,
           "incomplete");
    expect(ENCODING_JSON, STR("{\"items\":[],\"metadata\":7}"), 1000,
           "incomplete");
}

static void
test_H02_bad_item_costs_itself(void **state)
{
    (void)state;
    expect(ENCODING_JSON,
           STR("{\"metadata\":{\"resourceVersion\":\"3\"},\"items\":["
               "{\"n\":9223372036854775808}," ITEM(
                   "a") ",{\"x\":\"\xff\"},"
                        "{\"x\":\"\\ud800\"},{\"x\" 1}," ITEM("b") "]}"),
           5, "bad a@1 bad bad bad b@1 = 3 ");
}

static void
add_filler(struct buf *out, size_t n)
{
    memset(buf_room(out, n), 'x', n);
    buf_grew(out, n);
}

static void
test_A20_item_above_the_cap_is_left_out(void **state)
{
    struct buf list = {0};

    (void)state;
    buf_addz(&list, "{\"metadata\":{\"resourceVersion\":\"3\"},\"items\":["
                    "{\"x\":\"");
    add_filler(&list, JSON_ITEM_MAX);
    buf_addz(&list, "\"}," ITEM("a") ",{\"metadata\":{\"name\":\"");
    add_filler(&list, 5);
    buf_addz(&list, "\"},\"y\":\"");
    add_filler(&list, JSON_ITEM_MAX - 100);
    buf_addz(&list, "\"}]}");
    expect(ENCODING_JSON, buf_str(&list), 64 << 10, "bad a@1 xxxxx@ = 3 ");
    buf_fini(&list);
}

/* --- protobuf --- */

static void
add_item(struct buf *list, const char *name)
{
    struct buf meta = {0}, item = {0};

    wire_text(&meta, 1, name);
    wire_text(&meta, 5, "u");
    wire_text(&meta, 6, "1");
    wire_message(&item, 1, &meta);
    wire_message(list, 2, &item);
}

static void
test_meta_list_in_pieces_of_any_size(void **state)
{
    struct buf list = {0}, head = {0}, bytes = {0};

    (void)state;
    wire_text(&head, 2, "12");
    wire_text(&head, 3, "abc");
    wire_message(&list, 1, &head);
    add_item(&list, "a");
    add_item(&list, "b");
    wire_envelope(&bytes, "meta.k8s.io/v1", "PartialObjectMetadataList", &list);
    for (size_t piece = 1; piece <= bytes.len; piece++)
        expect(ENCODING_META, buf_str(&bytes), piece, "a@1 b@1 = 12 abc");
    for (size_t n = 0; n < bytes.len - 4; n++) {
        char *text =
            read_page(ENCODING_META, (struct str){bytes.data, n}, 1000);

        assert_non_null(strstr(text, "incomplete"));
        free(text);
    }
    buf_fini(&bytes);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json_list_in_pieces_of_any_size),
        cmocka_unit_test(test_json_members_in_any_order_and_spacing),
        cmocka_unit_test(test_json_empty_lists),
        cmocka_unit_test(test_A10_list_that_breaks_off_is_not_complete),
        cmocka_unit_test(test_json_that_is_no_list),
        cmocka_unit_test(test_H02_bad_item_costs_itself),
        cmocka_unit_test(test_A20_item_above_the_cap_is_left_out),
        cmocka_unit_test(test_meta_list_in_pieces_of_any_size),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
