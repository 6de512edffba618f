/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/sandbox/parts.h"
#include "common/sandbox/sandbox.h"

#define READ_ANY (1u << CAP_DAC_READ_SEARCH)
#define OVERRIDE_ANY (1u << CAP_DAC_OVERRIDE)

/* Those of the first word, which are all that we may keep. */
static int
set_capabilities(uint32_t permitted, uint32_t effective)
{
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {
        {.permitted = permitted, .effective = effective}};

    return (int)syscall(SYS_capset, &head, sets);
}

static uint32_t
permitted_now(void)
{
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {{0}};

    return syscall(SYS_capget, &head, sets) == 0 ? sets[0].permitted : 0;
}

static bool
is_denied(const char *file)
{
    int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0)
        return errno == EACCES;
    close(fd);
    return false;
}

static bool
is_any_denied(const struct sandbox *box)
{
    for (size_t i = 0; i < box->file_count; i++)
        if (is_denied(box->files[i]))
            return true;
    return false;
}

/* In a pod there are none to give up; who starts it as root has them all.  Root
 * with a kubeconfig of somebody else reads that one's private files by one of
 * them: Landlock says which files those are. */
static int
drop_capabilities(const struct sandbox *box, struct err *err)
{
    uint32_t may = permitted_now() & (READ_ANY | OVERRIDE_ANY);
    uint32_t kept = 0;

    if (set_capabilities(may, 0) != 0)
        return err_errno(err, "capabilities are kept");
    if (may != 0 && is_any_denied(box))
        kept = (may & READ_ANY) != 0 ? READ_ANY : may;
    if (set_capabilities(kept, kept) != 0)
        return err_errno(err, "capabilities are kept");
    return 0;
}

int
privileges_enter(const struct sandbox *box, struct err *err)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return err_errno(err, "new privileges are possible");
    return drop_capabilities(box, err);
}
