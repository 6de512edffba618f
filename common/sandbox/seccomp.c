/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <sched.h>
#include <seccomp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/sandbox/parts.h"
#include "common/sandbox/sandbox.h"

#define ALL (~0u)

/* An int comes in 64 bits of which the upper half means nothing. */
#define BITS(n, mask, value)                                                   \
    {                                                                          \
        n, SCMP_CMP_MASKED_EQ, mask, value                                     \
    }
#define HAS(n, value) BITS(n, UINT32_MAX, value)
#define ZERO(n)                                                                \
    {                                                                          \
        n, SCMP_CMP_EQ, 0, 0                                                   \
    }

/* Of open's flags: whatever is not for reading. */
#define MAY_CHANGE (O_ACCMODE | O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY))

/* Of clone's flags: a thread, and no namespace of its own. */
#define THREAD_FLAGS (CLONE_VM | CLONE_SIGHAND | CLONE_THREAD)
#define THREAD_BITS                                                            \
    (THREAD_FLAGS | CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS |             \
     CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)

#define ARGUMENTS 2

struct rule {
    const char *name;
    int call;
    unsigned may; /* any of these */
    unsigned count;
    struct scmp_arg_cmp arguments[ARGUMENTS];
};

#define COUNT_OF(...)                                                          \
    (sizeof((struct scmp_arg_cmp[]){{0}, ##__VA_ARGS__}) /                     \
         sizeof(struct scmp_arg_cmp) -                                         \
     1)

static const struct rule rules[] = {
#define CALL(who, name, ...)                                                   \
    {#name, SCMP_SYS(name), who, COUNT_OF(__VA_ARGS__), {__VA_ARGS__}},
#define ABSENT(name)
#include "common/sandbox/calls.def"
};

static const int absent[] = {
#define CALL(who, name, ...)
#define ABSENT(name) SCMP_SYS(name),
#include "common/sandbox/calls.def"
};

static int
failed(struct err *err, const char *what, int rc)
{
    return err_set(err, "no seccomp filter: %s: %s", what, strerror(-rc));
}

/* Where libseccomp or the kernel knows no such thing, it goes without. */
static void
set_attributes(scmp_filter_ctx filter)
{
    seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
    seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    /* The node's kernel log names what was refused. */
    seccomp_attr_set(filter, SCMP_FLTATR_CTL_LOG, 1);
}

static int
add_calls(scmp_filter_ctx filter, unsigned may, struct err *err)
{
    for (size_t i = 0; i < nitems(rules); i++) {
        const struct rule *r = &rules[i];
        int rc;

        if (r->may != ALL && (r->may & may) == 0)
            continue;
        rc = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, r->call, r->count,
                                    r->arguments);
        if (rc != 0)
            return failed(err, r->name, rc);
    }
    for (size_t i = 0; i < nitems(absent); i++) {
        int rc = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), absent[i], 0);

        if (rc != 0)
            return failed(err, "ENOSYS", rc);
    }
    return 0;
}

/* abort() and the crash report send their signals to the thread itself. */
static int
add_self(scmp_filter_ctx filter, struct err *err)
{
    struct scmp_arg_cmp self[] = {HAS(0, (scmp_datum_t)getpid())};
    int rc = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill),
                                    nitems(self), self);

    return rc == 0 ? 0 : failed(err, "tgkill", rc);
}

static scmp_filter_ctx
make_filter(const struct sandbox *box, uint32_t architecture, struct err *err)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    int rc = 0;

    if (filter == NULL) {
        err_set(err, "no seccomp filter: no memory");
        return NULL;
    }
    if (architecture != 0 && architecture != seccomp_arch_native()) {
        rc = seccomp_arch_add(filter, architecture);
        if (rc == 0)
            rc = seccomp_arch_remove(filter, SCMP_ARCH_NATIVE);
    }
    set_attributes(filter);
    if (rc != 0)
        failed(err, "architecture", rc);
    else if (add_calls(filter, box->may, err) == 0 &&
             add_self(filter, err) == 0)
        return filter;
    seccomp_release(filter);
    return NULL;
}

int
seccomp_print(const struct sandbox *box, uint32_t architecture, int fd,
              struct err *err)
{
    scmp_filter_ctx filter = make_filter(box, architecture, err);
    int rc;

    if (filter == NULL)
        return -1;
    rc = seccomp_export_pfc(filter, fd);
    seccomp_release(filter);
    return rc == 0 ? 0 : failed(err, "export", rc);
}

int
seccomp_enter(const struct sandbox *box, struct err *err)
{
    scmp_filter_ctx filter = make_filter(box, 0, err);
    int rc;

    if (filter == NULL)
        return -1;
    rc = seccomp_load(filter);
    seccomp_release(filter);
    return rc == 0 ? 0 : failed(err, "the kernel refuses it", rc);
}
