/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Validation of a profile (mokka-api 5).  The first failure counts:
 *
 *   P1, P2    nodesPerRack is 1 to 1024
 *   P3, P4    gpus.count is 1 to 64
 *   P5        there is a topology
 *   P6, P7    it has at most 64 gpuSlots, and as many as gpus.count says
 *   P8        slot by slot: the index is below the count and new,
 *   P9, P10     pciAddress and rootComplex are written canonically,
 *   P11         the pciAddress is new
 *   P12       a gpuFabric is complete, positive, and of scope Rack
 *   P13         its domain has nodesPerRack times count GPUs
 *   P14       a network is complete and positive
 *
 * then whatever the canonical text refuses (wrong types, quantities).  What is
 * absent reads as 0 or empty.  Nothing proportional to a number is done before
 * that number was checked.
 */
#include "placer/profile.h"

#include <inttypes.h>
#include <sha2.h>
#include <stdlib.h>

#include "common/api.h"
#include "common/buf.h"
#include "common/mem.h"
#include "placer/canonical.h"
#include "proto/unpack.h"

/* Forms of addresses: x is a lower-case hex digit, o an octal one. */
#define PCI_FORM "xxxx:xx:xx.o"
#define ROOT_FORM "pcixxxx:xx"

#define TOPOLOGY "spec.node.topology"

/* The members that the checks read. */
struct reading {
    const struct value *topology, *slots, *fabric, *network;
    int64_t nodes, gpus;
};

static size_t
count_of(const struct value *list)
{
    return list == NULL || value_kind(list) != VALUE_ARRAY ? 0
                                                           : value_count(list);
}

static int64_t
number(const struct value *object, const char *key)
{
    int64_t n = 0;

    value_int(value_get(object, key), &n);
    return n;
}

static struct str
text(const struct value *object, const char *key)
{
    struct str s = STR("");

    value_str(value_get(object, key), &s);
    return s;
}

/* A number that must be 1 to limit. */
static int
check_range(const char *path, const struct value *v, int64_t limit, int64_t *n,
            struct err *err)
{
    *n = 0;
    if (v != NULL && !value_int(v, n))
        return err_set(err, "%s: not an integer", path);
    if (*n <= 0)
        return err_set(err, "%s: %" PRId64 ", must be above zero", path, *n);
    if (*n > limit)
        return err_set(err, "%s: %" PRId64 ", the limit is %" PRId64, path, *n,
                       limit);
    return 0;
}

/* P1 to P4. */
static int
check_size(struct reading *r, const struct value *spec, struct err *err)
{
    const struct value *rack = value_get(spec, "rack");
    const struct value *gpus = value_get(value_get(spec, "node"), "gpus");

    if (check_range("spec.rack.nodesPerRack", value_get(rack, "nodesPerRack"),
                    MAX_NODES_PER_RACK, &r->nodes, err) != 0)
        return -1;
    return check_range("spec.node.gpus.count", value_get(gpus, "count"),
                       MAX_GPUS, &r->gpus, err);
}

/* P5 to P7. */
static int
check_topology(struct reading *r, const struct value *spec, struct err *err)
{
    size_t slots;

    r->topology = value_get(value_get(spec, "node"), "topology");
    if (r->topology == NULL)
        return err_set(err, TOPOLOGY ": is missing");
    r->slots = value_get(r->topology, "gpuSlots");
    r->fabric = value_get(r->topology, "gpuFabric");
    r->network = value_get(r->topology, "network");
    slots = count_of(r->slots);
    if (slots > MAX_GPUS)
        return err_set(err, TOPOLOGY ".gpuSlots: %zu slots, the limit is %d",
                       slots, MAX_GPUS);
    if ((int64_t)slots != r->gpus)
        return err_set(err,
                       TOPOLOGY ".gpuSlots: %zu slots, but gpus.count is "
                                "%" PRId64,
                       slots, r->gpus);
    return 0;
}

static bool
has_form(struct str s, const char *form)
{
    if (s.n != strlen(form))
        return false;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.s[i];
        bool decimal = c >= '0' && c <= '9';

        if (form[i] == 'x'   ? !decimal && (c < 'a' || c > 'f')
            : form[i] == 'o' ? !decimal || c > '7'
                             : c != form[i])
            return false;
    }
    return true;
}

/* A slot of the list as text for messages. */
static int
slot_err(struct err *err, size_t i, const char *member, struct str value,
         const char *wrong)
{
    return err_set(err, TOPOLOGY ".gpuSlots[%zu].%s: \"%.*s\" %s", i, member,
                   value.n > 80 ? 80 : (int)value.n, value.s, wrong);
}

/* P8 to P11 of one slot; seen has a bit for each index before it. */
static int
check_slot(const struct reading *r, size_t i, uint64_t *seen, struct err *err)
{
    const struct value *slot = value_at(r->slots, i);
    int64_t index = number(slot, "index");
    struct str pci = text(slot, "pciAddress");
    struct str root = text(slot, "rootComplex");

    if (index < 0 || index >= r->gpus || (*seen >> index & 1) != 0)
        return err_set(err,
                       TOPOLOGY ".gpuSlots[%zu].index: %" PRId64
                                ", must be 0 to %" PRId64 ", each once",
                       i, index, r->gpus - 1);
    *seen |= UINT64_C(1) << index;
    if (!has_form(pci, PCI_FORM))
        return slot_err(err, i, "pciAddress", pci,
                        "is not canonical (0000:11:00.0)");
    if (!has_form(root, ROOT_FORM))
        return slot_err(err, i, "rootComplex", root,
                        "is not canonical (pci0000:10)");
    for (size_t j = 0; j < i; j++)
        if (str_eq(pci, text(value_at(r->slots, j), "pciAddress")))
            return slot_err(err, i, "pciAddress", pci,
                            "belongs to another slot");
    return 0;
}

