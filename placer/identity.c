/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Identity and naming (mokka-api 3.1 to 3.5).
 *
 *   U32(n)   4 bytes, big endian.
 *   LP(s)    U32(bytes of s), then s.
 *   NAME     "mokka-identity-v1" without a length, LP(kind), LP(inventory UID),
 *            LP(group id), then U32 of each coordinate: the rack for "fabric";
 *            rack, Node and GPU for "gpu" and "serial".
 *   V5       SHA-1 of the namespace's 16 bytes and the NAME; the first 16
 * bytes, with version 5 and the variant set as RFC 4122 has them. serial   the
 * first 8 bytes of the V5 so set, as a big-endian number, in 20 decimal digits.
 *   rack     inventory name, group id and index joined by '-', in lower case,
 *            each run of other bytes than a-z 0-9 as one '-', none at the ends;
 *            cut to 50 bytes, again none at the ends; '-'; the first 12 hex
 *            digits of the SHA-256 of LP(UID) LP(group) U32(rack).
 *
 * Lengths are bytes.  The rack's digest has neither kind nor version nor the
 * inventory's name in it.
 */
#include "placer/identity.h"

#include <inttypes.h>
#include <sha2.h>
#include <stdbool.h>
#include <stdio.h>

#include "common/api.h"

#define UUID_BYTES 16
#define READABLE_MAX 50
#define SUFFIX_DIGITS 12

static const uint8_t namespace[UUID_BYTES] = {
    0xd9, 0x54, 0xd6, 0x17, 0xe8, 0x1d, 0x58, 0xd0,
    0x8f, 0x22, 0xf4, 0x5a, 0xfd, 0xa6, 0x22, 0x60,
};

static const char digits[] = "0123456789abcdef";

struct u32 {
    uint8_t bytes[4];
};

static struct u32
u32(size_t n)
{
    return (struct u32){{(uint8_t)(n >> 24), (uint8_t)(n >> 16),
                         (uint8_t)(n >> 8), (uint8_t)n}};
}

static void
sha1_u32(SHA1_CTX *sha, uint32_t n)
{
    SHA1Update(sha, u32(n).bytes, 4);
}

static void
sha1_text(SHA1_CTX *sha, struct str text)
{
    SHA1Update(sha, u32(text.n).bytes, 4);
    SHA1Update(sha, (const uint8_t *)text.s, text.n);
}

/* The digest of all identities of that kind in that rack, as far as they have
 * their beginning in common. */
static void
begin(SHA1_CTX *sha, struct str kind, struct str uid, struct str group,
      uint32_t rack)
{
    static const char version[] = "mokka-identity-v1";

    SHA1Init(sha);
    SHA1Update(sha, namespace, sizeof(namespace));
    SHA1Update(sha, (const uint8_t *)version, sizeof(version) - 1);
    sha1_text(sha, kind);
    sha1_text(sha, uid);
    sha1_text(sha, group);
    sha1_u32(sha, rack);
}

static void
finish(SHA1_CTX *sha, uint8_t uuid[SHA1_DIGEST_LENGTH])
{
    SHA1Final(uuid, sha);
    uuid[6] = (uuid[6] & 0x0f) | 0x50;
    uuid[8] = (uuid[8] & 0x3f) | 0x80;
}

static void
uuid_text(const uint8_t uuid[UUID_BYTES], char *text)
{
    for (int i = 0; i < UUID_BYTES; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            *text++ = '-';
        *text++ = digits[uuid[i] >> 4];
        *text++ = digits[uuid[i] & 15];
    }
    *text = '\0';
}

static void
serial_text(const uint8_t uuid[UUID_BYTES], char serial[IDENTITY_SERIAL])
{
    uint64_t number = 0;

    for (int i = 0; i < 8; i++)
        number = number << 8 | uuid[i];
    serial[IDENTITY_SERIAL - 1] = '\0';
    for (int i = IDENTITY_SERIAL - 1; i-- > 0; number /= 10)
        serial[i] = (char)('0' + number % 10);
}

