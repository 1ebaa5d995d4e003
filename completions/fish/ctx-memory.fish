# Fish completion for ctx-memory, which computes the values itself.

complete --keep-order --exclusive --command ctx-memory --arguments "(CTX_COMPLETE=fish ctx-memory -- (commandline --current-process --tokenize --cut-at-cursor) (commandline --current-token))"