static int
check_slots(const struct reading *r, struct err *err)
{
    uint64_t seen = 0;

    for (size_t i = 0; i < count_of(r->slots); i++)
        if (check_slot(r, i, &seen, err) != 0)
            return -1;
    return 0;
}

static int
check_texts(const char *path, const struct value *object,
            const char *const *keys, size_t count, struct err *err)
{
    for (size_t i = 0; i < count; i++)
        if (text(object, keys[i]).n == 0)
            return err_set(err, "%s.%s: must not be empty", path, keys[i]);
    return 0;
}

static int
check_positive(const char *path, const struct value *object,
               const char *const *keys, size_t count, struct err *err)
{
    for (size_t i = 0; i < count; i++)
        if (number(object, keys[i]) <= 0)
            return err_set(err, "%s.%s: %" PRId64 ", must be above zero", path,
                           keys[i], number(object, keys[i]));
    return 0;
}

/* P12, P13. */
static int
check_fabric(const struct reading *r, struct err *err)
{
    static const char path[] = TOPOLOGY ".gpuFabric";
    static const char *const texts[] = {"type"};
    static const char *const numbers[] = {"generation", "linksPerGPU",
                                          "bandwidthPerLinkMBps"};
    const struct value *domain = value_get(r->fabric, "domain");
    int64_t wanted = r->nodes * r->gpus;
    struct str scope = text(domain, "scope");

    if (r->fabric == NULL)
        return 0;
    if (check_texts(path, r->fabric, texts, nitems(texts), err) != 0 ||
        check_positive(path, r->fabric, numbers, nitems(numbers), err) != 0)
        return -1;
    if (domain == NULL)
        return err_set(err, "%s.domain: is missing", path);
    if (!str_is(scope, "Rack"))
        return err_set(err, "%s.domain.scope: \"%.*s\", must be Rack", path,
                       scope.n > 80 ? 80 : (int)scope.n, scope.s);
    if (number(domain, "gpuCount") != wanted)
        return err_set(err,
                       "%s.domain.gpuCount: %" PRId64
                       ", but a rack has %" PRId64 " GPUs",
                       path, number(domain, "gpuCount"), wanted);
    return 0;
}

/* P14. */
static int
check_network(const struct reading *r, struct err *err)
{
    static const char path[] = TOPOLOGY ".network";
    static const char *const texts[] = {"type", "adapterModel",
                                        "firmwareVersion"};
    static const char *const numbers[] = {"linkSpeedGbps", "adaptersPerGPU"};

    if (r->network == NULL)
        return 0;
    if (check_texts(path, r->network, texts, nitems(texts), err) != 0)
        return -1;
    return check_positive(path, r->network, numbers, nitems(numbers), err);
}

static int
set_revision(struct profile *p, const struct value *spec, struct err *err)
{
    struct buf canonical = {0};
    int failed = canonical_profile(&canonical, spec, err);

    if (failed == 0)
        SHA256Data((const uint8_t *)buf_bytes(&canonical), canonical.len,
                   p->revision);
    buf_fini(&canonical);
    return failed;
}

static void
set_slots(struct profile *p, const struct reading *r)
{
    p->nodes_per_rack = (int32_t)r->nodes;
    p->gpus = (int32_t)r->gpus;
    p->slots = mem_zalloc((size_t)p->gpus * sizeof(*p->slots));
    for (size_t i = 0; i < count_of(r->slots); i++) {
        const struct value *v = value_at(r->slots, i);
        struct profile_slot *slot = &p->slots[number(v, "index")];

        slot->index = (int32_t)number(v, "index");
        memcpy(slot->pci, text(v, "pciAddress").s, strlen(PCI_FORM));
        memcpy(slot->root, text(v, "rootComplex").s, strlen(ROOT_FORM));
        slot->numa = (int32_t)number(v, "numaNode");
        slot->host_cpu = (int32_t)number(v, "hostProcessorIndex");
    }
}

void
profile_compile(struct profile *p, const struct object_meta *meta,
                const struct value *spec)
{
    struct reading r = {0};
    struct err *err = &p->issue;

    *p = (struct profile){
        .name = mem_dup(meta->name.s, meta->name.n),
        .uid = mem_dup(meta->uid.s, meta->uid.n),
        .generation = meta->generation,
    };
    p->valid = check_size(&r, spec, err) == 0 &&
               check_topology(&r, spec, err) == 0 &&
               check_slots(&r, err) == 0 && check_fabric(&r, err) == 0 &&
               check_network(&r, err) == 0 && set_revision(p, spec, err) == 0;
    if (p->valid)
        set_slots(p, &r);
}

void
profile_fini(struct profile *p)
{
    free(p->name);
    free(p->uid);
    free(p->slots);
    *p = (struct profile){0};
}
