/* SPDX-License-Identifier: Apache-2.0 */
#include "placer/names.h"

#include <stdlib.h>

#include "common/mem.h"

void
names_add(struct map *names, const char *name)
{
    char *copy;

    if (map_get(names, name) != NULL)
        return;
    copy = mem_strdup(name);
    map_put(names, copy, copy);
}

void
names_forget(struct map *names, struct str name)
{
    char *key;

    if (names->count == 0)
        return;
    key = mem_dup(name.s, name.n);
    free(map_remove(names, key));
    free(key);
}

void
names_fini(struct map *names)
{
    size_t pos = 0;
    char *name;

    while ((name = map_next(names, &pos)) != NULL)
        free(name);
    map_fini(names);
}
