/* Preloaded: no read or write moves more than SHORT_BYTES at once, and with
   SHORT_EINTR=1 every second call is interrupted before it begins. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static size_t most(size_t count) {
    static size_t bytes;
    if (bytes == 0) {
        const char *given = getenv("SHORT_BYTES");
        bytes = given ? strtoul(given, NULL, 10) : 1;
    }
    return count < bytes ? count : bytes;
}

static int interrupted(void) {
    static int calls = 0, set = -1;
    if (set < 0) {
        const char *given = getenv("SHORT_EINTR");
        set = given && given[0] == '1';
    }
    if (set && ++calls % 2) {
        errno = EINTR;
        return 1;
    }
    return 0;
}

#define SHORTEN(NAME, PARAMETERS, ARGUMENTS)                                                       \
    ssize_t NAME PARAMETERS {                                                                      \
        static ssize_t (*real) PARAMETERS;                                                         \
        if (!real)                                                                                 \
            real = (ssize_t(*) PARAMETERS)dlsym(RTLD_NEXT, #NAME);                                 \
        return interrupted() ? -1 : real ARGUMENTS;                                                \
    }

SHORTEN(read, (int fd, void *to, size_t count), (fd, to, most(count)))
SHORTEN(pread64, (int fd, void *to, size_t count, off64_t at), (fd, to, most(count), at))
SHORTEN(write, (int fd, const void *from, size_t count), (fd, from, most(count)))
SHORTEN(pwrite64, (int fd, const void *from, size_t count, off64_t at), (fd, from, most(count), at))

/* Only the first of the pieces, and not all of it. */
ssize_t readv(int fd, const struct iovec *pieces, int count) {
    return count > 0 ? read(fd, pieces[0].iov_base, pieces[0].iov_len) : 0;
}

ssize_t writev(int fd, const struct iovec *pieces, int count) {
    return count > 0 ? write(fd, pieces[0].iov_base, pieces[0].iov_len) : 0;
}

/* The kernel may move any number of bytes in these, so pretend that they do not exist. */
ssize_t copy_file_range(int in, off64_t *from, int out, off64_t *to, size_t count, unsigned flags) {
    (void)in, (void)from, (void)out, (void)to, (void)count, (void)flags;
    errno = ENOSYS;
    return -1;
}
