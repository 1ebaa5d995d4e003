# Fish completion for ctx-gc, which computes the values itself.

complete --keep-order --exclusive --command ctx-gc --arguments "(CTX_COMPLETE=fish ctx-gc -- (commandline --current-process --tokenize --cut-at-cursor) (commandline --current-token))"
