/* SPDX-License-Identifier: Apache-2.0 */
#include "common/lease_page.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct published {
    atomic_uint_fast64_t term;
    atomic_int_fast64_t deadline;
};

/* A sequence number and two places: its lowest bit says which of them counts.
 * The writer fills the other one first, so one that dies half-way leaves what
 * it published last. */
struct lease_page {
    atomic_uint_fast64_t sequence;
    struct published places[2];
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
    int access = writable ? PROT_READ | PROT_WRITE : PROT_READ;
    struct stat file;
    void *at;

    /* Beyond its end there would be no memory. */
    if (fstat(fd, &file) != 0 || file.st_size < PAGE_BYTES) {
        err_set(err, "descriptor %d is no lease page", fd);
        return NULL;
    }
    at = mmap(NULL, PAGE_BYTES, access, MAP_SHARED, fd, 0);
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
    uint64_t next = atomic_load(&page->sequence) + 1;
    struct published *place = &page->places[next & 1];

    atomic_store(&place->term, term);
    atomic_store(&place->deadline, deadline);
    atomic_store(&page->sequence, next);
}

/* A place is written again two publications later, so what was read is whole
 * if the sequence did not move meanwhile.  One that never stands still is of no
 * honest writer: no term then. */
void
lease_page_read(const struct lease_page *page, uint64_t *term,
                int64_t *deadline)
{
    for (int i = 0; i < READ_TRIES; i++) {
        uint64_t before = atomic_load(&page->sequence);
        const struct published *place = &page->places[before & 1];

        *term = atomic_load(&place->term);
        *deadline = atomic_load(&place->deadline);
        if (atomic_load(&page->sequence) == before)
            return;
    }
    *term = 0;
    *deadline = 0;
}
