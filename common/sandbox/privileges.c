/* SPDX-License-Identifier: Apache-2.0 */
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/sandbox/parts.h"

/* In a pod there are none to give up; who starts it as root has them all. */
static int
drop_capabilities(struct err *err)
{
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};

    if (syscall(SYS_capset, &head, none) == 0)
        return 0;
    return err_errno(err, "capabilities are kept");
}

int
privileges_enter(struct err *err)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return err_errno(err, "new privileges are possible");
    return drop_capabilities(err);
}
