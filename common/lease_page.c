/* SPDX-License-Identifier: Apache-2.0 */
#include "common/lease_page.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A sequence lock: odd while being written.  A writer that died half-way
 * leaves it odd; the next one starts from there. */
struct lease_page {
    atomic_uint_fast64_t sequence;
    atomic_uint_fast64_t term;
    atomic_int_fast64_t deadline;
};

#define PAGE_BYTES 4096
#define READ_TRIES 1000

_Static_assert(sizeof(struct lease_page) <= PAGE_BYTES, "one page");

int
lease_page_create(int *view, struct err *err)
{
    int fd = memfd_create("mokka-lease", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    char path[64];

    if (fd < 0)
        return err_errno(err, "cannot make the lease page");
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (ftruncate(fd, PAGE_BYTES) != 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0 ||
        fchmod(fd, 0400) != 0 ||
        (*view = open(path, O_RDONLY | O_CLOEXEC)) < 0) {
        err_errno(err, "cannot prepare the lease page");
        close(fd);
        return -1;
    }
    return fd;
}

struct lease_page *
lease_page_map(int fd, bool writable, struct err *err)
{
    void *at =
        mmap(NULL, PAGE_BYTES, writable ? PROT_READ | PROT_WRITE : PROT_READ,
             MAP_SHARED, fd, 0);

    if (at != MAP_FAILED)
        return at;
    err_errno(err, "cannot map the lease page");
    return NULL;
}

void
lease_page_unmap(struct lease_page *page)
{
    if (page != NULL)
        munmap(page, PAGE_BYTES);
}

void
lease_page_publish(struct lease_page *page, uint64_t term, int64_t deadline)
{
    uint64_t odd = atomic_load(&page->sequence) | 1;

    atomic_store(&page->sequence, odd);
    atomic_store(&page->term, term);
    atomic_store(&page->deadline, deadline);
    atomic_store(&page->sequence, odd + 1);
}

/* A page that stays odd had its writer die inside it: no term can be told, so
 * none is, until the next writer has published. */
void
lease_page_read(const struct lease_page *page, uint64_t *term,
                int64_t *deadline)
{
    for (int i = 0; i < READ_TRIES; i++) {
        uint64_t before = atomic_load(&page->sequence);

        *term = atomic_load(&page->term);
        *deadline = atomic_load(&page->deadline);
        if ((before & 1) == 0 && atomic_load(&page->sequence) == before)
            return;
    }
    *term = 0;
    *deadline = 0;
}
