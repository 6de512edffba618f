/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/mokkactl/defaults.h"

#include <sha1.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"

/* DEFAULT_NAMESPACE as bytes. */
static const unsigned char namespace_bytes[16] = {
    0x74, 0x31, 0x85, 0xb4, 0xee, 0xa9, 0x5e, 0x98,
    0x91, 0x22, 0xe1, 0xd4, 0xcf, 0xce, 0x0d, 0x3f};

void
default_uid(const char *kind, const char *name, unsigned again,
            char uid[DEFAULT_UID])
{
    char *text = again == 0 ? mem_printf("%s/%s", kind, name)
                            : mem_printf("%s/%s/%u", kind, name, again);
    unsigned char d[SHA1_DIGEST_LENGTH];
    SHA1_CTX ctx;

    SHA1Init(&ctx);
    SHA1Update(&ctx, namespace_bytes, sizeof(namespace_bytes));
    SHA1Update(&ctx, (const unsigned char *)text, strlen(text));
    SHA1Final(d, &ctx);
    free(text);
    d[6] = (unsigned char)((d[6] & 0x0f) | 0x50);
    d[8] = (unsigned char)((d[8] & 0x3f) | 0x80);
    snprintf(uid, DEFAULT_UID,
             "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-"
             "%02x%02x%02x%02x%02x%02x",
             d[0], d[1], d[2], d[3], d[4], d[5], d[6], d[7], d[8], d[9], d[10],
             d[11], d[12], d[13], d[14], d[15]);
}

/* An empty text, or the number 0, counts as none, as it does for a server. */
static bool
has(const json_t *metadata, const char *key)
{
    const json_t *value = json_object_get(metadata, key);

    return json_is_integer(value) ? json_integer_value(value) != 0
                                  : json_string_length(value) > 0;
}

void
default_metadata(json_t *object, const struct schema *schema)
{
    json_t *metadata = json_object_get(object, "metadata");
    const char *name = json_string_value(json_object_get(metadata, "name"));
    char uid[DEFAULT_UID];

    if (!has(metadata, "uid")) {
        default_uid(schema->kind, name, 0, uid);
        json_object_set_new(metadata, "uid", json_string(uid));
    }
    if (!has(metadata, "resourceVersion"))
        json_object_set_new(metadata, "resourceVersion", json_string("1"));
    if (!has(metadata, "generation") && strcmp(schema->kind, "Node") != 0)
        json_object_set_new(metadata, "generation", json_integer(1));
    if (!has(metadata, "creationTimestamp"))
        json_object_set_new(metadata, "creationTimestamp",
                            json_string(DEFAULT_TIME));
}
