/* SPDX-License-Identifier: Apache-2.0 */
#include "common/crash.h"

#include <execinfo.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "common/mem.h"

/* Of a stack that overflowed there is nothing left to run on. */
#define STACK_BYTES 65536

static const int caught[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

/* A signal handler has no argument of its own. */
static struct {
    struct trace *trace;
    struct sigaction before[nitems(caught)];
    char *stack;
} self;

/* By the linker: where the program's own code is. */
extern const char __executable_start[], etext[];

static uint64_t
program_counter(const void *context)
{
    const ucontext_t *c = context;

#if defined(__x86_64__)
    return (uint64_t)c->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return c->uc_mcontext.pc;
#else
    (void)c;
    return 0;
#endif
}

static void
add_place(struct trace_crash *crash, uint64_t at)
{
    uint64_t start = (uint64_t)(uintptr_t)__executable_start;
    bool inside = at >= start && at < (uint64_t)(uintptr_t)etext;

    if (crash->depth == TRACE_STACK || at == 0)
        return;
    crash->stack[crash->depth].at = inside ? at - start : at;
    crash->stack[crash->depth].inside = inside;
    crash->depth++;
}

/* The frames of this handler come before the place of the fault. */
static void
add_stack(struct trace_crash *crash, uint64_t fault)
{
    void *frames[TRACE_STACK * 2];
    int n = backtrace(frames, nitems(frames));
    int i = 0;

    add_place(crash, fault);
    while (i < n && (uint64_t)(uintptr_t)frames[i] != fault)
        i++;
    for (i = i < n ? i + 1 : 0; i < n; i++)
        add_place(crash, (uint64_t)(uintptr_t)frames[i]);
}

static size_t
place_of(int number)
{
    for (size_t i = 0; i < nitems(caught); i++)
        if (caught[i] == number)
            return i;
    return 0;
}

static void
on_crash(int number, siginfo_t *info, void *context)
{
    struct trace_crash crash = {.signal = number, .code = info->si_code};

    /* What follows may crash in turn, so this much is noted first. */
    if (info->si_code > 0)
        crash.address = (uint64_t)(uintptr_t)info->si_addr;
    else
        crash.sender = info->si_pid;
    trace_note_crash(self.trace, &crash);
    sigaction(number, &self.before[place_of(number)], NULL);
    add_stack(&crash, program_counter(context));
    trace_note_crash(self.trace, &crash);
    /* A fault happens again when this returns; what was sent must be sent
     * again. */
    if (info->si_code <= 0)
        raise(number);
}

void
crash_prepare(void)
{
    void *frame;

    backtrace(&frame, 1); /* the unwinder is a library of its own */
}

void
crash_watch(struct trace *trace)
{
    struct sigaction action = {
        .sa_sigaction = on_crash,
        .sa_flags = SA_SIGINFO | SA_ONSTACK,
    };
    stack_t none = {0};

    self.trace = trace;
    sigaltstack(NULL, &none);
    if (none.ss_flags & SS_DISABLE) {
        self.stack = mem_zalloc(STACK_BYTES);
        sigaltstack(&(stack_t){.ss_sp = self.stack, .ss_size = STACK_BYTES},
                    NULL);
    }
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < nitems(caught); i++)
        sigaction(caught[i], &action, &self.before[i]);
}

void
crash_unwatch(void)
{
    if (self.trace == NULL)
        return;
    self.trace = NULL;
    for (size_t i = 0; i < nitems(caught); i++)
        sigaction(caught[i], &self.before[i], NULL);
    if (self.stack == NULL)
        return;
    sigaltstack(&(stack_t){.ss_flags = SS_DISABLE}, NULL);
    free(self.stack);
    self.stack = NULL;
}
