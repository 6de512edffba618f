/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/control_name.h"

#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

#include "common/mem.h"

int
control_name_read(struct control_name *name, const char *text, struct err *err)
{
    size_t n = strlen(text);

    if (n >= sizeof(name->address.sun_path))
        return err_set(err,
                       "a socket's name has at most %zu bytes, \"%s\" has %zu: "
                       "give another with --control-socket",
                       sizeof(name->address.sun_path) - 1, text, n);
    *name = (struct control_name){.address.sun_family = AF_UNIX};
    memcpy(name->address.sun_path, text, n);
    name->length =
        (unsigned)(offsetof(struct sockaddr_un, sun_path) + n + (*text != '@'));
    if (*text == '@')
        name->address.sun_path[0] = '\0';
    return 0;
}

int
control_name_check(const char *text, struct err *err)
{
    struct control_name name;

    if (*text == '\0' || strcmp(text, "@") == 0)
        return err_set(err, "must be a path, or @ and a name");
    return control_name_read(&name, text, err);
}

char *
control_name_of_lease(const char *space, const char *name)
{
    return mem_printf(CONTROL_NAME_PREFIX "%s/%s", space, name);
}
