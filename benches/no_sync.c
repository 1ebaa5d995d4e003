/* Preloaded: nothing waits for the disk. What is measured with it is the work alone.
 *
 *   cc -O2 -shared -fPIC -o no_sync.so benches/no_sync.c
 *   LD_PRELOAD=$PWD/no_sync.so ctx-compact session.jsonl
 */
int fsync(int fd)
{
    (void)fd;
    return 0;
}

int fdatasync(int fd)
{
    (void)fd;
    return 0;
}
