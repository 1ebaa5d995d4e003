# Fish completion for ctx-count, which computes the values itself.

complete --keep-order --exclusive --command ctx-count --arguments "(CTX_COMPLETE=fish ctx-count -- (commandline --current-process --tokenize --cut-at-cursor) (commandline --current-token))"