void
identity_fabric(struct str inventory_uid, struct str group, uint32_t rack,
                char fabric[IDENTITY_UUID])
{
    uint8_t uuid[SHA1_DIGEST_LENGTH];
    SHA1_CTX sha;

    begin(&sha, STR("fabric"), inventory_uid, group, rack);
    finish(&sha, uuid);
    uuid_text(uuid, fabric);
}

void
identity_clique(const char fabric[IDENTITY_UUID], char clique[IDENTITY_CLIQUE])
{
    snprintf(clique, IDENTITY_CLIQUE, "%.36s.%d", fabric, CLIQUE_ID);
}

void
identity_gpus_init(struct identity_gpus *gpus, struct str inventory_uid,
                   struct str group, uint32_t rack)
{
    begin(&gpus->uuid, STR("gpu"), inventory_uid, group, rack);
    begin(&gpus->serial, STR("serial"), inventory_uid, group, rack);
}

static void
gpu_digest(SHA1_CTX sha, uint32_t node, uint32_t gpu,
           uint8_t uuid[SHA1_DIGEST_LENGTH])
{
    sha1_u32(&sha, node);
    sha1_u32(&sha, gpu);
    finish(&sha, uuid);
}

void
identity_gpu(const struct identity_gpus *gpus, uint32_t node, uint32_t gpu,
             char uuid[IDENTITY_GPU], char serial[IDENTITY_SERIAL])
{
    uint8_t bytes[SHA1_DIGEST_LENGTH];

    gpu_digest(gpus->uuid, node, gpu, bytes);
    memcpy(uuid, "GPU-", 4);
    uuid_text(bytes, uuid + 4);
    gpu_digest(gpus->serial, node, gpu, bytes);
    serial_text(bytes, serial);
}

/* The readable part of a rack's name while it is built: never more than its
 * 50 bytes are kept, nor a '-' in front. */
struct readable {
    char text[READABLE_MAX];
    size_t n;
    bool gap; /* a '-' is due before the next byte */
};

static void
add_char(struct readable *r, char c)
{
    if (r->n < READABLE_MAX)
        r->text[r->n++] = c;
}

static void
add_text(struct readable *r, struct str text)
{
    for (size_t i = 0; i < text.n; i++) {
        char c = text.s[i];

        if (c >= 'A' && c <= 'Z')
            c = (char)(c - 'A' + 'a');
        if ((c < 'a' || c > 'z') && (c < '0' || c > '9')) {
            r->gap = true;
            continue;
        }
        if (r->gap && r->n > 0)
            add_char(r, '-');
        r->gap = false;
        add_char(r, c);
    }
}

static void
rack_suffix(struct str uid, struct str group, uint32_t rack,
            char suffix[SUFFIX_DIGITS])
{
    uint8_t digest[SHA256_DIGEST_LENGTH];
    SHA2_CTX sha;

    SHA256Init(&sha);
    SHA256Update(&sha, u32(uid.n).bytes, 4);
    SHA256Update(&sha, (const uint8_t *)uid.s, uid.n);
    SHA256Update(&sha, u32(group.n).bytes, 4);
    SHA256Update(&sha, (const uint8_t *)group.s, group.n);
    SHA256Update(&sha, u32(rack).bytes, 4);
    SHA256Final(digest, &sha);
    for (int i = 0; i < SUFFIX_DIGITS; i++)
        suffix[i] =
            digits[i % 2 == 0 ? digest[i / 2] >> 4 : digest[i / 2] & 15];
}

void
identity_rack_name(struct str inventory_name, struct str inventory_uid,
                   struct str group, uint32_t rack,
                   char name[IDENTITY_NAME_MAX])
{
    struct readable r = {.n = 0};
    char suffix[SUFFIX_DIGITS];
    char number[12];

    snprintf(number, sizeof(number), "%" PRIu32, rack);
    add_text(&r, inventory_name);
    r.gap = true;
    add_text(&r, group);
    r.gap = true;
    add_text(&r, str_of(number));
    if (r.n > 0 && r.text[r.n - 1] == '-')
        r.n--;
    rack_suffix(inventory_uid, group, rack, suffix);
    snprintf(name, IDENTITY_NAME_MAX, "%.*s%s%.*s", (int)r.n, r.text,
             r.n > 0 ? "-" : "", SUFFIX_DIGITS, suffix);
}
